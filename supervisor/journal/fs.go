package journal

import (
	"io"
	"io/fs"
	"os"
	"time"
)

// directory is a directory that is opened once; files in it are opened by name, so that it cannot be replaced
// meanwhile. Names have one part. It is an interface so that tests can simulate a disk that fails or loses
// power.
type directory interface {
	Path() string
	// Dir opens a directory in it, which must be ours and no link. If its mode allows others access, the mode
	// is tightened.
	Dir(name string) (directory, error)
	// Mkdir creates a directory, with mode 0700 whatever the umask, or fails with fs.ErrExist.
	Mkdir(name string) error
	// Open opens a regular file that is ours, has one name and is not a link.
	Open(name string, how openMode) (file, error)
	Names() ([]string, error)
	Rename(from, to string) error
	Unlink(name string) error
	// RemoveAll removes a directory in it and everything below, following no link.
	RemoveAll(name string) error
	Sync() error
	// Present fails with ErrVanished unless the path still leads to this same directory, without a link in our
	// part of it, and the directory can be written to.
	Present() error
	// Holds fails with ErrVanished unless name is this same file.
	Holds(name string, f file) error
	Close() error
}

type openMode int

const (
	openRead   openMode = iota
	openCreate          // must not exist
	openLock            // read and write, created if it does not exist
)

type file interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
	// Free gives the space of a part back to the file system. Its bytes are zero then, and the file's length is the same.
	Free(at, length int64) error
	// Sync returns when data and size are durable.
	Sync() error
	Stat() (fileInfo, error)
	// TryLock takes a flock at once or fails with errLocked.
	TryLock(exclusive bool) error
	// OS returns the file to pass to a child, or nil for a file in memory.
	OS() *os.File
	Close() error
}

type fileInfo struct {
	Size    int64
	Used    int64 // space on disk, not above Size
	ModTime time.Time
}

// fsError wraps the error of a system call with what was attempted.
func fsError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}
