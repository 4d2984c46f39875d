package supervisor

import (
	"fmt"
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

// Replayer computes the state of a run from its journal: from a snapshot, and the inputs after it. It does not
// carry out the effects of these inputs: they were carried out, or will be reconciled.
type Replayer struct {
	State   State
	Records int // the number of the last input

	snapshot Snapshot // the snapshot that it began with, without its state
}

// Take applies one record.
func (f *Replayer) Take(r journal.Record) error {
	if r.Kind == journal.Snapshot {
		s, err := decodeSnapshot(r.Payload)
		if err != nil {
			return fmt.Errorf("the snapshot of record %d: %w", r.Seq, err)
		}
		f.State, f.Records = s.State, int(r.Seq)
		s.State = State{}
		f.snapshot = s
		return nil
	}
	_, err := f.Replay(r)
	return err
}

// Replay applies one input and returns it with the effects it had.
func (f *Replayer) Replay(r journal.Record) (happened Replayed, err error) {
	in, err := input.DecodeInput(r.Payload)
	if err != nil {
		return happened, fmt.Errorf("record %d: %w", r.Seq, err)
	}
	defer func() {
		// An input that this version cannot apply ends the replay, not the program: the journal stays as it is
		// for a version that can.
		if p := recover(); p != nil {
			err = fmt.Errorf("record %d (%T) cannot be applied: %v", r.Seq, in.Body, p)
		}
	}()
	state, effects := Apply(f.State, in)
	f.State = state
	f.Records = int(r.Seq)
	return Replayed{Input: in, Effects: effects}, nil
}

// Restore computes the state of a run from what its journal recovered, and adds to the event log the events
// that a crash kept from being written. It also returns the snapshot to continue from.
func Restore(r *journal.Recovered, record EventRecorder) (State, []byte, error) {
	var replayer Replayer
	var encoder LogEncoder
	if r.Event.Line != nil {
		e, err := contract.DecodeLine(r.Event.Line)
		if err != nil {
			return State{}, nil, fmt.Errorf("the last event of the event log: %w", err)
		}
		encoder.Seq = e.Seq
	}
	// missing adds those lines of an input that the log does not have.
	missing := func(input uint64, at time.Time, items []LogItem) error {
		has := 0
		switch {
		case input < r.LastLogged.Input:
			return nil
		case input == r.LastLogged.Input:
			has = min(r.Lines, len(items))
		}
		for _, x := range items[has:] {
			line, err := encoder.Content(input, at, x)
			if err == nil {
				err = r.AppendEvents(line)
			}
			if err != nil {
				return fmt.Errorf("the events of record %d: %w", input, err)
			}
		}
		return nil
	}
	err := r.Records(func(x journal.Record) error {
		if x.Kind == journal.Snapshot {
			if err := replayer.Take(x); err != nil {
				return err
			}
			if r.Event.Line == nil {
				encoder.Seq = replayer.snapshot.Seq
			}
			for _, u := range replayer.snapshot.Waiting {
				if err := missing(u.Input, u.At, u.Items); err != nil {
					return err
				}
			}
			return nil
		}
		before := replayer.State
		step, err := replayer.Replay(x)
		if err != nil {
			return err
		}
		return missing(x.Seq, step.Input.At, record(&before, step, &replayer.State))
	})
	if err == nil {
		err = replayer.State.checkRules()
	}
	if err != nil {
		return State{}, nil, err
	}
	raw, err := Snapshot{State: replayer.State, Seq: encoder.Seq}.Encode()
	return replayer.State, raw, err
}

// checkRules refuses a state that holds a permission rule which this version cannot read: calls that the rule denies
// must not run.
func (s *State) checkRules() error {
	for _, text := range slices.Concat(s.Options.Deny, s.Options.Ask, s.Options.Allow, s.Permission.Rules) {
		if _, err := policy.ParseRule(text); err != nil {
			return fmt.Errorf("its state holds a permission rule that this arbiter cannot read, %w. Resume it with "+
				"the arbiter that wrote it; arbiter replay and arbiter logs show what happened in it", err)
		}
	}
	return nil
}
