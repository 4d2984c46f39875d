//go:build unix

package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

const lockPoll = 10 * time.Millisecond

// Lock takes the repository for operations that must be alone: those on worktrees and on the user's files. Runs of
// all processes share it; a human's git does not. It returns the Repo to work with, whose git processes inherit the
// lock. The lock is the kernel's and creates no file.
func (r *Repo) Lock(ctx context.Context) (locked *Repo, unlock func(), err error) {
	if r.Git.Hold != nil {
		return r, func() {}, nil
	}
	dir, err := os.Open(r.CommonDir)
	if err != nil {
		return nil, nil, err
	}
	for {
		err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			held := *r
			held.Git.Hold = dir
			return &held, func() { dir.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			dir.Close()
			return nil, nil, fmt.Errorf("lock %s: %w", r.CommonDir, err)
		}
		select {
		case <-ctx.Done():
			dir.Close()
			return nil, nil, fmt.Errorf("another process works on %s: %w", r.CommonDir, ctx.Err())
		case <-time.After(lockPoll):
		}
	}
}
