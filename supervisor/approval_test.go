package supervisor

import (
	"slices"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// askedPermission is a run whose Orchestrator requests permission to run a command.
func askedPermission(change func(*step)) *step {
	c := readyRun(runconfig.Options{})
	a := addOrchestrator(c)
	c.channel, c.HumanPresent = input.ChannelStdin, true
	if change != nil {
		change(c)
	}
	c.permissionAsked(input.PermissionAsked{Behavior: bridge.Ask, Action: "0123456789abcdef", Params: bridge.PermissionParams{
		AgentRef: a.AgentRef, Request: "q1", Tool: "Bash", Input: []byte(`{"command":"git push"}`)}})
	return c
}

// TestAsked: the human is asked, unless everything is halted or the agent is ending.
func TestAsked(t *testing.T) {
	if c := askedPermission(nil); len(c.Permission.Open) != 1 {
		t.Errorf("nobody is asked: %+v", c.Permission)
	}
	for name, change := range map[string]func(*step){
		"halted": func(c *step) { c.Halted = true },
		"ending": func(c *step) { c.release("orch-1", "enough", false) },
	} {
		if c := askedPermission(change); len(c.Permission.Open) != 0 {
			t.Errorf("%s: the human is asked %+v", name, c.Permission.Open)
		}
	}
}

// TestAnswer: a denial with a rule applies from then on, and only the human's own channels can answer.
func TestAnswer(t *testing.T) {
	c := askedPermission(nil)
	no := contract.Permit{Request: c.Permission.Open[0].ID, Behavior: bridge.Deny, Rule: "Bash(git push)",
		Scope: contract.ScopeRun}
	c.channel = "elsewhere"
	c.answerPermission("r1", no)
	if len(c.Permission.Open) != 1 || len(emitted[contract.Rejected](c)) != 1 {
		t.Error("an answer by another channel is taken")
	}
	c.channel = input.ChannelStdin
	answer := c.ExactInput(input.Command{Command: contract.Command{Body: no}})
	exact := answer.(input.Command).Command.Body.(contract.Permit)
	if exact.Action == "" {
		t.Error("the answer does not name the action that it is about")
	}
	c.answerPermission("r2", exact)
	if len(c.Permission.Open) != 0 || !slices.Contains(c.Options.Deny, no.Rule) {
		t.Errorf("open are %+v, denied is %v", c.Permission.Open, c.Options.Deny)
	}
}
