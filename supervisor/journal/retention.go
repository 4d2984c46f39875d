package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Retention says how many finished runs to keep. Zero means no limit.
type Retention struct {
	Runs  int   // how many
	Bytes int64 // in total
}

// WorkName is the subdirectory of a run that contains the agents' own directories. It may contain work that
// exists nowhere else: a run is not removed before it is empty.
const WorkName = "work"

// WorkError refuses to remove a run that has directories of agents.
type WorkError struct{ Run string }

func (e *WorkError) Error() string {
	return "run " + e.Run + " still has directories of agents in " + WorkName
}

// Prune removes runs that are over, the least recently active first, until the rest is within keep. Live runs,
// unfinished ones and those with directories of agents are counted, but never removed. It returns what was
// removed, also with an error.
func (s *Store) Prune(keep Retention) (removed []string, err error) {
	if err := s.sweepTrash(); err != nil {
		return nil, fmt.Errorf("prune runs: %w", err)
	}
	all, err := s.List()
	if err != nil {
		return nil, fmt.Errorf("prune runs: %w", err)
	}
	count, size := len(all), int64(0)
	for _, info := range all {
		size += info.Bytes
	}
	var errs []error
	for _, info := range slices.Backward(all) {
		if (keep.Runs <= 0 || count <= keep.Runs) && (keep.Bytes <= 0 || size <= keep.Bytes) {
			break
		}
		if info.Live || info.Unfinished || info.Damaged {
			continue // it is unknown whether a damaged run had ended
		}
		if info.Empty && info.Bytes == 0 {
			continue // it may be a run that is being created and has no lock yet
		}
		var work *WorkError
		err := s.Remove(info.Run)
		if errors.As(err, &work) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, info.Run)
		count, size = count-1, size-info.Bytes
	}
	return removed, errors.Join(errs...)
}

// HasWork reports whether there are directories of agents in a run's directory.
func (s *Store) HasWork(id string) (bool, error) {
	run, err := s.dirOf(id)
	if err != nil {
		return false, err
	}
	defer run.Close()
	work, err := run.Dir(WorkName)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer work.Close()
	names, err := work.Names()
	return len(names) > 0, err
}

// Remove deletes a run and everything in its directory. It returns *HeldError while the run is live, and
// *WorkError while it has directories of agents.
func (s *Store) Remove(id string) (err error) {
	defer attempted(&err, "remove", id)
	h, err := s.hold(id, openLock, 0)
	if err != nil {
		return err
	}
	defer h.close()
	switch work, err := s.HasWork(id); {
	case err != nil:
		return err
	case work:
		return &WorkError{id}
	}
	return s.remove(id)
}

// remove first renames the whole run: a crash leaves either the run or trash, never half a run.
func (s *Store) remove(id string) error {
	trash := trashPrefix + id
	if err := s.runs.RemoveAll(trash); err != nil {
		return err
	}
	crash("journal.remove.rename.before")
	if err := s.runs.Rename(id, trash); err != nil {
		return err
	}
	_ = s.live.Unlink(id) // a killed process has left it
	crash("journal.remove.syncdir.before")
	if err := s.runs.Sync(); err != nil {
		return err
	}
	crash("journal.remove.unlink.before")
	return s.runs.RemoveAll(trash)
}

// sweepTrash finishes removals that a crash interrupted, and removes imports that never finished.
func (s *Store) sweepTrash() error {
	names, err := s.removeAll(trashPrefix)
	if err != nil || !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, stagedPrefix) }) {
		return err
	}
	lock, err := tryLock(s.locks, importLock, openLock)
	var held *HeldError
	if errors.As(err, &held) {
		return nil // that import is running
	}
	if err != nil {
		return err
	}
	_, err = s.removeAll(stagedPrefix)
	return errors.Join(err, lock.Close())
}

// removeAll removes the directories whose names begin with prefix, and returns the names of all that were there.
func (s *Store) removeAll(prefix string) ([]string, error) {
	names, err := s.runs.Names()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasPrefix(name, prefix) {
			if err := s.runs.RemoveAll(name); err != nil {
				return nil, err
			}
		}
	}
	return names, nil
}
