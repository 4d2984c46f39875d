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
