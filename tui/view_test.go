package tui

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/task"
	"github.com/arbiter-cli/arbiter/tui/pages"
)

// What an agent does is named as everywhere else: without the wrapping of a server.
func TestAgentLine(t *testing.T) {
	for _, tt := range []struct{ doing, want string }{
		{"Bash", "Bash"},
		{"mcp__arbiter__spawn_orchestrator", "spawn_orchestrator"},
		{"mcp__loom__spin", "loom: spin"},
		{"Look for \x1b[31mnames", "Look for names"},
	} {
		a := roster.Agent{AgentIdentity: roster.AgentIdentity{Role: roster.RoleOrchestrator}, AgentProcess: roster.AgentProcess{Status: roster.Busy}, AgentTurn: roster.AgentTurn{CurrentTool: tt.doing}}
		if got := agentLine(&supervisor.State{}, &a, time.Now()).Doing; got != tt.want {
			t.Errorf("%q is shown as %q, want %q", tt.doing, got, tt.want)
		}
	}
	gone := roster.Agent{AgentIdentity: roster.AgentIdentity{Role: roster.RoleArbiter}, AgentProcess: roster.AgentProcess{Status: roster.Ended}}
	if !agentLine(&supervisor.State{}, &gone, time.Now()).Past {
		t.Error("an Arbiter that is gone is shown as one that lives")
	}
}

// A step, or an agent's own task, may be of any length; it is drawn with each picture.
func TestStepsAreShort(t *testing.T) {
	s := &supervisor.State{Task: task.State{AgentTasks: []contract.Tasks{{Agent: "orch-1", Items: []contract.Step{{Text: strings.Repeat("長い ", 400_000), Status: "active"}, {Text: "\x1b[1mshort\x1b[m"}}}}}}
	for _, list := range [][]pages.Step{steps(s, s.Task.AgentTasks[0].Items), tasks(s)[0].Items} {
		if long := list[0].Text; len(long) > 5000 || !strings.HasSuffix(long, "…") || !strings.HasPrefix(long, "長い 長い") || !utf8.ValidString(long) || strings.Contains(long, "\ufffd") || list[1].Text != "short" {
			t.Errorf("%d bytes, ending in %q", len(long), long[max(len(long)-20, 0):])
		}
	}
}

// TestTakenOverIsNotBeingStopped: what was accepted is not told any more when it is done.
func TestTakenOverIsNotBeingStopped(t *testing.T) {
	play(t, 100, 30, nil, func(s *scene) {
		s.weave()
		attach := func(p *puppet) {
			p.do(input.Commanded{Command: contract.Command{Ref: "s1", Body: contract.Attach{ID: "orch-1"}}, Channel: input.ChannelSocket})
		}
		s.does(attach)
		if text := s.Text(); !strings.Contains(text, "is being stopped") {
			t.Fatalf("nothing tells of it:\n%s", text)
		}
		s.does(func(p *puppet) {
			p.do(input.Surveyed{Serial: p.agent("orch-1").Takeover.Serial, Result: bridge.InspectResult{Mark: &bridge.InspectMark{AtMS: 1}}})
			p.do(input.PTYOpened{Agent: p.agent("orch-1").AgentRef})
		})
		if text := s.Text(); strings.Contains(text, "is being stopped") || !strings.Contains(text, "in your hands") {
			t.Errorf("the session is open:\n%s", text)
		}
	})
}
