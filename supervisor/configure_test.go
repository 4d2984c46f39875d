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
		p.mustCommand(c)
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
	p.command(contract.Configure{Permissions: "bypass"})
	testkit.Same(t, "what was rejected changed it", want, changed(&p.s))
	if ok, why := p.command(contract.Configure{Permissions: "allow-all", AcceptRisk: true}); !ok || p.s.Options.Permissions != "allow-all" {
		t.Errorf("%q: %s", p.s.Options.Permissions, why)
	}
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
}

// TestRulesThatChangeMeanwhile: a request whose rules were evaluated before they changed is checked against the
// new ones, and results of old rules settle nothing.
func TestRulesThatChangeMeanwhile(t *testing.T) {
	p := begin(t, nil)
	id := p.spawn("work")
	p.do(asked(p, id, "p1", "ask"))
	p.command(contract.Configure{Allow: "Bash(make *)"})
	testkit.Same(t, "reconsidered times", 1, len(effects[input.Reconsider](p)))
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

// TestConfigure: one setting at a time, each answered once; a rejected command changes nothing.
func TestConfigure(t *testing.T) {
	for name, c := range map[string]struct {
		cmd    contract.Configure
		policy bool // the rules change
		answer string
	}{
		"nothing":         {contract.Configure{}, false, "changes nothing"},
		"two":             {contract.Configure{Model: "m", Allow: "Bash(ls)"}, false, "allow and model are given"},
		"a model":         {contract.Configure{Model: "m"}, false, "no living agent"},
		"an unknown mode": {contract.Configure{Permissions: "x"}, false, "no permission mode"},
		"a risk":          {contract.Configure{Permissions: "allow-all"}, false, "i_accept_the_risk"},
		"of nothing":      {contract.Configure{ID: "orch-1"}, false, "changes nothing"},
		"a risk of ask":   {contract.Configure{Permissions: "ask", AcceptRisk: true}, false, "allow-all only"},
		"a risk of none":  {contract.Configure{Allow: "Bash(ls)", AcceptRisk: true}, false, "allow-all only"},
		"with a model":    {contract.Configure{Model: "haiku", Permissions: "ask"}, false, "model and permissions are given"},
		"a rule of one":   {contract.Configure{ID: "orch-1", Allow: "Bash(cat)"}, false, "leave out id"},
		"of one agent":    {contract.Configure{Permissions: "rules", ID: "orch-1"}, false, "leave out id"},
		"the same mode":   {contract.Configure{Permissions: "ask"}, false, "already"},
		"a mode":          {contract.Configure{Permissions: "rules"}, true, "permissions: rules"},
		"no rule":         {contract.Configure{Deny: "Bash("}, false, "deny: "},
		"the same rule":   {contract.Configure{Allow: "Bash(ls)"}, false, "is a rule already"},
		"a rule":          {contract.Configure{Deny: "Bash(rm *)"}, true, "from now on: deny Bash(rm *)"},
	} {
		before := runconfig.Options{Permissions: "ask", Allow: []string{"Bash(ls)"}}
		st := &step{State: State{Options: before}}
		st.configure("r", c.cmd)
		answer := ""
		for _, b := range emitted[contract.Accepted](st) {
			answer += b.Message
		}
		for _, b := range emitted[contract.Rejected](st) {
			answer += b.Message
		}
		if !strings.Contains(answer, c.answer) {
			t.Errorf("%s: answered %q", name, answer)
		}
		if same := SameRules(&before, &st.Options); same == c.policy || st.Permission.Changes > 0 != c.policy {
			t.Errorf("%s: the rules are the same: %v", name, same)
		}
	}
}

// TestTheModelIsTriedFirst: a model that the CLI refuses changes nothing; a model that it accepts is used for
// every agent, and for later ones.
func TestTheModelIsTriedFirst(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.Model, o.ArbiterModel = "old", "older" })
	p.spawn("dig")
	set := func(model, id string) input.SetModel {
		t.Helper()
		before := len(effects[input.SetModel](p))
		p.mustCommand(contract.Configure{ID: id, Model: model})
		all := effects[input.SetModel](p)
		if len(all) != before+1 {
			t.Fatalf("%d models are being set", len(all)-before)
		}
		return all[before]
	}
	refused := set("nonsense", "")
	p.do(input.Configured{Agent: refused.Agent, Model: "nonsense", All: true, Failed: "no such model"})
	testkit.Same(t, "a refused model was taken over", "old", p.s.Options.Model)
	testkit.Same(t, "p.s.Options.ArbiterModel", "older", p.s.Options.ArbiterModel)
	p.contains("the error", last[contract.Error](p).Message, "nonsense", "no such model")
	taken := set("new", "")
	if taken.Agent.ID != contract.Arbiter || !taken.All {
		t.Fatalf("the first to try it: %+v", taken)
	}
	p.do(input.Configured{Agent: taken.Agent, Model: "new", All: true})
	all := effects[input.SetModel](p)
	if next := all[len(all)-1]; next.Agent.ID != "orch-1" || next.All || next.Model != "new" {
		t.Errorf("the next: %+v", next)
	}
	testkit.Same(t, "options", "new", p.s.Options.Model)
	testkit.Same(t, "p.s.Options.ArbiterModel", "", p.s.Options.ArbiterModel)
	own := set("own", "orch-1")
	p.do(input.Configured{Agent: own.Agent, Model: "own"})
	a, arbiter := p.agent("orch-1"), p.agent(contract.Arbiter)
	testkit.Same(t, "orch-1 would be started with", "own", p.s.agentConfig(&a).Model)
	testkit.Same(t, "the Arbiter would be started with", "new", p.s.agentConfig(&arbiter).Model)
	if ok, _ := p.command(contract.Configure{ID: "orch-9", Model: "x"}); ok {
		t.Error("no agent got a model")
	}
	before := len(effects[input.SetModel](p))
	p.do(input.BridgeLost{Message: "gone"})
	if ok, _ := p.command(contract.Configure{Model: "later"}); !ok || len(effects[input.SetModel](p)) != before ||
		p.s.Options.Model != "later" {
		t.Error("a model cannot be chosen while no agent is there to try it")
	}
}
