package journal

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/internal/statedir"
)

var errLocked error = statedir.ErrHeld

// osDir is a directory of the operating system.
type osDir struct {
	own    *statedir.Dir
	parent *osDir      // nil for the state directory itself
	name   string      // in the parent
	info   fs.FileInfo // the name must still lead to it
}

func openRoot(path string) (directory, error) {
	d, err := statedir.Open(path)
	if err != nil {
		return nil, err
	}
	return newDir(d, nil, path)
}

// newDir takes ownership of a directory. It closes it on an error.
func newDir(own *statedir.Dir, parent *osDir, name string) (directory, error) {
	d := &osDir{own: own, parent: parent, name: name}
	var err error
	if d.info, err = own.Stat("."); err != nil {
		return nil, errors.Join(d.named(err), own.Close())
	}
	return d, nil
}

// named adds the directory to the error of a call in it.
func (d *osDir) named(err error) error {
	var failed *fs.PathError
	var renamed *os.LinkError
	switch {
	case errors.As(err, &failed) && !strings.HasPrefix(failed.Path, "/"):
		return fsError(strings.TrimSuffix(failed.Op, "at"), d.own.Path(failed.Path), failed.Err)
	case errors.As(err, &renamed):
		return &os.LinkError{Op: "rename", Old: d.own.Path(renamed.Old), New: d.own.Path(renamed.New), Err: renamed.Err}
	}
	return err
}

func (d *osDir) Path() string                 { return d.own.Path("") }
func (d *osDir) Close() error                 { return d.own.Close() }
func (d *osDir) Sync() error                  { return d.named(d.own.Sync()) }
func (d *osDir) Rename(from, to string) error { return d.named(d.own.Rename(from, to)) }
func (d *osDir) Unlink(name string) error     { return d.named(d.own.Remove(name)) }
func (d *osDir) RemoveAll(name string) error  { return d.named(d.own.RemoveAll(name)) }

func (d *osDir) Dir(name string) (directory, error) {
	sub, err := d.own.Existing(name)
	if err != nil {
		return nil, d.named(err)
	}
	return newDir(sub, d, name)
}

func (d *osDir) Mkdir(name string) error {
	if err := d.own.Mkdir(name, 0o700); err != nil {
		return d.named(err)
	}
	// A umask that removes our own permissions would lock us out.
	return d.named(d.own.Chmod(name, 0o700))
}

func (d *osDir) Open(name string, how openMode) (file, error) {
	flags := map[openMode]int{
		openRead:   os.O_RDONLY,
		openCreate: os.O_RDWR | os.O_CREATE | os.O_EXCL,
		openLock:   os.O_RDWR | os.O_CREATE,
	}[how]
	f, err := d.own.File(name, flags)
	if err != nil {
		return nil, d.named(err)
	}
	return &osFile{f}, nil
}

func (d *osDir) Names() ([]string, error) {
	f, err := d.own.Root.Open(".")
	if err != nil {
		return nil, d.named(err)
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

func (d *osDir) Present() error {
	lstat := os.Lstat
	if d.parent != nil {
		if err := d.parent.Present(); err != nil {
			return err
		}
		lstat = d.parent.own.Lstat
	}
	info, err := lstat(d.name)
	switch {
	case (err == nil && !os.SameFile(info, d.info) || errors.Is(err, fs.ErrNotExist)) && d.deleted():
		return &vanishedError{d.Path(), "it was deleted", ErrDeleted}
	case errors.Is(err, fs.ErrNotExist):
		return &vanishedError{d.Path(), "it is gone", nil}
	case err != nil:
		return fsError("stat", d.Path(), err)
	case info.Mode()&fs.ModeSymlink != 0:
		return &vanishedError{d.Path(), "a link has taken its place", nil}
	case !os.SameFile(info, d.info):
		return &vanishedError{d.Path(), "another one has taken its place", nil}
	case info.Mode()&0o300 != 0o300:
		return &vanishedError{d.Path(), "it is read-only", nil}
	}
	return nil
}

// deleted reports whether the directory, which is not in its place, has no name any more: unlike one that was moved, it
// cannot come back. Some file systems count no names at all.
func (d *osDir) deleted() bool {
	info, err := d.own.Stat(".")
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink == 0
}

func (d *osDir) Holds(name string, f file) error {
	own, err := f.OS().Stat()
	if err != nil {
		return err
	}
	info, err := d.own.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &vanishedError{d.own.Path(name), "it is gone", nil}
	case err != nil:
		return d.named(err)
	case !os.SameFile(info, own):
		return &vanishedError{d.own.Path(name), "another file has taken its place", nil}
	}
	return nil
}

type osFile struct{ *os.File }

func (f *osFile) OS() *os.File { return f.File }

func (f *osFile) Sync() error {
	return fsError("sync", f.Name(), retry(func() error { return syncData(f.File) }))
}

func (f *osFile) Free(at, length int64) error {
	return fsError("free", f.Name(), retry(func() error { return freePart(f.File, at, length) }))
}

func (f *osFile) Stat() (fileInfo, error) {
	info, err := f.File.Stat()
	if err != nil {
		return fileInfo{}, err
	}
	used := info.Size()
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		used = min(used, st.Blocks*512)
	}
	return fileInfo{Size: info.Size(), Used: used, ModTime: info.ModTime()}, nil
}

func (f *osFile) TryLock(exclusive bool) error { return statedir.TryLock(f.File, exclusive) }

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
