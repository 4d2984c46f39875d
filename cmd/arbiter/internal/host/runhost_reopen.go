package host

import (
	"errors"

	"github.com/arbiter-cli/arbiter/bridge/crashpoint"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// reopen locks a run, whose last bridge may still be ending its agents, and restores its state.
func (s *storage) reopen(run string) (*supervisor.State, error) {
	var resumed *supervisor.State
	restore := func(found *journal.Recovered) ([]byte, error) {
		state, snapshot, err := supervisor.Restore(found, supervisor.LogItems)
		resumed = &state
		return snapshot, err
	}
	opened, recovery, err := s.store.Open(run, lockTimeout, s.options, restore)
	var held *journal.HeldError
	if errors.As(err, &held) && held.Gone {
		// Its arbiter is dead, and its bridge has not ended in time.
		if n := proctree.Sweep(run, ""); n > 0 {
			s.notices.add("ended processes that still held the run's lock: %s", words.Count(n, "process"))
		}
		opened, recovery, err = s.store.Open(run, lockTimeout, s.options, restore)
	}
	var version *journal.VersionError
	var state *supervisor.VersionError
	switch {
	case errors.As(err, &held):
		return nil, runstore.PlayedElsewhere(run, held.PID)
	case errors.As(err, &version), errors.As(err, &state):
		return nil, command.Environmentf("run %s was written by another version of arbiter: %v; it was not changed",
			command.ShortID(run), err)
	case err != nil:
		return nil, command.Environmentf("run %s cannot be resumed: %v (its journal was not changed)",
			command.ShortID(run), err)
	}
	s.journal = opened
	crashpoint.Here("resume.locked")
	// The last bridge may have held the run until just now. In that case it was spared when the strays of dead runs
	// were ended.
	if n := proctree.Sweep(run, ""); n > 0 {
		s.notices.add("ended processes that the previous process of this run left behind: %s", words.Count(n, "process"))
	}
	s.reportDamage(recovery)
	return resumed, nil
}

// reportDamage adds a notice about lost parts of the journal.
func (s *storage) reportDamage(recovery journal.Recovery) {
	for _, d := range recovery.Damage {
		if !d.Torn && !d.Mended { // a crash leaves a torn end, which has no accepted input
			s.notices.add("the journal was damaged: %s; the rest (%d bytes, %d whole records) was moved to %s", d.Reason,
				d.Bytes, d.Readable, s.journal.Dir())
		}
	}
	if recovery.MetaLost != "" {
		s.notices.add("the run's description was lost (%s) and created again", recovery.MetaLost)
	}
}
