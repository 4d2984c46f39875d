package supervisor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// StateVersion is the version of [State] as a snapshot holds it. Raise it with every change that makes older
// snapshots wrong: a field that means something else, or a new field that must not be zero.
const StateVersion = 20

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
	State     State
	Seq       uint64           // of the last event in the log
	Unwritten []UnwrittenItems // oldest first

	// Waiting are steps whose events wait for the disk: Encode adds them to Unwritten. It is only read.
	Waiting []Waiting
}

// Waiting is what a step reports once its input is on disk.
type Waiting struct {
	At    time.Time
	Input uint64 // the number of the input; 0: it is not recorded
	Items []LogItem
}

// UnwrittenItems is what an input leads to and the event log does not have yet. The numbers of its events are not
// known.
type UnwrittenItems struct {
	Input uint64
	At    time.Time
	Lines []UnwrittenLine
}

// UnwrittenLine is an event as a line without a number, or a record.
type UnwrittenLine struct {
	Line   json.RawMessage `json:",omitempty"`
	Record json.RawMessage `json:",omitempty"`
}

// encoded is a snapshot as one JSON object.
type encoded struct {
	Version        int              `json:"v"`
	Seq            uint64           `json:"seq,omitempty"`
	UnwrittenItems []UnwrittenItems `json:"unwritten,omitempty"`
	State          json.RawMessage  `json:"state"`
}

// Encode encodes a snapshot; decodeSnapshot decodes it.
func (s Snapshot) Encode() ([]byte, error) {
	e := encoded{Version: StateVersion, Seq: s.Seq, UnwrittenItems: s.Unwritten}
	for _, u := range s.Waiting {
		if u.Input == 0 || len(u.Items) == 0 {
			continue
		}
		unwritten := UnwrittenItems{Input: u.Input, At: u.At}
		for _, x := range u.Items {
			line, err := new(LogEncoder).Content(u.Input, u.At, x)
			if err != nil {
				return nil, err
			}
			event := bytes.TrimSuffix(line.Line, []byte("\n"))
			unwritten.Lines = append(unwritten.Lines, UnwrittenLine{event, line.Record})
		}
		e.UnwrittenItems = append(e.UnwrittenItems, unwritten)
	}
	var err error
	if e.State, err = jsonl.Marshal(s.State); err != nil {
		return nil, fmt.Errorf("encode state: %w", err)
	}
	raw, err := jsonl.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode state: %w", err)
	}
	return raw, nil
}

// decodeSnapshot decodes an encoded snapshot. It returns *VersionError for another version.
func decodeSnapshot(raw []byte) (Snapshot, error) {
	var e encoded
	if err := json.Unmarshal(raw, &e); err != nil {
		return Snapshot{}, fmt.Errorf("decode state: %w", err)
	}
	if e.Version != StateVersion {
		return Snapshot{}, &VersionError{Found: e.Version, Known: StateVersion}
	}
	s := Snapshot{Seq: e.Seq, Unwritten: e.UnwrittenItems}
	if err := json.Unmarshal(e.State, &s.State); err != nil {
		return Snapshot{}, fmt.Errorf("decode state: %w", err)
	}
	return s, nil
}

// items returns the unwritten events as a step publishes them.
func (u UnwrittenItems) items() (list []LogItem, err error) {
	for _, line := range u.Lines {
		if line.Record != nil {
			list = append(list, LogItem{Record: line.Record})
			continue
		}
		e, err := contract.DecodeLine(line.Line)
		if err != nil {
			return nil, fmt.Errorf("decode state: an event of input %d: %w", u.Input, err)
		}
		list = append(list, LogItem{Event: e.Event})
	}
	return list, nil
}

// LogItem is what the event log records of one step of a run: an event, or a record that no frontend receives. Its
// Event has no body where Record is set.
type LogItem struct {
	Event  contract.Event
	Record json.RawMessage
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
