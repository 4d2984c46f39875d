package supervisor

import (
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// run has an Arbiter and one Orchestrator in its second generation.
func run() *State {
	agent := func(id string, role Role) *Agent {
		return &Agent{AgentIdentity: AgentIdentity{AgentRef: bridge.AgentRef{ID: id, Generation: 2},
			Role: role, SessionID: "s-" + id}}
	}
	return &State{
		Roster: Roster{Spawned: 3, Agents: []*Agent{
			agent(contract.Arbiter, RoleArbiter), agent("orch-3", RoleOrchestrator),
		}},
	}
}

func event(id string, generation int) input.Body {
	return input.AgentEvent{Event: bridge.Event{AgentRef: bridge.AgentRef{ID: id, Generation: generation},
		Body: bridge.Notice{Text: "n"}}}
}

// TestOrigin: the pipe determines who an input is from; a late input names no session.
func TestOrigin(t *testing.T) {
	for name, c := range map[string]struct {
		body input.Body
		want input.Origin
	}{
		"an agent":    {event("orch-3", 2), input.Origin{By: "orch-3", Session: "s-orch-3", Gen: 2}},
		"a late word": {event("orch-3", 1), input.Origin{By: "orch-3", Gen: 1}},
		"nobody":      {event("orch-9", 1), input.Origin{By: input.Unknown}},
		"a human": {input.Command{Channel: input.ChannelStdin},
			input.Origin{By: contract.Human, Channel: input.ChannelStdin}},
		"another pipe":   {input.Command{Channel: "x"}, input.Origin{By: input.Unknown}},
		"the supervisor": {input.Timer{Key: "timeout"}, input.Origin{By: contract.Supervisor}},
	} {
		if got := run().Origin(c.body); got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestUnknown: an input of an agent that ended long ago is not reported; one of an agent that never existed, or
// does not exist yet, is.
func TestUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		body  input.Body
		named bool
		known bool
	}{
		"known":            {event("orch-3", 1), false, true},
		"forgotten":        {event("orch-1", 1), false, false},
		"never summoned":   {event("orch-4", 1), true, false},
		"a generation off": {event("orch-3", 3), true, false},
	} {
		if why, named := run().UnknownSender(c.body, ""); (why == "") != c.known || named != c.named {
			t.Errorf("%s: %q, %v", name, why, named)
		}
	}
}

// TestMayWrite: Orchestrators may write only to the Arbiter.
func TestMayWrite(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"orch-3", contract.Arbiter, true}, {"orch-3", "orch-3", false}, {contract.Human, "orch-3", true},
		{contract.Arbiter, "orch-3", true}, {"orch-9", contract.Arbiter, false}, {contract.Human, "orch-9", false},
	} {
		if got := run().mayWrite(c.from, c.to); got != c.want {
			t.Errorf("%s to %s: %v", c.from, c.to, got)
		}
	}
}
