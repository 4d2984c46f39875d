package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// lockTimeout is how long to wait for a run whose last bridge is still ending its agents, which takes two seconds.
const lockTimeout = 5 * time.Second

// storage is the storage of a run's process: its journal in the state directory, and the locks that keep other runs
// out of the workspace.
type storage struct {
	root    string // the state directory
	store   *journal.Store
	journal *journal.Run
	options journal.Options // of the journal
	place   *journal.Lock   // of the directory; nil if it is shared
	// workspace is the lock in that directory itself; nil if it is shared or cannot be locked
	workspace *journal.WorkspaceLock
	notices   *notice // what the human should know about it
}

// openStorage opens the state directory, ends leftover processes of dead runs, and removes the oldest runs.
func openStorage(root string, options journal.Options, notices *notice) (s storage, err error) {
	s = storage{root: root, options: options, notices: notices}
	if s.store, err = journal.OpenStore(root); err != nil {
		return s, command.StateDirProblem(err)
	}
	ended := runstore.EndStrays(s.store)
	if _, err := s.store.Prune(runstore.Kept); err != nil {
		notices.add("old runs could not be removed: %v", err)
	}
	if err := s.tidy(); err != nil {
		notices.add("what old runs had left could not be removed: %v", err)
	}
	if ended != "" {
		notices.add("%s", ended)
	}
	return s, nil
}

// tidy removes what deleted or killed runs have left outside of the state directory.
func (s *storage) tidy() error {
	_, err := s.runs().Tidy()
	return err
}

func (s *storage) runs() *runstore.Runs { return &runstore.Runs{Store: s.store, Root: s.root} }

// lockPlace prevents a second run in a directory.
func (s *storage) lockPlace(dir, run string) error {
	var err error
	s.place, err = s.store.LockDir(dir, run)
	var held *journal.HeldError
	if errors.As(err, &held) {
		return command.Usagef("another run already works in %s (run %s, process %d): open it with arbiter attach, wait for "+
			"its end, use another directory (--cwd), or add --share-workspace",
			dir, command.ShortID(held.Run), held.PID)
	}
	if err != nil {
		return command.Environmentf("lock %s: %v", dir, err)
	}
	return nil
}

// lockWorkspace locks a directory against runs of other state directories, and against a copy of this run.
func (s *storage) lockWorkspace(dir string) error {
	var err error
	s.workspace, err = journal.LockWorkspace(dir)
	var held *journal.HeldError
	switch {
	case errors.As(err, &held):
		who := "a process that the system does not name"
		if held.PID != 0 {
			who = fmt.Sprintf("process %d", held.PID)
		}
		return command.Usagef("another run, of another state directory, already works in %s (%s): wait for its end, use "+
			"another directory (--cwd), or add --share-workspace", dir, who)
	case errors.Is(err, journal.ErrNoDirLock):
		s.notices.add("%s cannot be locked, so that runs of other state directories are not kept out of it: %v", dir, err)
	case err != nil:
		return command.Environmentf("%v", err)
	}
	return nil
}

// create makes the journal of a new run.
func (s *storage) create(meta journal.Meta) (err error) {
	if s.journal, err = s.store.Create(meta, s.options); err != nil {
		return command.Environmentf("journal: %v", err)
	}
	return nil
}

// update changes the metadata of the run in the journal.
func (s *storage) update(change func(*journal.Meta)) error {
	ctx, cancel := context.WithTimeout(context.Background(), lockTimeout)
	defer cancel()
	return s.journal.Update(ctx, change)
}

// finish records durably how the run has ended.
func (s *storage) finish(ctx context.Context, state *supervisor.State) error {
	err := s.journal.Sync(ctx)
	if err != nil || state.Ending == nil || !state.Ending.Said {
		return err
	}
	return s.journal.Update(ctx, func(m *journal.Meta) {
		m.CostUSD = state.Spent()
		switch status := state.Ending.Status; {
		case !state.Reached():
			m.Finished, m.Status = true, runstore.NeverBegan
		case status == contract.StatusComplete:
			m.Finished, m.Status = true, status
		default: // it may be resumed, and is kept until it is removed explicitly
			m.Status = status
		}
	})
}

// discard removes the closed run.
func (s *storage) discard(run string) error {
	if err := s.store.Remove(run); err != nil {
		return err
	}
	return s.tidy()
}

// noteSpending notes what the run has cost, as far as its events are read in time.
func (s *storage) noteSpending() {
	if s.journal.Meta().Rehearsal {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockTimeout)
	defer cancel()
	// What is not noted, the next one who adds up the costs reads.
	_, _ = s.runs().Spent(ctx, journal.Info{Meta: s.journal.Meta()}, nil)
}

// close closes the journal and releases the locks. log may be nil.
func (s *storage) close(log *slog.Logger) {
	if s.journal != nil {
		if err := s.journal.Close(); err != nil && !errors.Is(err, journal.ErrClosed) && log != nil {
			log.Warn("journal", "error", err)
		}
		s.noteSpending()
	}
	if s.workspace != nil {
		_ = s.workspace.Close() // it was only locked
	}
	if s.place != nil {
		s.place.Close()
	}
}
