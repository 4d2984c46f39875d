package supervisor

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// StateVersion is the version of [State] as a snapshot holds it. Raise it with every change
// that a snapshot of before does not survive: a field that means something else, or one
// that is missing there and must not be zero.
const StateVersion = 1

// VersionError refuses a snapshot of another version of [State].
type VersionError struct{ Found, Known int }

func (e *VersionError) Error() string {
	whose := "an older"
	if e.Found > e.Known {
		whose = "a newer"
	}
	return fmt.Sprintf("its state has version %d, of %s arbiter; this one knows version %d. Resume it with the arbiter that wrote it; "+
		"arbiter replay and arbiter logs show what happened in it", e.Found, whose, e.Known)
}

// snapshot is a state as the journal keeps it, one JSON object.
type snapshot struct {
	Version int    `json:"v"`
	State   *State `json:"state"`
}

// EncodeState encodes a state for a snapshot, so that DecodeState returns an equal one.
func EncodeState(s *State) ([]byte, error) {
	raw, err := marshal(snapshot{StateVersion, s})
	if err != nil {
		return nil, fmt.Errorf("encode state: %w", err)
	}
	return raw, nil
}

// DecodeState decodes what EncodeState encoded. *VersionError refuses another version.
func DecodeState(raw []byte) (State, error) {
	version, rest, ok := bytes.Cut(raw, []byte(`,"state":`))
	if !ok {
		return State{}, fmt.Errorf("decode state: %.40q is no snapshot", raw)
	}
	var s snapshot
	if err := json.Unmarshal(append(bytes.Clone(version), '}'), &s); err != nil {
		return State{}, fmt.Errorf("decode state: %w", err)
	}
	if s.Version != StateVersion {
		return State{}, &VersionError{Found: s.Version, Known: StateVersion}
	}
	var state State
	if err := json.Unmarshal(bytes.TrimSuffix(rest, []byte("}")), &state); err != nil {
		return State{}, fmt.Errorf("decode state: %w", err)
	}
	return state, nil
}
