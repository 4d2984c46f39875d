package supervisor

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// Fold makes the state of a run from its journal. Nothing is done about what the
// records lead to: that was done, or will be reconciled. Records that only tell are
// left out.
type Fold struct {
	State   State
	Records int
}

// Take folds one record.
func (f *Fold) Take(r journal.Record) error {
	if r.Kind == journal.Narration {
		return nil
	}
	_, err := f.Replay(r)
	return err
}

// Replay folds one record of any kind and returns its input with the effects it had.
func (f *Fold) Replay(r journal.Record) (happened Replayed, err error) {
	in, err := DecodeInput(r.Payload)
	if err != nil {
		return happened, fmt.Errorf("record %d: %w", r.Seq, err)
	}
	defer func() {
		// What a version cannot fold ends the fold, and not the program: the
		// journal stays as it is for one that can.
		if p := recover(); p != nil {
			err = fmt.Errorf("record %d (%T) cannot be folded: %v", r.Seq, in.Fact, p)
		}
	}()
	state, effects := Apply(f.State, in)
	f.State = state
	f.Records++
	return Replayed{Input: in, Effects: effects}, nil
}

// Replayed is one step of a run's history.
type Replayed struct {
	Input   Input
	Effects []Effect
}
