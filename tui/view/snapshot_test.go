package view

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

// An agent's activity is named as on all other screens: without the prefix of an MCP server.
func TestAgentLine(t *testing.T) {
	for _, tt := range []struct{ doing, want string }{
		{"Bash", "Bash"},
		{"mcp__arbiter__spawn_orchestrator", "spawn_orchestrator"},
		{"mcp__loom__spin", "loom: spin"},
		{"Look for \x1b[31mnames", "Look for names"},
	} {
		a := supervisor.Agent{AgentIdentity: supervisor.AgentIdentity{Role: supervisor.RoleOrchestrator},
			AgentProcess: supervisor.AgentProcess{Status: supervisor.AgentBusy},
			AgentTurn:    supervisor.AgentTurn{ToolCall: &supervisor.RunningTool{Tool: tt.doing}}}
		if got := AgentRow(&supervisor.State{}, &a, Work{}, time.Now()).Doing; got != tt.want {
			t.Errorf("%q is shown as %q, want %q", tt.doing, got, tt.want)
		}
	}
	gone := supervisor.Agent{AgentIdentity: supervisor.AgentIdentity{Role: supervisor.RoleArbiter},
		AgentProcess: supervisor.AgentProcess{Status: supervisor.AgentEnded}}
	if !AgentRow(&supervisor.State{}, &gone, Work{}, time.Now()).Past {
		t.Error("an Arbiter that is gone is shown as one that lives")
	}
}

// An agent that is instructed to be quiet is shown as quiet until it shows another sign of work.
func TestQuietAgent(t *testing.T) {
	now := time.Now()
	s := &supervisor.State{}
	s.Options.QuietAfter = 5 * time.Minute
	a := supervisor.Agent{AgentIdentity: supervisor.AgentIdentity{Role: supervisor.RoleOrchestrator},
		AgentProcess: supervisor.AgentProcess{Status: supervisor.AgentBusy, Since: now.Add(-time.Hour),
			Watch: supervisor.AgentWatch{Silent: true}}}
	for seen, want := range map[time.Duration]bool{6 * time.Minute: true, time.Minute: false} {
		w := Work{AgentActivity: eventtext.AgentActivity{Seen: now.Add(-seen)}}
		if line := AgentRow(s, &a, w, now); (line.State == "quiet") != want {
			t.Errorf("heard of %s ago, it is %q", seen, line.State)
		}
	}
}

// A step, or an agent's own task, may have any length; it is drawn with each frame.
func TestStepsAreShort(t *testing.T) {
	s := &supervisor.State{
		Task: supervisor.TaskState{
			AgentTasks: []contract.Tasks{{Agent: "orch-1",
				Items: []contract.Step{{Text: strings.Repeat("長い ", 400_000), Status: "active"},
					{Text: "\x1b[1mshort\x1b[m"}}}}}}
	for _, list := range [][]PageStep{SnapshotSteps(s, s.Task.AgentTasks[0].Items), SnapshotTasks(s)[0].Items} {
		if long := list[0].Text; len(long) > 5000 || !strings.HasSuffix(long, "…") ||
			!strings.HasPrefix(long, "長い 長い") || !utf8.ValidString(long) || strings.Contains(long, "\ufffd") ||
			list[1].Text != "short" {
			t.Errorf("%d bytes, ending in %q", len(long), long[max(len(long)-20, 0):])
		}
	}
}

// TestModels: Claude Code's report comes first, and unknown values are shown as unknown.
func TestModels(t *testing.T) {
	s := &supervisor.State{}
	s.Options.Model = "claude-opus-9"
	s.Agents = []*supervisor.Agent{{AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: "arbiter"}},
		AgentProcess: supervisor.AgentProcess{Status: supervisor.AgentBusy}}}
	used := []contract.ModelCost{{Model: "claude-sonnet-4-5-20250929", CostUSD: 1.5, Window: 200_000},
		{Model: "evil\x1b[31m\nmodel", CostUSD: 0.25, Window: 1_000_000}}
	list := SnapshotModels(s, used)
	for i, want := range []string{
		"claude-sonnet-4-5-20250929: $3 in, $15 out; 200k window; $1.50 here",
		"evil model: price unknown; 1M window; $0.25 here",
		"claude-opus-9: price unknown; window unknown; in use",
		"opus: price unknown; window unknown",
	} {
		if got := list[i].Name + ": " + list[i].About(); got != want {
			t.Errorf("model %d is %q, want %q", i, got, want)
		}
	}
	if text := ModelsText(nil, nil); !strings.Contains(text, "claude-haiku-4-5: $1 in, $5 out") ||
		!strings.Contains(text, PricesOf) {
		t.Errorf("without a run: %s", text)
	}
}

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
	want := `- **The Arbiter**: waits, for 40 s.
- **Orchestrator I** (developer): Read header/header.go, for 12 s; context 34 %, $0.41.
- **Orchestrator II**: Look there, for 30 s.
  - Look here: done, for 20 s, 18k tokens
  - Look there: Grep ReadHeader, for 30 s, 36k tokens
- **Orchestrator III**: API overloaded, again in 0:24, attempt 2.
- **Orchestrator V**: writes: And these are the words.
- **Orchestrator VI**: permission?: Bash rm -rf build, for 9 s.

Permission mode: ask.`
	testkit.Same(t, "", want, Now(s, func(id string) Work { return work[id] }, now))
	if got := Now(nil, nil, now); got != "There is no run yet." {
		t.Errorf("before a run: %q", got)
	}
}

// TestQuotaInTheStatusLine: the fullest window, how long it lasts if it is nearly used up, and why nothing is sent.
func TestQuotaInTheStatusLine(t *testing.T) {
	noon := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	s := &supervisor.State{}
	if d := SnapshotStatus(s, noon); d.Quota != "" || d.Scarce {
		t.Errorf("told of %q where nothing is known", d.Quota)
	}
	s.Budget.Read("seven_day", 30, noon.Add(48*time.Hour), noon)
	s.Budget.Read("five_hour", 50, noon.Add(3*time.Hour), noon)
	if d := SnapshotStatus(s, noon); d.Quota != "plan 50 %" || d.Scarce {
		t.Errorf("%q, scarce %v", d.Quota, d.Scarce)
	}
	s.Budget.Read("five_hour", 81, noon.Add(3*time.Hour), noon.Add(31*time.Minute))
	if d := SnapshotStatus(s, noon.Add(31*time.Minute)); d.Quota != "plan 81 %, 19 min left" || !d.Scarce {
		t.Errorf("%q, scarce %v", d.Quota, d.Scarce)
	}
	s.Budget.HeldUntil = noon.Add(3 * time.Hour)
	if d := SnapshotStatus(s, noon); !strings.Contains(d.Word, "until Sat 15:00") {
		t.Errorf("the word is %q", d.Word)
	}
	if d := SnapshotStatus(s, noon.Add(4*time.Hour)); d.Quota != "plan 30 %" {
		t.Errorf("after the reset: %q", d.Quota)
	}
}
