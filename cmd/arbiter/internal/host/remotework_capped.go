package host

import (
	"context"
	"io/fs"
	"path/filepath"
	"sync/atomic"
	"time"
)

// measureEvery is the time between two measurements of what has arrived. Git has no limit for a fetch.
const measureEvery = 100 * time.Millisecond

// capped returns a context that ends when the files of a directory have more bytes than max. stop ends the
// measurements, waits for their goroutine, measures once more, and reports whether there were too many
// bytes.
func capped(ctx context.Context, dir string, max int64) (limited context.Context, stop func() (tooLarge bool)) {
	limited, cancel := context.WithCancel(ctx)
	var over atomic.Bool
	done, finished := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		tick := time.NewTicker(measureEvery)
		defer tick.Stop()
		for {
			if size(dir) > max {
				over.Store(true)
				cancel()
				return
			}
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	}()
	return limited, func() bool {
		close(done)
		<-finished
		cancel()
		return over.Load() || size(dir) > max
	}
}

// size adds up the files of a directory; files that appear or disappear meanwhile may or may not count.
func size(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}
