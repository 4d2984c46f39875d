package view

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

// TestNow: the text says the same as the tiles.
func TestNow(t *testing.T) {
	now := time.Date(2000, 1, 1, 0, 1, 0, 0, time.UTC)
	agent := func(id, name string, change func(a *supervisor.Agent)) *supervisor.Agent {
		a := &supervisor.Agent{}
		a.ID, a.Name, a.Role, a.Status = id, name, supervisor.RoleOrchestrator, supervisor.AgentBusy
		a.Since = now.Add(-40 * time.Second)
		change(a)
		return a
	}
	s := &supervisor.State{Options: runconfig.Options{CWD: "/loom", Permissions: "ask"}}
	s.Agents = []*supervisor.Agent{
		agent(
			"arbiter",
			"The Arbiter",
			func(a *supervisor.Agent) { a.Role, a.Status = supervisor.RoleArbiter, supervisor.AgentReady },
		),
		agent("orch-1", "Orchestrator I", func(a *supervisor.Agent) {
			a.Mode, a.CostUSD, a.Context = "developer", 0.41, bridge.Context{Tokens: 68_000, Window: 200_000, Pct: 34}
		}),
		agent("orch-2", "Orchestrator II", func(*supervisor.Agent) {}),
		agent("orch-3", "Orchestrator III", func(a *supervisor.Agent) {
			a.Backoff = &supervisor.AgentBackoff{Category: bridge.CatOverloaded, Attempt: 2, Until: now.Add(24 * time.Second)}
		}),
		agent("orch-4", "Orchestrator IV", func(a *supervisor.Agent) { a.Status = supervisor.AgentEnded }),
		agent("orch-5", "Orchestrator V", func(*supervisor.Agent) {}),
		agent("orch-6", "Orchestrator VI", func(*supervisor.Agent) {}),
	}
	s.Permission.Open = []input.PermissionRequest{{ID: "p", At: now.Add(-9 * time.Second),
		Params: bridge.PermissionParams{AgentRef: s.Agents[6].AgentRef, Tool: "Bash",
			Input: []byte(`{"command":"rm -rf build"}`)}}}
	work := map[string]Work{
		"orch-1": {
			AgentActivity: eventtext.AgentActivity{Items: []eventtext.ActivityItem{{At: now.Add(-12 * time.Second), Tool: "Read",
				Summary: "/loom/header/header.go"}}},
		},
		"orch-2": {AgentActivity: eventtext.AgentActivity{Subagents: []eventtext.SubagentActivity{
			{ID: "a", Name: "Look here", Began: now.Add(-30 * time.Second), Ended: now.Add(-10 * time.Second),
				Tokens: 18_000},
			{ID: "b", Name: "Look there", Began: now.Add(-30 * time.Second), Tokens: 36_000,
				Doing: eventtext.ActivityItem{Tool: "Grep", Summary: "ReadHeader"}},
		}}},
		"orch-5": {Writing: "One line.\nAnd these are the words"},
	}
	want := `- **The Arbiter**: listens, for 40 s.
- **Orchestrator I** (developer): Read header/header.go, for 12 s; context 34 %, $0.41.
- **Orchestrator II**: Look there, for 30 s.
  - Look here: done, for 20 s, 18k tokens
  - Look there: Grep ReadHeader, for 30 s, 36k tokens
- **Orchestrator III**: API overloaded, again in 0:24, attempt 2.
- **Orchestrator V**: writes: And these are the words.
- **Orchestrator VI**: asks leave: Bash rm -rf build, for 9 s.

Permission mode: ask.`
	if diff := cmp.Diff(want, Now(s, func(id string) Work { return work[id] }, now)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Now(nil, nil, now); got != "There is no run yet." {
		t.Errorf("before a run: %q", got)
	}
}
