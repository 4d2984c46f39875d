package supervisor

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

func TestDecidedCallsAreReported(t *testing.T) {
	p := begin(t, nil)
	id := p.spawn("work")
	before := len(effects[input.Emit](p))
	params := bashParams("make")
	params.AgentRef, params.Subagent = p.agent(id).AgentRef, "a0b8"
	say := func(behavior, by string) []contract.Permission {
		var list []contract.Permission
		for _, e := range p.do(input.CallDecided{Params: params, Action: "abc", Behavior: behavior, By: by,
			Rule: "Bash", Reason: "why"}) {
			if m, ok := e.(input.Emit).Event.Body.(contract.Permission); ok {
				list = append(list, m)
			}
		}
		return list
	}
	for _, quiet := range [][2]string{{"pass", ""}, {"ask", "rule"}, {"ask", "mode"}} {
		if list := say(quiet[0], quiet[1]); len(list) != 0 {
			t.Errorf("%v is reported: %+v", quiet, list)
		}
	}
	want := contract.Permission{Request: "judge-toolu_1", Behavior: "deny", By: "rule", Tool: "Bash", Rule: "Bash", Action: "abc", Reason: "why", Subagent: "a0b8"}
	testkit.Same(t, "a denial", []contract.Permission{want}, say("deny", "rule"))
	if n := len(effects[input.Emit](p)) - before; n != 1 {
		t.Errorf("%d events", n)
	}
	if !input.Narrates(input.CallDecided{}) || !input.Recorded(input.CallDecided{}) {
		t.Error("it is to be recorded, and only tells")
	}
}

// TestEveryAgentIsJudged: in every mode each call of an agent passes the hook.
func TestEveryAgentIsJudged(t *testing.T) {
	for _, mode := range []string{"ask", "rules", "accept-edits", "allow-all"} {
		p := begin(t, func(o *runconfig.Options) { o.Permissions = mode })
		p.spawn("work")
		starts := effects[input.Spawn](p)
		if len(starts) != 2 || !starts[0].Params.Config.Judged || !starts[1].Params.Config.Judged {
			t.Errorf("%s: %+v", mode, starts)
		}
	}
}

// TestChangedRulesReachTheAgents: a change of the rules is given to all agents that run, and to one that started with
// the rules before.
func TestChangedRulesReachTheAgents(t *testing.T) {
	p := begin(t, nil)
	p.spawn("work")
	given := func(e []input.Effect) (list []input.GiveRules) {
		for _, e := range e {
			if g, ok := e.(input.GiveRules); ok {
				list = append(list, g)
			}
		}
		return list
	}
	change := contract.Command{Body: contract.Configure{Deny: "Bash(git push *)"}}
	if got := given(p.do(input.Command{Channel: input.ChannelStdin, Command: change})); len(got) != 1 ||
		got[0].Agent != (bridge.AgentRef{}) {
		t.Errorf("after a change: %+v", got)
	}
	p.spawn("more") // it starts with the rules before the change
	var late []input.GiveRules
	for _, g := range effects[input.GiveRules](p) {
		if g.Agent.ID == "orch-2" {
			late = append(late, g)
		}
	}
	if len(late) != 1 {
		t.Errorf("an agent that started meanwhile: %+v", effects[input.GiveRules](p))
	}
	failed := input.RulesGiven{Agent: p.agent("orch-1").AgentRef, Failed: "it has not taken the deny rule"}
	if out := p.do(failed); len(out) != 1 {
		t.Errorf("a failure: %+v", out)
	} else if e, ok := out[0].(input.Emit).Event.Body.(contract.Error); !ok ||
		!strings.Contains(e.Message, "has not taken") {
		t.Errorf("a failure: %+v", out)
	}
	failed.Agent.Generation--
	if out := p.do(failed); len(out) != 0 {
		t.Errorf("of an earlier process: %+v", out)
	}
}

// TestAnUnansweredRequest: a request is denied if no human answers it or none is present.
func TestAnUnansweredRequest(t *testing.T) {
	for _, tool := range []string{"Bash", "Edit", "Read", "WebFetch", "mcp__other__x", "Telepathy", "EnterWorktree"} {
		for _, present := range []bool{true, false} {
			play := begin(t, nil)
			id := play.spawn("work")
			if !present {
				play.do(input.InputEnded{})
			}
			play.do(input.PermissionAsked{Params: bridge.PermissionParams{AgentRef: play.agent(id).AgentRef, Request: "p1", Tool: tool, Input: json.RawMessage("{}")}, Behavior: "ask", By: "rule"})
			if present {
				if len(play.s.Permission.Open) != 1 {
					t.Fatalf("%s is not asked for", tool)
				}
				play.do(input.Timer{Key: input.TimerPrefix + "p1"})
			}
			if a := effects[input.PermissionRespond](play); len(a) != 1 || a[0].Result.Behavior != bridge.Deny {
				t.Errorf("%s, present %v: %+v", tool, present, a)
			}
		}
	}
}

// bashParams is a call of Bash before it is judged.
func bashParams(command string) bridge.JudgeParams {
	raw, _ := json.Marshal(map[string]string{"command": command})
	return bridge.JudgeParams{Tool: "Bash", Input: raw, ToolUse: "toolu_1"}
}
