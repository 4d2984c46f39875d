package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/internal/git"
)

// staleLock is the age at which a lock file counts as left by a git that was killed. Git holds one for milliseconds;
// a hook of the user's can make that seconds.
const staleLock = 10 * time.Second

// pastLocks calls f, which runs a command of git. If a lock file stops it, pastLocks waits until the lock files of the
// run's references, and those in the Git directory of own, are gone or so old that it removes them. Then it calls f
// once more. own is a directory in which no agent works, or nil.
func (r *Repo) pastLocks(ctx context.Context, own *Repo, f func() error) error {
	dirs := []string{filepath.Join(r.CommonDir, filepath.FromSlash(r.Ref(""))),
		filepath.Join(r.CommonDir, filepath.FromSlash(r.Branch("")))}
	if own != nil {
		dirs = append(dirs, own.GitDir)
	}
	failed := f()
	if e, ok := errors.AsType[*git.Error](failed); !ok || !strings.Contains(e.Stderr, ".lock'") {
		return failed
	}
	poll := time.NewTicker(lockPoll)
	defer poll.Stop()
	for {
		left := false
		for _, dir := range dirs {
			held, err := clearLocks(dir, staleLock)
			if err != nil {
				return errors.Join(failed, err)
			}
			left = left || held
		}
		if !left {
			return f()
		}
		select {
		case <-ctx.Done():
			return failed
		case <-poll.C:
		}
	}
}

// clearLocks removes the lock files of a Git directory, or of a part of it, that have at least an age. It reports
// whether younger ones are left.
func clearLocks(dir string, age time.Duration) (left bool, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
		case d.IsDir() && d.Name() == "objects":
			return fs.SkipDir
		case !d.IsDir() && strings.HasSuffix(path, ".lock"):
			var info fs.FileInfo
			if info, err = d.Info(); err == nil && time.Since(info.ModTime()) >= age {
				err = os.Remove(path)
			} else if err == nil {
				left = true
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return left, err
}
