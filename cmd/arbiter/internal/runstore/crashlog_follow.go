package runstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// followPause is the polling interval of a followed log.
const followPause = 100 * time.Millisecond

// FollowCrashes copies the log in a run's directory to w, with everything that is appended, until the run is over or
// ctx ends. When the log is rotated, it continues with the next file.
func FollowCrashes(ctx context.Context, dir string, w io.Writer, alive func() bool) error {
	f := follower{path: filepath.Join(dir, LogName), w: w}
	defer f.close()
	tick := time.NewTicker(followPause)
	defer tick.Stop()
	for {
		over := !alive() // checked first: the copy after the run's end is complete
		if err := f.copy(); err != nil {
			return fmt.Errorf("log: %w", err)
		}
		if over {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

type follower struct {
	path string
	w    io.Writer
	file *os.File // nil: not opened yet
}

// copy copies what was appended since the last call.
func (f *follower) copy() error {
	for {
		if f.file == nil {
			file, err := os.Open(f.path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			f.file = file
		}
		same := f.current()
		if _, err := io.Copy(f.w, f.file); err != nil || same {
			return err
		}
		f.close() // it was rotated before it was copied completely
	}
}

// current reports whether the open file is still the log. Otherwise nothing is appended to it any more.
func (f *follower) current() bool {
	open, err := f.file.Stat()
	if err != nil {
		return true
	}
	now, err := os.Stat(f.path)
	return err != nil || os.SameFile(open, now)
}

func (f *follower) close() {
	if f.file != nil {
		f.file.Close()
		f.file = nil
	}
}
