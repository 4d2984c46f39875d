package supervisor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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
	notices := testkit.Count(told[contract.Notice](p),
		func(n contract.Notice) bool { return strings.HasPrefix(n.Text, "The human ") })
	testkit.Same(t, "notices of 4 changes", 4, notices)
	p.command(contract.Configure{Permissions: "bypass"})
	testkit.Same(t, "what was rejected changed it", want, changed(&p.s))
	ok, why := p.command(contract.Configure{Permissions: "allow-all", AcceptRisk: true})
	testkit.Check(t, ok && p.s.Options.Permissions == "allow-all", "%q: %s", p.s.Options.Permissions, why)
	p.resume("")
	testkit.Like(t, "the next process run", contract.Session{Permissions: "allow-all"}, last[contract.Session](p))
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
	p.do(late)
	testkit.Need(t, len(p.s.Permission.Open) == 3, "open: %+v", p.s.Permission.Open)
	p.do(input.Reconsidered{Resolutions: []input.PermissionResolution{{Request: "p1", Asked: "p1", Behavior: bridge.Allow,
		By: "rule"}}, Changes: 1})
	testkit.Same(t, fmt.Sprintf("before the last one was held against them: %+v", p.s.Permission.Open), 2,
		len(p.s.Permission.Open))
	p.do(input.Reconsidered{Resolutions: []input.PermissionResolution{{Request: "p3", Asked: "p3", Behavior: bridge.Allow,
		By: "rule"}}, Changes: 1})
	got := testkit.Each(told[contract.Permission](p),
		func(b contract.Permission) string { return b.Request + " " + b.Behavior + " by " + b.By })
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
	p.do(input.Reconsidered{Resolutions: []input.PermissionResolution{of}, Changes: 1})
	testkit.Check(t, len(p.s.Permission.Open) == 1, "a rule that holds no more has settled it")
	of.Behavior, of.Rule = bridge.Deny, "Bash(make)"
	p.do(input.Reconsidered{Resolutions: []input.PermissionResolution{of}, Changes: 2})
	testkit.Check(t, len(p.s.Permission.Open) == 0 && last[contract.Permission](p).Rule == "Bash(make)", "open: %+v",
		p.s.Permission.Open)
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
		testkit.Includes(t, fmt.Sprintf("%s: answered", name), answer, c.answer)
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
		testkit.Same(t, "models being set", 1, len(all)-before)
		return all[before]
	}
	refused := set("nonsense", "")
	p.do(input.Configured{Agent: refused.Agent, Model: "nonsense", All: true, Failed: "no such model"})
	testkit.Same(t, "a refused model was taken over", "old", p.s.Options.Model)
	testkit.Same(t, "p.s.Options.ArbiterModel", "older", p.s.Options.ArbiterModel)
	p.contains("the error", last[contract.Error](p).Message, "nonsense", "no such model")
	taken := set("new", "")
	testkit.Need(t, taken.Agent.ID == contract.Arbiter && taken.All, "the first to try it: %+v", taken)
	p.do(input.Configured{Agent: taken.Agent, Model: "new", All: true})
	all := effects[input.SetModel](p)
	next := all[len(all)-1]
	testkit.Check(t, next.Agent.ID == "orch-1" && !next.All && next.Model == "new", "the next: %+v", next)
	testkit.Same(t, "options", "new", p.s.Options.Model)
	testkit.Same(t, "p.s.Options.ArbiterModel", "", p.s.Options.ArbiterModel)
	own := set("own", "orch-1")
	p.do(input.Configured{Agent: own.Agent, Model: "own"})
	a, arbiter := p.agent("orch-1"), p.agent(contract.Arbiter)
	testkit.Same(t, "orch-1 would be started with", "own", p.s.agentConfig(&a).Model)
	testkit.Same(t, "the Arbiter would be started with", "new", p.s.agentConfig(&arbiter).Model)
	ok, _ := p.command(contract.Configure{ID: "orch-9", Model: "x"})
	testkit.Check(t, !ok, "no agent got a model")
	before := len(effects[input.SetModel](p))
	p.do(input.BridgeLost{Message: "gone"})
	ok, _ = p.command(contract.Configure{Model: "later"})
	testkit.Check(t, ok && len(effects[input.SetModel](p)) == before && p.s.Options.Model == "later",
		"a model cannot be chosen while no agent is there to try it")
}

