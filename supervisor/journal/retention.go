package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Retention says how much to keep of runs that are over. Zero is without limit.
type Retention struct {
	Runs  int   // how many
	Bytes int64 // in all
}

// Prune removes runs that are over, the least lately active first, until the rest is
// within keep. Live runs and unfinished ones count and stay. It returns what was
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
			continue // of a damaged one nobody knows whether it was over
		}
		if info.Empty && info.Bytes == 0 {
			continue // it may be one that is being created and has no lock yet
		}
		if err := s.Remove(info.Run); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, info.Run)
		count, size = count-1, size-info.Bytes
	}
	return removed, errors.Join(errs...)
}

// Remove deletes a run and all in its directory. *HeldError while it is live.
func (s *Store) Remove(id string) error {
	if err := validID(id); err != nil {
		return fmt.Errorf("remove run: %w", err)
	}
	h, err := s.hold(id, 0)
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.Join(ErrNotFound, err)
	}
	if err != nil {
		return fmt.Errorf("remove run %s: %w", id, err)
	}
	defer h.close()
	if err := s.remove(id); err != nil {
		return fmt.Errorf("remove run %s: %w", id, err)
	}
	return nil
}

// remove takes a run out of sight first, as a whole: a crash leaves either the run
// or trash, never half a run.
func (s *Store) remove(id string) error {
	trash := trashPrefix + id
	if err := s.runs.RemoveAll(trash); err != nil {
		return err
	}
	crash("journal.remove.rename.before")
	if err := s.runs.Rename(id, trash); err != nil {
		return err
	}
	crash("journal.remove.syncdir.before")
	if err := s.runs.Sync(); err != nil {
		return err
	}
	crash("journal.remove.unlink.before")
	return s.runs.RemoveAll(trash)
}

// sweepTrash finishes removals that a crash interrupted.
func (s *Store) sweepTrash() error {
	names, err := s.runs.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasPrefix(name, trashPrefix) {
			if err := s.runs.RemoveAll(name); err != nil {
				return err
			}
		}
	}
	return nil
}
