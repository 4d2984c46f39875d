//go:build linux || darwin

package grants

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// room is the directory of all grants. It is opened once and worked in by name, so
// that nobody can put another one in its place.
type room struct {
	f    *os.File
	path string
}

func openRoom(state string) (*room, error) {
	made := os.MkdirAll(state, 0o700)
	root, err := openDir(unix.AT_FDCWD, state, state)
	if errors.Is(err, fs.ErrNotExist) && made != nil {
		return nil, made
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	path := filepath.Join(state, dirName)
	f, err := openDir(fdOf(root), dirName, path)
	if errors.Is(err, fs.ErrNotExist) {
		if f, err = makeDir(root, path); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	return &room{f, path}, nil
}

func makeDir(root *os.File, path string) (*os.File, error) {
	err := retry(func() error { return unix.Mkdirat(fdOf(root), dirName, 0o700) })
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, &fs.PathError{Op: "mkdir", Path: path, Err: err}
	}
	if err == nil {
		// An umask that takes our own bits away would lock us out.
		if err := retry(func() error { return unix.Fchmodat(fdOf(root), dirName, 0o700, 0) }); err != nil {
			return nil, &fs.PathError{Op: "chmod", Path: path, Err: err}
		}
	}
	if err := root.Sync(); err != nil {
		return nil, err
	}
	return openDir(fdOf(root), dirName, path)
}

// openDir opens a directory of ours, and takes away the access of others.
func openDir(at int, name, path string) (*os.File, error) {
	fd, err := openAt(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err != nil {
		if st, lerr := os.Lstat(path); lerr == nil && !st.IsDir() {
			return nil, &UnsafeError{path, "it is a link, or no directory"}
		}
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	var st unix.Stat_t
	err = retry(func() error { return unix.Fstat(fd, &st) })
	switch {
	case err != nil:
	case int(st.Uid) != os.Geteuid():
		err = &UnsafeError{path, "it belongs to another user"}
	case st.Mode&0o077 != 0:
		err = f.Chmod(0o700)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (r *room) close() error { return r.f.Close() }

// open opens a file of ours. Nothing is written to it that others can write to, too.
func (r *room) open(name string, flags int) (*os.File, error) {
	path := filepath.Join(r.path, name)
	// Non-blocking, since opening a pipe would wait for its other end.
	fd, err := openAt(fdOf(r.f), name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK)
	switch {
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.EMLINK):
		return nil, &UnsafeError{path, "it is a symbolic link"}
	case errors.Is(err, unix.ENXIO), errors.Is(err, unix.EISDIR):
		return nil, &UnsafeError{path, "it is not a regular file"}
	case err != nil:
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	if err := check(fd, path, flags&unix.O_CREAT != 0); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

func check(fd int, path string, made bool) error {
	var st unix.Stat_t
	if err := retry(func() error { return unix.Fstat(fd, &st) }); err != nil {
		return &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return &UnsafeError{path, "it is not a regular file"}
	case int(st.Uid) != os.Geteuid():
		return &UnsafeError{path, "it belongs to another user"}
	case st.Nlink > 1:
		return &UnsafeError{path, "it has more than one name"}
	case made && st.Size == 0:
		return retry(func() error { return unix.Fchmod(fd, 0o600) }) // whatever the umask was
	case st.Mode&0o022 != 0:
		return &UnsafeError{path, "others can write to it"}
	case st.Mode&0o077 != 0:
		return retry(func() error { return unix.Fchmod(fd, 0o600) })
	}
	return nil
}

func (r *room) read(name string) ([]byte, error) {
	f, err := r.open(name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err == nil && len(b) > maxBytes {
		err = &CorruptError{f.Name(), fmt.Sprintf("it is over %d KiB", maxBytes>>10)}
	}
	return b, err
}

// replace puts a new file in the place of name, whole and on disk. The caller holds
// the lock, so that what lies under the name temp is of somebody who was killed.
func (r *room) replace(name, temp string, b []byte) error {
	unlink := func() error { return retry(func() error { return unix.Unlinkat(fdOf(r.f), temp, 0) }) }
	if err := unlink(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &fs.PathError{Op: "unlink", Path: filepath.Join(r.path, temp), Err: err}
	}
	f, err := r.open(temp, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = retry(func() error { return unix.Renameat(fdOf(r.f), temp, fdOf(r.f), name) })
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", filepath.Join(r.path, name), err), unlink())
	}
	return r.f.Sync()
}

// lock keeps other processes, and other stores of this one, from changing a file.
func (r *room) lock(name string, wait time.Duration) (unlock func(), err error) {
	f, err := r.open(name, unix.O_RDWR|unix.O_CREAT)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(wait); ; time.Sleep(lockPoll) {
		err = retry(func() error { return unix.Flock(fdOf(f), unix.LOCK_EX|unix.LOCK_NB) })
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) || !time.Now().Before(deadline) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
	}
}

func fdOf(f *os.File) int { return int(f.Fd()) }

func openAt(at int, name string, flags int) (fd int, err error) {
	err = retry(func() error {
		fd, err = unix.Openat(at, name, flags|unix.O_CLOEXEC, 0o600)
		return err
	})
	return fd, err
}

// retry repeats a system call that a signal interrupted.
func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