// trusted begins a run in a trusted workspace, and brings up its Arbiter.
func trusted(t *testing.T, change func(*runconfig.Options)) *play {
	t.Helper()
	return begin(t, func(o *runconfig.Options) {
		o.Trusted, o.TrustHash = true, "h1"
		if change != nil {
			change(o)
		}
	})
}

// refused lets the gate refuse the start of an agent.
func (p *play) refused(id, hash string) []input.Effect {
	p.t.Helper()
	testkit.Same(p.t, fmt.Sprintf("%s does not start: it", id), AgentStarting, p.agent(id).Status)
	return p.do(input.NotSpawned{Agent: p.agent(id).AgentRef, Category: bridge.CatTrust,
		Message: "the workspace has changed since it was trusted: changed: hook", Trust: hash})
}

func sourcesOf(p bridge.SpawnParams) string { return strings.Join(p.Config.SettingSources, ",") }

// TestDistrust: an agent whose workspace has changed is not started until the human has chosen; its messages
// wait.
func TestDistrust(t *testing.T) {
	chooses := func(option string) func(p *play) []input.Effect {
		return func(p *play) []input.Effect {
			return p.do(input.Command{Command: contract.Command{Ref: "1", Body: contract.Choose{Option: option}},
				Channel: input.ChannelStdin})
		}
	}
	for _, c := range []struct {
		name    string
		choose  func(p *play) []input.Effect
		sources string // of the next start; empty: there is none
		hash    string // that is recorded then
	}{
		{"trust", chooses("trust"), "user,project", "h2"},
		{"without", chooses("without"), "user", ""},
		{"nobody any more", func(p *play) []input.Effect { return p.do(input.InputEnded{}) }, "user", ""},
		{"cancel", chooses("cancel"), "", "h1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := trusted(t, nil)
			p.call("arbiter", "spawn_orchestrator", `{"prompt":"the brief"}`)
			testkit.Same(t, "setting sources", "user,project", sourcesOf(p.spawns("orch-1")[0]))
			out := p.refused("orch-1", "h2")
			want := []contract.Error{{Category: bridge.CatTrust,
				Message:         "the workspace has changed since it was trusted: changed: hook",
				RecoveryOptions: []string{"trust", "without", "cancel"}}}
			testkit.Same(t, "told", want, said[contract.Error](out))
			if a := p.agent("orch-1"); a.Status != AgentDown || len(p.spawns("orch-1")) != 1 {
				t.Fatalf("it is %s, %d starts", a.Status, len(p.spawns("orch-1")))
			}
			p.call("arbiter", "spawn_orchestrator", `{"prompt":"another brief"}`)
			testkit.Same(t, "another", AgentDown, p.agent("orch-2").Status)
			testkit.Same(t, "len(p.spawns(\"orch-2\"))", 0, len(p.spawns("orch-2")))
			p.dies("arbiter")
			for _, id := range []string{"arbiter", "orch-1"} {
				p.restartDue(id)
				testkit.Same(t, fmt.Sprintf("%s came back without a message", id), AgentDown, p.agent(id).Status)
			}
			out = c.choose(p)
			testkit.Same(t, "p.s.Options.TrustHash", c.hash, p.s.Options.TrustHash)
			testkit.Same(t, "options: trusted", (c.hash != ""), p.s.Options.Trusted)
			pins := slices.ContainsFunc(out, func(e input.Effect) bool { _, ok := e.(input.PinTrust); return ok })
			testkit.Same(t, "recorded", (c.hash == "h2"), pins)
			if c.sources == "" {
				testkit.Check(t, p.s.Ending != nil, "it goes on")
				return
			}
			for _, id := range []string{"arbiter", "orch-1", "orch-2"} {
				n := len(p.spawns(id))
				p.comes(id, bridge.SpawnResult{})
				last := p.spawns(id)[len(p.spawns(id))-1]
				if got := sourcesOf(last); got != c.sources || last.Config.StrictMCP != (c.sources == "user" || id == "arbiter") {
					t.Errorf("%s: sources %s, strict %v", id, got, last.Config.StrictMCP)
				}
				testkit.Check(t, id == "arbiter" || !last.Config.Resume,
					"%s resumes a session that never was (%d starts before)", id, n)
			}
			p.contains("its first word", p.lastSent("orch-1"), "the brief")
			p.contains("the other's", p.lastSent("orch-2"), "another brief")
		})
	}
}

