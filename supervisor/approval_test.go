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
	st := readyRun(runconfig.Options{})
	a := addOrchestrator(st)
	st.channel, st.HumanPresent = input.ChannelStdin, true
	if change != nil {
		change(st)
	}
	st.permissionAsked(input.PermissionAsked{Behavior: bridge.Ask, Action: "0123456789abcdef", Params: bridge.PermissionParams{
		AgentRef: a.AgentRef, Request: "q1", Tool: "Bash", Input: []byte(`{"command":"git push"}`)}})
	return st
}

// TestAnswer: a denial with a rule applies from then on, and only the human's own channels can answer.
func TestAnswer(t *testing.T) {
	st := askedPermission(nil)
	no := contract.Permit{Request: st.Permission.Open[0].ID, Behavior: bridge.Deny, Rule: "Bash(git push)",
		Scope: contract.ScopeRun}
	st.channel = "elsewhere"
	st.answerPermission("r1", no)
	if len(st.Permission.Open) != 1 || len(emitted[contract.Rejected](st)) != 1 {
		t.Error("an answer by another channel is taken")
	}
	st.channel = input.ChannelStdin
	answer := st.ExactInput(input.Command{Command: contract.Command{Body: no}})
	exact := answer.(input.Command).Command.Body.(contract.Permit)
	if exact.Action == "" {
		t.Error("the answer does not name the action that it is about")
	}
	st.answerPermission("r2", exact)
	if len(st.Permission.Open) != 0 || !slices.Contains(st.Options.Deny, no.Rule) {
		t.Errorf("open are %+v, denied is %v", st.Permission.Open, st.Options.Deny)
	}
}
