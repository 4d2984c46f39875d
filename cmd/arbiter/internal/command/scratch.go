package command

// This file creates directories for temporary files of a run outside of the run's own directory, and removes
// those of runs that have ended. Each has a mark that names its owner: a directory without a mark, or with
// the mark of another state directory, is left alone. The package has no goroutines.

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Prefixes of the names of directories that belong to a run.
const (
	ScratchSockets   = "arbiter-hook-"      // for sockets; of no use once their run has ended
	ScratchRehearsal = "arbiter-rehearsal-" // a rehearsal's workspace, kept for inspection as long as the run
)

// ScratchMark is the file that names the run's directory.
const ScratchMark = ".arbiter-run"

// MakeScratch makes a directory that only the user can access, in base or in the default place. It belongs to the run
// whose directory is owner.
func MakeScratch(base, prefix, owner string) (string, error) {
	dir, err := os.MkdirTemp(base, prefix) // 0700
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, ScratchMark), []byte(owner+"\n"), 0o600); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}

// ownerOf returns the directory of the run that a directory belongs to; empty: none.
func ownerOf(dir string) string {
	path := filepath.Join(dir, ScratchMark)
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || info.Size() > 1<<16 {
		return ""
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(raw), "\n")
}

// InUse reports whether a directory has the mark of an existing run, in any state directory. A run that cannot be
// checked counts as existing.
func InUse(dir string) bool {
	owner := ownerOf(dir)
	return owner != "" && !gone(owner)
}

func gone(run string) bool {
	_, err := os.Lstat(run)
	return errors.Is(err, fs.ErrNotExist)
}

// Places returns where such directories can be.
func Places() []string {
	places := []string{os.TempDir(), "/tmp"}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		places = append(places, dir)
	}
	return places
}

// SweepScratch removes directories in places that have the mark of a run below the directory runs: all directories of
// runs that no longer exist, and the directories for sockets of runs that over reports as ended. It returns what it
// removed, also with an error.
func SweepScratch(places []string, runs string, over func(run string) bool) (removed []string, err error) {
	if _, err := os.Stat(runs); err != nil {
		return nil, err // without the list of runs, it is unknown which have ended
	}
	var errs []error
	for _, place := range places {
		entries, _ := os.ReadDir(place) // a directory that cannot be read holds no scratch directory
		for _, e := range entries {
			dir := filepath.Join(place, e.Name())
			sockets := strings.HasPrefix(e.Name(), ScratchSockets)
			if !e.IsDir() || !sockets && !strings.HasPrefix(e.Name(), ScratchRehearsal) {
				continue
			}
			owner := ownerOf(dir)
			if owner == "" || filepath.Dir(owner) != filepath.Clean(runs) {
				continue
			}
			if !gone(owner) && !(sockets && over(filepath.Base(owner))) {
				continue
			}
			if err := os.RemoveAll(dir); err != nil { // it follows no link
				errs = append(errs, err)
				continue
			}
			removed = append(removed, dir)
		}
	}
	return removed, errors.Join(errs...)
}
