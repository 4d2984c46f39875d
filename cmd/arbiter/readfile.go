package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// maxSource bounds a configuration or scenario, in bytes.
const maxSource = 4 << 20

// readFile reads a regular file of at most so many bytes. What else a path can lead to, a
// link in somebody's workspace to a device among it, may have no end.
func readFile(path string, most int64) ([]byte, error) {
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
		err = &sizeError{path, max(info.Size(), most+1), most}
	}
	return raw, err
}

// withoutPath is an error of a file without the file's name, for callers that name it.
func withoutPath(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return path.Err
	}
	return err
}

// sizeError says that something is larger than it may be, in bytes.
type sizeError struct {
	what       string
	size, most int64
}

func (e *sizeError) Error() string {
	return fmt.Sprintf("%s has %s bytes, at most %s are read", e.what, words.Number(e.size), words.Number(e.most))
}
