package host

// This file sends the state of a run to its clients: first the complete state, and then the members that
// changed. The format is that of a snapshot of the run.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// agents is the member that is sent agent by agent: it is the largest, and usually only one of many agents changes.
const agents = "Agents"

// StateSender remembers what was sent to a client. Only one goroutine uses it.
type StateSender struct {
	state   *supervisor.State
	members map[string]json.RawMessage
	agents  []json.RawMessage
}

// Change returns the difference between a state and the one that the client has. It returns false if there is none.
func (s *StateSender) Change(now *supervisor.State) (control.StateChange, bool, error) {
	c := control.StateChange{Version: supervisor.StateVersion}
	if now == s.state {
		return c, false, nil
	}
	raw, err := jsonl.Marshal(now)
	if err != nil {
		return c, false, fmt.Errorf("encode state: %w", err)
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &members); err != nil {
		return c, false, fmt.Errorf("encode state: %w", err)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(members[agents], &list); err != nil {
		return c, false, fmt.Errorf("encode state: agents: %w", err)
	}
	delete(members, agents)
	c.Members, c.Agents, c.AgentCount = map[string]json.RawMessage{}, map[int]json.RawMessage{}, len(list)
	for name, value := range members {
		if !bytes.Equal(value, s.members[name]) {
			c.Members[name] = value
		}
	}
	for name := range s.members {
		if _, there := members[name]; !there { // it has its zero value, which is omitted
			c.Members[name] = json.RawMessage("null")
		}
	}
	for i, value := range list {
		if i >= len(s.agents) || !bytes.Equal(value, s.agents[i]) {
			c.Agents[i] = value
		}
	}
	changed := s.state == nil || len(c.Members)+len(c.Agents) > 0 || len(list) != len(s.agents)
	s.state, s.members, s.agents = now, members, list
	return c, changed, nil
}

// StateReceiver rebuilds states from what a Sender sent. Only one goroutine uses it.
type StateReceiver struct {
	members map[string]json.RawMessage
	agents  []json.RawMessage
}

// Apply returns the state after a change. It shares no memory with earlier states. An error means that the sender
// has another version of arbiter.
func (r *StateReceiver) Apply(c control.StateChange) (*supervisor.State, error) {
	if c.Version != supervisor.StateVersion {
		return nil, &supervisor.VersionError{Found: c.Version, Known: supervisor.StateVersion}
	}
	if r.members == nil {
		r.members = map[string]json.RawMessage{}
	}
	maps.Copy(r.members, c.Members)
	list := make([]json.RawMessage, c.AgentCount)
	copy(list, r.agents)
	for i, value := range c.Agents {
		if i < 0 || i >= len(list) {
			return nil, fmt.Errorf("decode state: agent %d of %d", i, len(list))
		}
		list[i] = value
	}
	r.agents = list
	whole := maps.Clone(r.members)
	var err error
	if whole[agents], err = json.Marshal(list); err != nil {
		return nil, fmt.Errorf("decode state: agents: %w", err)
	}
	raw, err := json.Marshal(whole)
	if err != nil {
		return nil, fmt.Errorf("decode state: %w", err)
	}
	state := new(supervisor.State)
	if err := json.Unmarshal(raw, state); err != nil {
		return nil, fmt.Errorf("decode state: %w", err)
	}
	return state, nil
}
