package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

var errLocked error = unix.EWOULDBLOCK

// osDir is a directory of the operating system.
type osDir struct {
	f      *os.File
	parent *osDir // nil for the state directory itself
	name   string // in the parent
	path   string
	dev    uint64 // of f; the name must still lead to it
	ino    uint64
}

func openRoot(path string) (directory, error) {
	fd, err := openFD(unix.AT_FDCWD, path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, openError(path, err, true)
	}
	return newDir(fd, nil, path, path)
}

// newDir takes ownership of a descriptor. It closes it on an error.
func newDir(fd int, parent *osDir, name, path string) (directory, error) {
	d := &osDir{f: os.NewFile(uintptr(fd), path), parent: parent, name: name, path: path}
	if err := d.secure(); err != nil {
		d.f.Close()
		return nil, err
	}
	return d, nil
}

func (d *osDir) secure() error {
	st, err := d.stat()
	if err != nil {
		return err
	}
	d.dev, d.ino = uint64(st.Dev), st.Ino
	if int(st.Uid) != os.Geteuid() {
		return &UnsafeError{Path: d.path, Reason: "it belongs to another user"}
	}
	if st.Mode&0o077 == 0 {
		return nil
	}
	if err := d.f.Chmod(0o700); err != nil && !errors.Is(err, unix.EROFS) {
		return err
	}
	return nil
}

func (d *osDir) stat() (unix.Stat_t, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstat(d.fd(), &st) })
	return st, fsError("stat", d.path, err)
}

func (d *osDir) fd() int      { return int(d.f.Fd()) }
func (d *osDir) Path() string { return d.path }
func (d *osDir) Close() error { return d.f.Close() }
func (d *osDir) Sync() error  { return d.f.Sync() }

func (d *osDir) sub(name string) string { return filepath.Join(d.path, name) }

func (d *osDir) Dir(name string) (directory, error) {
	fd, err := openFD(d.fd(), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, openError(d.sub(name), err, true)
	}
	return newDir(fd, d, name, d.sub(name))
}

func (d *osDir) Mkdir(name string) error {
	err := retry(func() error { return unix.Mkdirat(d.fd(), name, 0o700) })
	if err != nil {
		return fsError("mkdir", d.sub(name), err)
	}
	// A umask that removes our own permissions would lock us out.
	return fsError("chmod", d.sub(name), retry(func() error { return unix.Fchmodat(d.fd(), name, 0o700, 0) }))
}

func (d *osDir) Open(name string, how openMode) (file, error) {
	flags := map[openMode]int{
		openRead:   unix.O_RDONLY,
		openCreate: unix.O_RDWR | unix.O_CREAT | unix.O_EXCL,
		openLock:   unix.O_RDWR | unix.O_CREAT,
	}[how]
	// Non-blocking, since opening a pipe would wait for its other end.
	fd, err := openFD(d.fd(), name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, openError(d.sub(name), err, false)
	}
	st, err := checkFile(fd, d.sub(name), how != openRead)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		unix.Close(fd)
		return nil, fsError("open", d.sub(name), err)
	}
	return &osFile{File: os.NewFile(uintptr(fd), d.sub(name)), dev: uint64(st.Dev), ino: st.Ino}, nil
}

// checkFile refuses anything but a plain file of this user with one name, and removes the access of others. A
// file that is written to gets its intended mode, whatever the umask was.
func checkFile(fd int, path string, write bool) (st unix.Stat_t, err error) {
	if err := retry(func() error { return unix.Fstat(fd, &st) }); err != nil {
		return st, fsError("stat", path, err)
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return st, &UnsafeError{Path: path, Reason: "it is not a regular file"}
	case int(st.Uid) != os.Geteuid():
		return st, &UnsafeError{Path: path, Reason: "it belongs to another user"}
	case st.Nlink > 1:
		return st, &UnsafeError{Path: path, Reason: "it has more than one name"}
	case st.Mode&0o077 != 0, write && st.Mode&0o777 != 0o600:
		if err := unix.Fchmod(fd, 0o600); err != nil && !errors.Is(err, unix.EROFS) {
			return st, fsError("chmod", path, err)
		}
	}
	return st, nil
}

func (d *osDir) Names() ([]string, error) {
	// A separate descriptor, since reading moves the offset.
	fd, err := openFD(d.fd(), ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, fsError("open", d.path, err)
	}
	f := os.NewFile(uintptr(fd), d.path)
	defer f.Close()
	return f.Readdirnames(-1)
}

