package command

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/arbiter-cli/arbiter/internal/statedir"
)

// WriteOutput writes a file that the user names. A new or regular file is replaced atomically and keeps its
// permissions; links are followed. Any other file, such as a pipe, is written to directly.
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

// AppendTo appends to a file that other processes may append to, too.
func AppendTo(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
