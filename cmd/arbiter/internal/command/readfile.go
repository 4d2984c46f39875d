package command

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// MaxSource bounds a configuration or scenario, in bytes.
const MaxSource = 4 << 20

// ReadFile reads a regular file of at most most bytes. It refuses other files, because a link in a workspace may
// lead to a device that never ends.
func ReadFile(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &os.PathError{Op: "read", Path: path, Err: errors.New("not a regular file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(raw)) > most {
		err = &SizeError{path, max(info.Size(), most+1), most}
	}
	return raw, err
}

// WithoutPath returns the error of a file operation without the file's name, for callers that name the file.
func WithoutPath(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return path.Err
	}
	return err
}

// SizeError says that something exceeds its size limit, in bytes.
type SizeError struct {
	What       string
	Size, Most int64
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("%s has %s bytes, at most %s are read", e.What, words.Number(e.Size), words.Number(e.Most))
}
