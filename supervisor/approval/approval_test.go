package approval

import (
	"slices"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/parttest"
	"github.com/arbiter-cli/arbiter/supervisor/permission"
	"github.com/arbiter-cli/arbiter/supervisor/process"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// asked is a run whose Orchestrator requests permission to run a command.
func asked(change func(*process.Context)) *process.Context {
	c := parttest.Run(runconfig.Options{})
	a := parttest.Orchestrator(c)
	c.Channel = input.ChannelStdin
	if change != nil {
		change(c)
	}
	Asked(c, input.PermissionAsked{Behavior: bridge.Ask, Action: "0123456789abcdef", Params: bridge.PermissionParams{
		AgentRef: a.AgentRef, Request: "q1", Tool: "Bash", Input: []byte(`{"command":"git push"}`)}},
		permission.Human{Present: true})
	return c
}

// TestAsked: the human is asked, unless everything is halted or the agent is ending.
func TestAsked(t *testing.T) {
	if c := asked(nil); len(c.Permission.Open) != 1 {
		t.Errorf("nobody is asked: %+v", c.Permission)
	}
	for name, change := range map[string]func(*process.Context){
		"halted": func(c *process.Context) { c.Halted = true },
		"ending": func(c *process.Context) { c.Release("orch-1", "enough", false) },
	} {
		if c := asked(change); len(c.Permission.Open) != 0 {
			t.Errorf("%s: the human is asked %+v", name, c.Permission.Open)
		}
	}
}

// TestAnswer: a denial with a rule applies from then on, and only the human's own channels can answer.
func TestAnswer(t *testing.T) {
	c := asked(nil)
	no := contract.Permit{Request: c.Permission.Open[0].ID, Behavior: bridge.Deny, Rule: "Bash(git push)",
		Scope: contract.ScopeRun}
	c.Channel = "elsewhere"
	Answer(c, "r1", no)
	if len(c.Permission.Open) != 1 || len(parttest.Emitted[contract.Rejected](c)) != 1 {
		t.Error("an answer by another channel is taken")
	}
	c.Channel = input.ChannelStdin
	answer := Exact(c.Permission, input.Command{Command: contract.Command{Body: no}})
	exact := answer.(input.Command).Command.Body.(contract.Permit)
	if exact.Action == "" {
		t.Error("the answer does not name the action that it is about")
	}
	Answer(c, "r2", exact)
	if len(c.Permission.Open) != 0 || !slices.Contains(c.Options.Deny, no.Rule) {
		t.Errorf("open are %+v, denied is %v", c.Permission.Open, c.Options.Deny)
	}
}
