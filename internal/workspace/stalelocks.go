package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// staleLock is the age at which a lock of a reference counts as left by a git that was killed: it is held for
// milliseconds.
const staleLock = 10 * time.Second

// ClearLocks removes lock files that killed git processes left for references below a prefix of [Repo.Ref].
// The caller must hold [Repo.Lock] and be the only one that moves them.
func (r *Repo) ClearLocks(prefix string) error {
	_, err := clearLocks(filepath.Join(r.CommonDir, filepath.FromSlash(r.Ref(prefix))), 0)
	return err
}

// clearOldLocks does the same for all references of the run, if the locks are old. It reports whether there were any.
func (r *Repo) clearOldLocks() bool {
	any := false
	for _, below := range []string{r.Ref(""), r.Branch("")} {
		cleared, err := clearLocks(filepath.Join(r.CommonDir, filepath.FromSlash(below)), staleLock)
		any = any || cleared && err == nil
	}
	return any
}

func clearLocks(dir string, age time.Duration) (cleared bool, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".lock") {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil && time.Since(info.ModTime()) >= age {
				err = os.Remove(path)
				cleared = cleared || err == nil
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return cleared, err
}
