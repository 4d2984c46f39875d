package host

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
)

func agent(id string, status supervisor.AgentStatus) *supervisor.Agent {
	a := new(supervisor.Agent)
	a.Status, a.AgentRef = status, bridge.AgentRef{ID: id, Generation: 1}
	return a
}

// TestChanges shows that a client has the complete state after each change, and is sent only what changed.
func TestChanges(t *testing.T) {
	one := &supervisor.State{}
	one.Options.Run, one.Budget.Runtime.Began = "run", time.Unix(1000, 0).UTC()
	one.Agents = []*supervisor.Agent{agent("arbiter", supervisor.AgentReady), agent("orch-1", supervisor.AgentBusy)}
	one.Question.Open = &supervisor.Question{Text: "which <one>?"}
	two := new(supervisor.State)
	*two = *one
	two.Paused, two.Question.Open = true, nil
	three := new(supervisor.State)
	*three = *two
	three.Agents = []*supervisor.Agent{
		one.Agents[0],
		agent("orch-1", supervisor.AgentReady),
		agent("orch-2", supervisor.AgentBusy),
	}
	four := new(supervisor.State)
	*four = *three
	four.Agents = three.Agents[:2]
	var s StateSender
	var r StateReceiver
	for i, x := range []struct {
		state           *supervisor.State
		members, agents int // number sent; negative: all
	}{{one, -1, 2}, {two, 2, 0}, {three, 0, 2}, {four, 0, 0}} {
		c, changed, err := s.Change(x.state)
		if err != nil || !changed {
			t.Fatalf("%d: changed %v, %v", i, changed, err)
		}
		if x.members >= 0 && len(c.Members) != x.members || len(c.Agents) != x.agents {
			t.Errorf("%d: %d members and %d agents were sent", i, len(c.Members), len(c.Agents))
		}
		wire := testkit.Must(json.Marshal(c))(t)
		var got control.StateChange
		testkit.OK(t, json.Unmarshal(wire, &got))
		state := testkit.Must(r.Apply(got))(t)
		if !reflect.DeepEqual(encodedState(t, state), encodedState(t, x.state)) {
			t.Errorf("%d: the client has\n%s\ninstead of\n%s", i, encodedState(t, state), encodedState(t, x.state))
		}
	}
	if _, changed, err := s.Change(four); changed || err != nil {
		t.Errorf("the same state again: changed %v, %v", changed, err)
	}
}

func encodedState(t *testing.T, s *supervisor.State) string {
	t.Helper()
	raw := testkit.Must(json.Marshal(s))(t)
	return string(raw)
}

// TestOtherVersion shows that the state of another version is refused.
func TestOtherVersion(t *testing.T) {
	var refused *supervisor.VersionError
	_, err := new(StateReceiver).Apply(control.StateChange{Version: supervisor.StateVersion + 1})
	if !errors.As(err, &refused) {
		t.Errorf("%v", err)
	}
	if _, err := new(StateReceiver).Apply(control.StateChange{Version: supervisor.StateVersion,
		Agents: map[int]json.RawMessage{3: json.RawMessage("{}")}}); err == nil {
		t.Error("an agent beyond the count was taken")
	}
}
