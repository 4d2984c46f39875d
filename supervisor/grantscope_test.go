package supervisor

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

// answering requests a command of an Orchestrator, and answers the request.
func answering(t *testing.T, command string, c contract.Permit) (p *play, request bridge.PermissionParams) {
	t.Helper()
	p = begin(t, nil)
	id := p.spawn("work")
	request = bridge.PermissionParams{AgentRef: p.agent(id).AgentRef, Request: "p1", Tool: "Bash", Input: bashParams(command).Input}
	p.do(input.PermissionAsked{Params: request, Behavior: policy.Ask, By: policy.ByMode, Suggestions: []string{"Bash(make *)"}})
	asked := last[contract.PermissionRequest](p)
	if asked.Action != input.PermissionKey(request.Tool, request.Input) || !slices.Equal(asked.Suggestions, []string{"Bash(make *)"}) {
		t.Fatalf("asked: %+v", asked)
	}
	c.Request = "p1"
	p.do(input.Command{Channel: input.ChannelStdin, Command: contract.Command{Ref: "r", Body: c}})
	return p, request
}

// TestAnswersThatAreNone: invalid answers leave the request open, and grant nothing.
func TestAnswersThatAreNone(t *testing.T) {
	other := input.PermissionKey("Bash", []byte(`{"command":"make clean"}`))
	for name, c := range map[string]contract.Permit{
		"another action":         {Behavior: "allow", Action: other},
		"another action, denied": {Behavior: "deny", Action: other},
		"no rule":                {Behavior: "allow", Scope: "run", Rule: "Bash("},
		"no tool's rule":         {Behavior: "allow", Scope: "always", Rule: "(make)"},
		"a rule for once":        {Behavior: "allow", Rule: "Bash(make *)"},
		"a rule to deny once":    {Behavior: "deny", Rule: "Bash(make *)"},
		"denied always":          {Behavior: "deny", Scope: "always"},
	} {
		p, _ := answering(t, "make all", c)
		if r := last[contract.Rejected](p); r.Ref != "r" || r.Message == "" {
			t.Errorf("%s: not rejected: %+v", name, r)
		}
		if len(p.s.Permission.Open) != 1 || len(p.s.Permission.Actions)+len(p.s.Permission.Rules) != 0 || len(effects[input.PermissionRespond](p)) != 0 || len(effects[input.Remember](p)) != 0 {
			t.Errorf("%s: open %v, granted %v %v", name, p.s.Permission.Open, p.s.Permission.Actions, p.s.Permission.Rules)
		}
	}
}

func TestScopesOfAnAnswer(t *testing.T) {
	for _, tt := range []struct {
		scope, rule string
		granted     int
		rules       []string
		kept        []input.Grant
	}{
		{"", "", 0, nil, nil},
		{"once", "", 0, nil, nil},
		{"run", "", 1, nil, nil},
		{"run", "Bash(make *)", 0, []string{"Bash(make *)"}, nil},
		{"always", "Bash(make *)", 0, []string{"Bash(make *)"}, []input.Grant{{Rule: "Bash(make *)", Tool: "Bash"}}},
		{"always", "", 1, nil, []input.Grant{{Action: input.PermissionKey("Bash", bashParams("make all").Input), Tool: "Bash"}}},
	} {
		p, request := answering(t, "make all", contract.Permit{Behavior: "allow", Scope: tt.scope, Rule: tt.rule, Action: input.PermissionKey("Bash", bashParams("make all").Input)})
		var kept []input.Grant
		for _, e := range effects[input.Remember](p) {
			kept = append(kept, e.Grant)
		}
		if len(p.s.Permission.Actions) != tt.granted || !slices.Equal(p.s.Permission.Rules, tt.rules) || !slices.Equal(kept, tt.kept) {
			t.Errorf("%s %s: granted %v, rules %v, kept %v", tt.scope, tt.rule, p.s.Permission.Actions, p.s.Permission.Rules, kept)
		}
		scope := tt.scope
		if scope == "" {
			scope = "once"
		}
		want := contract.Permission{
			Request: "p1", Behavior: "allow", By: "human", Tool: "Bash", Rule: tt.rule, Action: input.PermissionKey(request.Tool, request.Input), Scope: scope,
		}
		if diff := cmp.Diff(want, last[contract.Permission](p)); diff != "" {
			t.Errorf("%s %s, -want +got:\n%s", tt.scope, tt.rule, diff)
		}
	}
}

// TestADenialForTheRun: a denial for the run becomes a rule of the run, which also applies in a later process.
func TestADenialForTheRun(t *testing.T) {
	denial := contract.Permit{Behavior: "deny", Scope: "run", Rule: "Bash(make *)", Message: "No."}
	p, _ := answering(t, "make all", denial)
	want := contract.Permission{
		Request: "p1", Behavior: "deny", By: "human", Tool: "Bash", Rule: "Bash(make *)", Scope: "run", Reason: "No.",
		Action: input.PermissionKey("Bash", bashParams("make all").Input),
	}
	if diff := cmp.Diff(want, last[contract.Permission](p)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !slices.Equal(p.s.Options.Deny, []string{"Bash(make *)"}) || len(p.s.Permission.Rules) != 0 {
		t.Errorf("denied by %v, allowed by %v", p.s.Options.Deny, p.s.Permission.Rules)
	}
	p.folds()
	p.resume("")
	if !slices.Equal(p.s.Options.Deny, []string{"Bash(make *)"}) {
		t.Errorf("the next process run denies by %v", p.s.Options.Deny)
	}
}

// TestOtherRulesAfterAResume: waiting requests are checked against the rules of the resumed run, before their
// agents ask again.
func TestOtherRulesAfterAResume(t *testing.T) {
	for _, present := range []bool{true, false} {
		p := begin(t, nil)
		id := p.spawn("work")
		p.do(asked(p, id, "p1", "ask"))
		p.out = nil
		o := p.s.Options
		o.Allow, o.HumanPresent = []string{"Bash(make)"}, present
		p.do(input.Resumed{Options: o, Claude: p.s.Lifecycle.Claude(), Stay: true})
		if len(effects[input.Reconsider](p)) != 1 || len(p.s.Permission.Unclaimed) != 1 {
			t.Fatalf("not held against the new rules: %+v", p.s.Permission)
		}
		of := input.PermissionResolution{Request: "p1", Asked: "p1", Behavior: bridge.Allow, By: "rule", Rule: "Bash(make)"}
		p.do(input.Reconsidered{Resolutions: []input.PermissionResolution{of}, Changes: p.s.Permission.Changes})
		if b := last[contract.Permission](p); b.Request != "p1" || b.Behavior != bridge.Allow || b.By != "rule" ||
			len(p.s.Permission.All()) != 0 {
			t.Errorf("told %+v; there wait %+v", b, p.s.Permission.All())
		}
		p.folds()
	}
}
