package command

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/arbiter-cli/arbiter/internal/statedir"
)

// WriteOutput writes a file that the user names. A regular file, or one that is not there yet, appears as a whole or
// stays as it was, and keeps its permissions; links are followed. What is not a regular file, such as a pipe, is
// written to.
func WriteOutput(path string, data []byte) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return err
	case info.IsDir():
		return &os.PathError{Op: "write", Path: path, Err: errors.New("it is a directory")}
	case !info.Mode().IsRegular():
		return AppendTo(path, data)
	}
	return statedir.WriteWhole(path, 0o644, func(f *os.File) error {
		if info != nil {
			if err := f.Chmod(info.Mode().Perm()); err != nil {
				return err
			}
		}
		_, err := f.Write(data)
		return err
	})
}

// AppendTo writes to the end of a file that others write to, too.
func AppendTo(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
