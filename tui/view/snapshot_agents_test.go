package view

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
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
