package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/arbiter-cli/arbiter/internal/statedir"
)

const lockPoll = 10 * time.Millisecond

// Lock locks the repository for operations that must not run concurrently: those on worktrees and on the
// user's files. All runs of all processes share the lock; a human's git does not use it. It returns the
// Repo to work with, whose git processes inherit the lock. It is a kernel lock on the Git directory itself,
// or, if the file system cannot lock directories, on a file in it.
func (r *Repo) Lock(ctx context.Context) (locked *Repo, unlock func(), err error) {
	if r.Git.Hold != nil {
		return r, func() {}, nil
	}
	// An agent may put a pipe in the place of either, which an open would wait for.
	dir, err := os.OpenFile(r.CommonDir, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, nil, err
	}
	if err := statedir.TryLock(dir, true); err != nil && !errors.Is(err, statedir.ErrHeld) { // NFS
		dir.Close()
		dir, err = os.OpenFile(filepath.Join(r.CommonDir, "arbiter.lock"),
			os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
		if err != nil {
			return nil, nil, err
		}
	}
	for {
		err := statedir.TryLock(dir, true)
		if err == nil {
			locked := *r
			locked.Git.Hold = dir
			return &locked, func() { dir.Close() }, nil
		}
		if !errors.Is(err, statedir.ErrHeld) {
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