func (d *osDir) Rename(from, to string) error {
	err := retry(func() error { return unix.Renameat(d.fd(), from, d.fd(), to) })
	if err != nil {
		return &os.LinkError{Op: "rename", Old: d.sub(from), New: d.sub(to), Err: err}
	}
	return nil
}

func (d *osDir) Unlink(name string) error {
	return fsError("unlink", d.sub(name), retry(func() error { return unix.Unlinkat(d.fd(), name, 0) }))
}

func (d *osDir) RemoveAll(name string) error {
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return err
	}
	defer root.Close()
	there, err := root.Stat(".")
	if err != nil {
		return err
	}
	own, err := d.f.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(own, there) {
		return &vanishedError{d.path, "another one has taken its place"}
	}
	return root.RemoveAll(name)
}

func (d *osDir) Present() error {
	at := unix.AT_FDCWD
	if d.parent != nil {
		if err := d.parent.Present(); err != nil {
			return err
		}
		at = d.parent.fd()
	}
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstatat(at, d.name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	switch {
	case errors.Is(err, unix.ENOENT):
		return &vanishedError{d.path, "it is gone"}
	case err != nil:
		return fsError("stat", d.path, err)
	case st.Mode&unix.S_IFMT == unix.S_IFLNK:
		return &vanishedError{d.path, "a link has taken its place"}
	case uint64(st.Dev) != d.dev || st.Ino != d.ino:
		return &vanishedError{d.path, "another one has taken its place"}
	case st.Mode&0o300 != 0o300:
		return &vanishedError{d.path, "it is read-only"}
	}
	return nil
}

func (d *osDir) Holds(name string, f file) error {
	own, ok := f.(*osFile)
	if !ok {
		return fmt.Errorf("journal: %s was not opened by this package", d.sub(name))
	}
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstatat(d.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	switch {
	case errors.Is(err, unix.ENOENT):
		return &vanishedError{d.sub(name), "it is gone"}
	case err != nil:
		return fsError("stat", d.sub(name), err)
	case uint64(st.Dev) != own.dev || st.Ino != own.ino:
		return &vanishedError{d.sub(name), "another file has taken its place"}
	}
	return nil
}

type osFile struct {
	*os.File
	dev, ino uint64 // the same as long as it is open
}

func (f *osFile) OS() *os.File { return f.File }

func (f *osFile) Sync() error {
	return fsError("sync", f.Name(), retry(func() error { return syncData(f.File) }))
}

func (f *osFile) Free(at, length int64) error {
	return fsError("free", f.Name(), retry(func() error { return freePart(f.File, at, length) }))
}

func (f *osFile) Stat() (fileInfo, error) {
	var st unix.Stat_t
	if err := retry(func() error { return unix.Fstat(int(f.Fd()), &st) }); err != nil {
		return fileInfo{}, fsError("stat", f.Name(), err)
	}
	return fileInfo{Size: st.Size, Used: min(st.Size, st.Blocks*512), ModTime: time.Unix(st.Mtim.Unix())}, nil
}

func (f *osFile) TryLock(exclusive bool) error {
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	return retry(func() error { return unix.Flock(int(f.Fd()), how|unix.LOCK_NB) })
}

func openFD(at int, name string, flags int, perm uint32) (fd int, err error) {
	err = retry(func() error {
		fd, err = unix.Openat(at, name, flags|unix.O_CLOEXEC, perm)
		return err
	})
	return fd, err
}

// openError distinguishes a refusal from a failure.
func openError(path string, err error, dir bool) error {
	switch {
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.EMLINK):
		return &UnsafeError{Path: path, Reason: "it is a symbolic link"}
	case errors.Is(err, unix.ENOTDIR) && dir:
		// Linux returns this error for a link as well, as it looks for a directory first.
		if st, err := os.Lstat(path); err == nil && st.Mode()&fs.ModeSymlink != 0 {
			return &UnsafeError{Path: path, Reason: "it is a symbolic link"}
		}
		return &UnsafeError{Path: path, Reason: "it is not a directory"}
	case errors.Is(err, unix.EISDIR), errors.Is(err, unix.ENXIO):
		return &UnsafeError{Path: path, Reason: "it is not a regular file"}
	}
	return fsError("open", path, err)
}

// retry repeats a system call that a signal interrupted.
func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// alive reports whether a process with that id exists.
func alive(pid int) bool {
	err := unix.Kill(pid, 0)
	return err == nil || errors.Is(err, unix.EPERM)
}

// segmentSpent reports whether an error of a write is about this file, so that another file may work: the file
// has the maximal size (RLIMIT_FSIZE), or it is on a bad part of the disk.
func segmentSpent(err error) bool { return errors.Is(err, unix.EFBIG) || errors.Is(err, unix.EIO) }
