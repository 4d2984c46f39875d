package supervisor

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// StateVersion is the version of [State] as a snapshot holds it. Raise it with every change that makes older
// snapshots wrong: a field that means something else, or a new field that must not be zero.
const StateVersion = 26

// VersionError refuses a snapshot of another version of [State].
type VersionError struct{ Found, Known int }

func (e *VersionError) Error() string {
	whose := "an older"
	if e.Found > e.Known {
		whose = "a newer"
	}
	return fmt.Sprintf("its state has version %d, of %s arbiter; this one knows version %d. Resume it with the "+
		"arbiter that wrote it; "+
		"arbiter replay and arbiter logs show what happened in it", e.Found, whose, e.Known)
}

// Snapshot is a state as the journal keeps it, with what the event log still lacks of the inputs applied to it:
// effects and events wait until their input is durable.
type Snapshot struct {
	Version int       `json:"v"`                   // Encode sets it
	Seq     uint64    `json:"seq,omitempty"`       // of the last event in the log
	Waiting []Waiting `json:"unwritten,omitempty"` // oldest first; it is only read
	State   State     `json:"state"`
}

// Waiting is what a step reports once its input is on disk.
type Waiting struct {
	At    time.Time
	Input uint64 // the number of the input; 0: it is not recorded
	Items []LogItem
}

// Encode encodes a snapshot; decodeSnapshot decodes it.
func (s Snapshot) Encode() ([]byte, error) {
	s.Version = StateVersion
	s.Waiting = slices.DeleteFunc(slices.Clone(s.Waiting),
		func(u Waiting) bool { return u.Input == 0 || len(u.Items) == 0 })
	raw, err := jsonl.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode state: %w", err)
	}
	return raw, nil
}

// decodeSnapshot decodes an encoded snapshot. It returns *VersionError for another version.
func decodeSnapshot(raw []byte) (s Snapshot, err error) {
	var of struct {
		Version int `json:"v"`
	}
	err = json.Unmarshal(raw, &of)
	switch {
	case err != nil:
	case of.Version != StateVersion: // the rest may not fit
		return s, &VersionError{Found: of.Version, Known: StateVersion}
	default:
		err = json.Unmarshal(raw, &s)
	}
	if err != nil {
		return Snapshot{}, fmt.Errorf("decode state: %w", err)
	}
	return s, nil
}

// LogItem is what the event log records of one step of a run: an event, or a record that no frontend receives. Its
// Event has no body where Record is set.
type LogItem struct {
	Event  contract.Event
	Record json.RawMessage
}

// itemJSON is an item in a snapshot: an event as a line, whose number and time are not known yet, or a record.
type itemJSON struct {
	Line   json.RawMessage `json:",omitempty"`
	Record json.RawMessage `json:",omitempty"`
}

// MarshalJSON encodes an item for a snapshot.
func (x LogItem) MarshalJSON() ([]byte, error) {
	raw := itemJSON{Record: x.Record}
	if x.Record == nil {
		line, err := contract.EncodeLine(nil, 1, time.Time{}, x.Event)
		if err != nil {
			return nil, err
		}
		raw.Line = line
	}
	return jsonl.Marshal(raw)
}

// UnmarshalJSON decodes an item of a snapshot.
func (x *LogItem) UnmarshalJSON(data []byte) error {
	var raw itemJSON
	if err := json.Unmarshal(data, &raw); err != nil || raw.Record != nil {
		x.Record = raw.Record
		return err
	}
	line, err := contract.DecodeLine(raw.Line)
	x.Event = line.Event
	return err
}

// EventRecorder returns what the event log records of a step, in the order in which it happened: before and
// after are the states around it. It is a pure function, so that records that a crash kept from being written
// can be made again.
type EventRecorder func(before *State, step Replayed, after *State) []LogItem

// RecordEvents is the [EventRecorder] of a run whose log holds only events.
func RecordEvents(_ *State, step Replayed, _ *State) (items []LogItem) {
	for _, e := range step.Effects {
		if emit, ok := e.(input.Emit); ok {
			items = append(items, LogItem{Event: emit.Event})
		}
	}
	return items
}

// LogEncoder encodes items for the event log, and numbers the events: those of each process of the run from its
// `session` event on.
type LogEncoder struct{ Seq uint64 }

// Content returns the log's content for an event or record.
func (t *LogEncoder) Content(input uint64, at time.Time, x LogItem) (journal.LogContent, error) {
	c := journal.LogContent{Input: input, At: at, Record: x.Record}
	if x.Record != nil {
		return c, nil
	}
	if _, session := x.Event.Body.(contract.Session); session {
		t.Seq = 0
	}
	line, err := contract.EncodeLine(nil, t.Seq+1, at, x.Event)
	if err != nil {
		return c, fmt.Errorf("log an event of input %d: %w", input, err)
	}
	t.Seq++
	c.Line = line
	return c, nil
}

// Replayed is one step of a run's history.
type Replayed struct {
	Input   input.Input
	Effects []input.Effect
}
