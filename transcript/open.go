package transcript

import (
	"errors"
	"fmt"
	"os"
)

// maxFile is the size of the largest transcript that is read. The CLI reads a whole session when it resumes it,
// and its files are far below this size.
const maxFile = 2 << 30

// Reasons why a file is not read.
var (
	ErrNotRegular = errors.New("not a regular file")
	ErrTooLarge   = fmt.Errorf("larger than %d bytes", maxFile)
)

// open opens a transcript for reading. It refuses a FIFO, a device, a directory or a symbolic link in its
// place, and never blocks on one.
func open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|openFlags, 0)
	if isLink(err) {
		return nil, fmt.Errorf("open transcript %s: %w", path, ErrNotRegular)
	}
	if err != nil {
		return nil, fmt.Errorf("open transcript: %w", err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = ErrNotRegular
	case info.Size() > maxFile:
		err = ErrTooLarge
	default:
		return f, nil
	}
	f.Close()
	return nil, fmt.Errorf("open transcript %s: %w", path, err)
}
