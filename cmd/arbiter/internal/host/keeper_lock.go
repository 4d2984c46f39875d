//go:build unix

package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/bridge/proctree"
)

const (
	fenceTimeout = 15 * time.Second
	fencePause   = 20 * time.Millisecond
	maxNote      = 4 << 10
)

// lockNote is the content of a lock file: it identifies the holder.
type lockNote struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
}

// lockBridge takes the lock of a bridge. If another process holds it, that process and all that bear the mark are
// ended first. It returns how many processes were ended. The caller closes the file.
func lockBridge(ctx context.Context, dir string, m proctree.Mark) (f *os.File, ended int, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, 0, err
	}
	path := filepath.Join(dir, m.Run+"-"+m.Bridge+".lock")
	f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, fenceTimeout)
	defer cancel()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			f.Close()
			return nil, ended, fmt.Errorf("lock %s: %w", path, err)
		}
		ended += fence(ctx, f, m)
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ended, fmt.Errorf("an earlier bridge of this run on this host does not end (its lock is %s): end its "+
				"processes, which have %s=%s in their environment", path, proctree.EnvRun, m.Run)
		case <-time.After(fencePause):
		}
	}
	ended += proctree.SweepMarked(m) // including those that outlived a killed holder
	if err := writeNote(f); err != nil {
		f.Close()
		return nil, ended, fmt.Errorf("write %s: %w", path, err)
	}
	return f, ended, nil
}

// fence ends the holder of a lock, and all processes that bear the mark.
func fence(ctx context.Context, f *os.File, m proctree.Mark) (ended int) {
	raw := make([]byte, maxNote)
	n, _ := f.ReadAt(raw, 0) // an incomplete note is read again the next time
	var holder lockNote
	if json.Unmarshal(raw[:n], &holder) == nil && holder.PID > 1 && holder.PID != os.Getpid() {
		if proctree.End(ctx, holder.PID, holder.Start) == nil {
			ended++
		}
	}
	return ended + proctree.SweepMarked(m)
}

// writeNote writes the identity of this process to its lock file.
func writeNote(f *os.File) error {
	line, err := proctree.Lineage(os.Getpid())
	if err != nil {
		return err
	}
	raw, err := json.Marshal(lockNote{PID: os.Getpid(), Start: line[0].Start})
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(raw, 0)
	}
	return err
}
