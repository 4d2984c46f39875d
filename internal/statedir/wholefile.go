package statedir

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteWhole writes a file outside of a [Dir] and returns when it is on disk: the file appears as a whole
// or stays unchanged. It is first written to the same directory, under a hidden name.
func WriteWhole(path string, perm fs.FileMode, fill func(*os.File) error) error {
	temp := filepath.Join(filepath.Dir(path), ".arbiter-"+rand.Text()+".tmp")
	f, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	if err = fill(f); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return nil
}