// TestDistrustAlone: without a human the run continues without the settings, and reports it.
func TestDistrustAlone(t *testing.T) {
	p := &play{t: t, at: time.Unix(1_800_000_000, 0)}
	p.do(input.Began{Options: runconfig.Options{Run: testRun, Delimiter: "7f3a9c", CWD: "/w", Task: "Build it",
		Trusted: true, TrustHash: "h1"}.WithDefaults()})
	out := p.refused("arbiter", "h2")
	e := said[contract.Error](out)
	testkit.Check(t, len(e) == 1 && e[0].Category == bridge.CatTrust, "errors %+v", e)
	n := said[contract.Notice](out)
	testkit.Check(t, len(n) == 1 && strings.Contains(n[0].Text, "not loaded from now on"), "notices %+v", n)
	testkit.Check(t, p.s.Lifecycle.TrustQuestion == nil && !p.s.Options.Trusted && len(p.spawns("arbiter")) == 2 &&
		sourcesOf(p.spawns("arbiter")[1]) == "user", "trusted %v, starts %+v", p.s.Options.Trusted, p.spawns("arbiter"))
	p.spawned("arbiter")
	p.contains("the task", p.lastSent("arbiter"), "Build it")
}

// TestDistrustMeanwhile: the decision applies to starts that were in progress, and a state that cannot be
// determined cannot be trusted.
func TestDistrustMeanwhile(t *testing.T) {
	p := trusted(t, nil)
	p.call("arbiter", "spawn_orchestrator", `{"prompt":"a"}`)
	p.call("arbiter", "spawn_orchestrator", `{"prompt":"b"}`)
	p.call("arbiter", "spawn_orchestrator", `{"prompt":"c"}`)
	p.refused("orch-1", "h2")
	testkit.Same(t, "the same was asked twice", 0, len(said[contract.Error](p.refused("orch-2", "h2"))))
	p.mustCommand(contract.Choose{Option: "trust"})
	p.refused("orch-3", "h2") // its gate checked before the choice
	for _, id := range []string{"orch-1", "orch-2", "orch-3"} {
		p.comes(id, bridge.SpawnResult{})
	}
	ok, _ := p.command(contract.Choose{Option: "trust"})
	testkit.Check(t, !ok, "it was chosen twice")
	p.dies("orch-1")
	p.restartDue("orch-1")
	p.refused("orch-1", "")
	ok, _ = p.command(contract.Choose{Option: "trust"})
	testkit.Check(t, !ok && p.s.Lifecycle.TrustQuestion != nil, "what cannot be told was trusted")
	p.mustCommand(contract.Choose{Option: "without"})
	p.do(input.TrustRecorded{Hash: "h2"})
	testkit.Same(t, "that it is not recorded was not told", 1,
		len(said[contract.Notice](p.do(input.TrustRecorded{Hash: "h2", Failed: "disk full"}))))
}

// TestDistrustResumed: another process decides anew.
func TestDistrustResumed(t *testing.T) {
	p := trusted(t, nil)
	p.dies("arbiter")
	p.restartDue("arbiter")
	p.refused("arbiter", "h2")
	p.resume("")
	testkit.Check(t, p.s.Lifecycle.TrustQuestion == nil, "the old question stands")
	p.refused("arbiter", "h2")
	p.mustCommand(contract.Choose{Option: "trust"})
	p.comes("arbiter", bridge.SpawnResult{Resumed: true})
}
