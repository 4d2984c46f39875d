package supervisor

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/journal/eventlog"
)

// Told is what the event log takes up of one step of a run: an event, or a record that no
// frontend is told. Its Event has no body where Record is set.
type Told struct {
	Event  contract.Event
	Record json.RawMessage
}

// Teller says what the event log takes up of a step, in the order in which it happened:
// before and after are the states around it. It is a pure function, so that what was not
// written before a crash can be made again.
type Teller func(before *State, step Replayed, after *State) []Told

// TellEvents is the Teller of a run whose log has nothing but events.
func TellEvents(_ *State, step Replayed, _ *State) (told []Told) {
	for _, e := range step.Effects {
		if emit, ok := e.(effect.Emit); ok {
			told = append(told, Told{Event: emit.Event})
		}
	}
	return told
}

// Telling counts the events that the log takes up: those of each process that plays the run
// from its `session` event on.
type Telling struct{ Seq uint64 }

// Content is what the log holds of something told.
func (t *Telling) Content(input uint64, at time.Time, x Told) (eventlog.Content, error) {
	c := eventlog.Content{Input: input, At: at, Record: x.Record}
	if x.Record != nil {
		return c, nil
	}
	if _, session := x.Event.Body.(contract.Session); session {
		t.Seq = 0
	}
	line, err := contract.EncodeLine(nil, t.Seq+1, at, x.Event)
	if err != nil {
		return c, fmt.Errorf("tell of input %d: %w", input, err)
	}
	t.Seq++
	c.Line = line
	return c, nil
}
