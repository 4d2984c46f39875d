package supervisor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestPermissionsAreConfigured: the command changes the mode and the rules in the run's options, so that a
// later process begins with them. A command that contains no such change changes nothing.
func TestPermissionsAreConfigured(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.Deny = []string{"Bash(rm *)"} })
	for _, c := range []contract.Configure{
		{Permissions: "accept-edits"}, {Permissions: "accept-edits"}, {Allow: "Bash(make *)"}, {Allow: " Bash(make *) "},
		{Ask: "Bash(make publish)"}, {Deny: "Edit(secret/**)"}, {Deny: "Bash(rm *)"},
	} {
		if ok, why := p.command(c); !ok {
			t.Errorf("%+v: %s", c, why)
		}
	}
	changed := func(s *State) string {
		return fmt.Sprintln(s.Options.Permissions, s.Options.Allow, s.Options.Ask, s.Options.Deny, s.Permission.Changes)
	}
	want := "accept-edits [Bash(make *)] [Bash(make publish)] [Bash(rm *) Edit(secret/**)] 4\n"
	testkit.Same(t, "in force", want, changed(&p.s))
	notices := 0
	for _, n := range told[contract.Notice](p) {
		if strings.HasPrefix(n.Text, "The human ") {
			notices++
		}
	}
	testkit.Same(t, "notices of 4 changes", 4, notices)
	for name, c := range map[string]contract.Configure{
		"nothing":                      {},
		"of nothing":                   {ID: "orch-1"},
		"a mode that is none":          {Permissions: "bypass"},
		"allow-all without a word":     {Permissions: "allow-all"},
		"a risk of nothing":            {Permissions: "ask", AcceptRisk: true},
		"a risk of a rule":             {Allow: "Bash(ls)", AcceptRisk: true},
		"no rule":                      {Deny: "Bash("},
		"two at once":                  {Allow: "Bash(ls)", Deny: "Bash(cat)"},
		"a model and a mode":           {Model: "haiku", Permissions: "ask"},
		"a rule for one of the agents": {ID: "orch-1", Allow: "Bash(ls)"},
	} {
		if ok, why := p.command(c); ok || why == "" {
			t.Errorf("%s: accepted", name)
		}
	}
	testkit.Same(t, "what was rejected changed it", want, changed(&p.s))
	if ok, why := p.command(contract.Configure{Permissions: "allow-all", AcceptRisk: true}); !ok || p.s.Options.Permissions != "allow-all" {
		t.Errorf("%q: %s", p.s.Options.Permissions, why)
	}
	p.folds()
	p.resume("")
	if s := last[contract.Session](p); s.Permissions != "allow-all" {
		t.Errorf("the next process run: %+v", s)
	}
}

// TestRulesComeBeforeTheEndOfTheInput: if a human changes the rules and leaves, the new rules first decide the
// waiting requests; requests that they leave open are denied.
func TestRulesComeBeforeTheEndOfTheInput(t *testing.T) {
	p := begin(t, nil)
	one, two := p.spawn("left half"), p.spawn("right half")
	p.do(asked(p, one, "p1", "ask"))
	p.do(asked(p, two, "p2", "ask"))
	p.command(contract.Configure{Allow: "Bash(make)"})
	p.do(input.InputEnded{})
	late := asked(p, two, "p3", "ask") // by the rules as they were
	if p.do(late); len(p.s.Permission.Open) != 3 {
		t.Fatalf("open: %+v", p.s.Permission.Open)
	}
	p.do(input.Reconsidered{Resolutions: []input.PermissionResolution{{Request: "p1", Asked: "p1", Behavior: bridge.Allow, By: "rule"}}, Changes: 1})
	if len(p.s.Permission.Open) != 2 {
		t.Fatalf("before the last one was held against them: %+v", p.s.Permission.Open)
	}
	p.do(input.Reconsidered{Resolutions: []input.PermissionResolution{{Request: "p3", Asked: "p3", Behavior: bridge.Allow, By: "rule"}}, Changes: 1})
	var got []string
	for _, b := range told[contract.Permission](p) {
		got = append(got, b.Request+" "+b.Behavior+" by "+b.By)
	}
	testkit.Same(t, "", []string{"p1 allow by rule", "p3 allow by rule", "p2 deny by nobody"}, got)
	p.folds()
}

// TestRulesThatChangeMeanwhile: a request whose rules were evaluated before they changed is checked against the
// new ones, and results of old rules settle nothing.
func TestRulesThatChangeMeanwhile(t *testing.T) {
	p := begin(t, nil)
	id := p.spawn("work")
	p.do(asked(p, id, "p1", "ask"))
	p.command(contract.Configure{Allow: "Bash(make *)"})
	if n := len(effects[input.Reconsider](p)); n != 1 {
		t.Errorf("reconsidered %d times", n)
	}
	p.command(contract.Configure{Deny: "Bash(make)"})
	of := input.PermissionResolution{Request: "p1", Asked: "p1", Behavior: bridge.Allow, By: "rule", Rule: "Bash(make *)"}
	if p.do(input.Reconsidered{Resolutions: []input.PermissionResolution{of}, Changes: 1}); len(p.s.Permission.Open) != 1 {
		t.Error("a rule that holds no more has settled it")
	}
	of.Behavior, of.Rule = bridge.Deny, "Bash(make)"
	if p.do(input.Reconsidered{Resolutions: []input.PermissionResolution{of}, Changes: 2}); len(p.s.Permission.Open) != 0 || last[contract.Permission](p).Rule != "Bash(make)" {
		t.Errorf("open: %+v", p.s.Permission.Open)
	}
	before := len(effects[input.Reconsider](p))
	f := asked(p, id, "p2", "ask")
	f.Changes = 1
	if p.do(f); len(effects[input.Reconsider](p)) != before+1 {
		t.Error("a request by old rules is not held against the new ones")
	}
	f.Params.Request, f.Params.Input, f.Changes = "p3", bashParams("ls").Input, 2
	if p.do(f); len(effects[input.Reconsider](p)) != before+1 {
		t.Error("a request by the rules in force is looked at twice")
	}
}
