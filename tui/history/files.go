package history

import (
	"errors"
	"fmt"
	"os"
)

// disk are the files of a store; each may be nil.
type disk struct {
	events, index, lists file
	close                func() error
}

// errEnough reports that the files have reached their limit.
var errEnough = errors.New("the files are as large as they may be")

// capped is a file with a maximum size.
type capped struct {
	file
	most int64
}

func (c capped) WriteAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > c.most {
		return 0, errEnough
	}
	return c.file.WriteAt(p, off)
}

// scratch creates the files of a store in a directory, and unlinks them at once.
func scratch(dir string) (disk, error) {
	if dir == "" {
		return disk{}, nil
	}
	var files []*os.File
	var named []string
	closeAll := func() error {
		var errs []error
		for _, f := range files {
			errs = append(errs, f.Close())
		}
		for _, name := range named {
			if err := os.Remove(name); !errors.Is(err, os.ErrNotExist) {
				errs = append(errs, err)
			}
		}
		return errors.Join(errs...)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return disk{}, fmt.Errorf("make a directory for the history: %w", err)
	}
	for range 3 {
		f, err := os.CreateTemp(dir, "history-*")
		if err != nil {
			return disk{}, errors.Join(fmt.Errorf("make a file for the history: %w", err), closeAll())
		}
		files = append(files, f)
		if os.Remove(f.Name()) != nil {
			named = append(named, f.Name()) // not every system can unlink an open file
		}
	}
	return disk{files[0], files[1], files[2], closeAll}, nil
}
