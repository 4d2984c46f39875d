package supervisor

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// othersToo is a run with a make `other`, and a mode that is of it.
func othersToo(t *testing.T) *play {
	t.Helper()
	return begin(t, func(o *runconfig.Options) {
		o.HumanPresent, o.Model = true, "opus"
		o.Makes = []runconfig.Make{{MakeSpec: bridge.MakeSpec{Name: "other", Command: []string{"other"}}, MaxTurns: 2}}
		o.Modes = append(agents.List(), agents.Agent{Name: "second", Description: "d", Make: "other", Model: "small"})
	})
}

// summon spawns an Orchestrator with more members of the call.
func (p *play) summon(more string) (id, problem string) {
	p.t.Helper()
	if a := p.call("arbiter", "spawn_orchestrator", `{"prompt":"work"`+more+`}`); a.IsError {
		return "", a.Text
	}
	return fmt.Sprintf("orch-%d", p.s.Spawned), ""
}

func TestMakeOfASummons(t *testing.T) {
	for _, c := range []struct{ more, plan, make, model, problem string }{
		{"", "", "", "opus", ""},
		{`,"make":"claude"`, "", "", "opus", ""},
		{`,"make":"other"`, "", "other", "", ""},
		{`,"mode":"second"`, "", "other", "small", ""},
		{`,"mode":"second","make":"claude"`, "", "", "opus", ""},
		{"", `{"text":"a","make":"other"}`, "other", "", ""},
		{"", `{"text":"a","make":"other","mode":"tester"}`, "", "opus", ""},
		{`,"make":"claude"`, `{"text":"a","make":"other"}`, "", "opus", ""},
		{`,"make":"third"`, "", "", "", `There is no make "third". Makes: claude, other.`},
		{`,"make":"other","host":"box"`, "", "", "", `There is no host or pool "box"`},
	} {
		p := othersToo(t)
		if c.plan != "" {
			if a := p.call("arbiter", "set_plan", `{"steps":[`+c.plan+`]}`); a.IsError {
				t.Fatal(a.Text)
			}
		}
		id, problem := p.summon(c.more)
		if !strings.Contains(problem, c.problem) || (problem != "") != (c.problem != "") {
			t.Errorf("%s: problem %q, want %q", c.more, problem, c.problem)
		}
		if id == "" {
			continue
		}
		cfg, name := p.spawns(id)[0].Config, ""
		if cfg.Make != nil {
			name = cfg.Make.Name
		}
		if a := p.agent(id); a.Make != c.make || name != c.make || cfg.Model != c.model {
			t.Errorf("%s %s: make %q, %q, model %q", c.more, c.plan, a.Make, name, cfg.Model)
		}
	}
	p := begin(t, func(o *runconfig.Options) {
		o.Makes, o.DefaultMake = []runconfig.Make{{MakeSpec: bridge.MakeSpec{Name: "other"}}}, "other"
	})
	if id, _ := p.summon(""); p.agent(id).Make != "other" {
		t.Error("the default does not count")
	}
	p = othersToo(t)
	p.contains("plan", p.call("arbiter", "set_plan", `{"steps":[{"text":"a","make":"third"}]}`).Text, "no make")
	p.contains("prompt", p.spawns("arbiter")[0].Config.SystemPrompt, "`make` chooses the make of agent: claude, other.")
	if ok, why := p.command(contract.SetPlan{Steps: []contract.Step{{Text: "a", Make: "third"}}}); ok {
		t.Errorf("a plan for a make that is not there: %s", why)
	}
}

// TestMakeOnAHost: an agent of another make runs where one of Claude would, and what it cannot do there says nothing
// about the host.
func TestMakeOnAHost(t *testing.T) {
	for name, fail := range map[string]func(p *play, id string){
		"at a start": func(p *play, id string) {
			p.do(input.NotSpawned{Agent: p.agent(id).AgentRef, Category: bridge.CatAuth, Message: "log in"})
		},
		"in a turn": func(p *play, id string) {
			p.spawned(id)
			p.turn(id, bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatAuth, Error: "log in"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := spread(t, func(o *runconfig.Options) {
				o.Makes = []runconfig.Make{{MakeSpec: bridge.MakeSpec{Name: "other", Command: []string{"other"}}}}
			})
			id, problem := p.summon(`,"make":"other","host":"box"`)
			if problem != "" {
				t.Fatal(problem)
			}
			p.hostUp("box")
			p.restartDue(id)
			if cfg := p.spawns(id)[0].Config; cfg.Make == nil || p.agent(id).Host != "box" {
				t.Fatalf("on %q: %+v", p.agent(id).Host, cfg.Make)
			}
			fail(p, id)
			if b := p.s.Lifecycle.Bridge("box"); b.Parked || !b.Up || p.s.Ending != nil {
				t.Errorf("ending %+v; %+v", p.s.Ending, b)
			}
		})
	}
}

// TestMakeWithUnknowns: what a make lacks is said once and in status, nothing is sent into its turn, it hands off by its
// turns while its context is unknown, and its session is its own.
func TestMakeWithUnknowns(t *testing.T) {
	p := othersToo(t)
	id, _ := p.summon(`,"make":"other"`)
	up := func() {
		a := p.agent(id)
		p.do(input.Spawned{Agent: a.AgentRef, Result: bridge.SpawnResult{SessionID: a.SessionID,
			MakeSession: "theirs", Lacks: []string{"delivery is shown as written"}, Resumed: true}})
	}
	up()
	p.verdict("arbiter", ruling("CONTINUE", "Wait."))
	p.contains("status", p.call("arbiter", "status", "{}").Text, "of make other", "context unknown",
		"lacks: delivery is shown as written")
	sent := len(p.sends(id))
	p.command(contract.Say{To: id, Text: "Mind the gap.", Strength: contract.Steer})
	if now := len(p.sends(id)); now != sent {
		t.Errorf("%d messages were sent into its turn", now-sent)
	}
	p.refuses(contract.Attach{ID: id}, "of make other")
	a := p.agent(id)
	p.turn(id, bridge.Turn{Outcome: bridge.TurnDone, MessageIDs: a.Turn, CostUnknown: true,
		Verdict: []byte(`{"kind":"progress","message":"on","expects_response":false}`)})
	p.contains("the next message", p.lastSent(id), "Mind the gap.")
	p.contains("status", p.call("arbiter", "status", "{}").Text, "cost unknown")
	a = p.agent(id)
	p.turn(id, bridge.Turn{Outcome: bridge.TurnDone, MessageIDs: a.Turn,
		Verdict: []byte(`{"kind":"progress","message":"on","expects_response":false}`)})
	if a := p.agent(id); !strings.Contains(a.ReachedLimit, "nobody knows how full its context is") {
		t.Errorf("limit %q", a.ReachedLimit)
	}
	p.crash(id, 1)
	p.restartDue(id)
	if list := p.spawns(id); len(list) != 2 || !list[1].Config.Resume || list[1].Config.MakeSession != "theirs" {
		t.Errorf("restarts: %d, %+v", len(list), list[len(list)-1].Config.MakeSession)
	}
	up()
	said := 0
	for _, e := range effects[input.Emit](p) {
		if b, ok := e.Event.Body.(contract.Notice); ok && strings.Contains(b.Text, "What it lacks: ") {
			said++
		}
	}
	testkit.Same(t, "what it lacks was said times", 1, said)
}

// TestMakeThatDoesNotStart: the run goes on, whatever the reason.
func TestMakeThatDoesNotStart(t *testing.T) {
	for _, c := range []bridge.Category{bridge.CatAuth, bridge.CatSandbox, bridge.CatStart, bridge.CatCredit} {
		t.Run(string(c), func(t *testing.T) {
			p := othersToo(t)
			id, _ := p.summon(`,"make":"other"`)
			p.do(input.NotSpawned{Agent: p.agent(id).AgentRef, Category: c, Message: "no"})
			p.verdict("arbiter", ruling("CONTINUE", "Wait."))
			p.goesOn("the run ends")
			p.contains("the Arbiter", p.lastSent("arbiter"), "could not start: no")
		})
	}
}

// TestDeliveryToAMake: it is announced as written, and counts as that in the ledger.
func TestDeliveryToAMake(t *testing.T) {
	p := othersToo(t)
	id, _ := p.summon(`,"make":"other"`)
	p.spawned(id)
	p.happen(id, bridge.Delivered{MessageID: p.agent(id).Turn[0], Proof: bridge.ProofWritten})
	p.happen(id, bridge.Context{Tokens: 1, Window: 100})
	proofs := []string{}
	for _, e := range effects[input.Emit](p) {
		if b, ok := e.Event.Body.(contract.Delivered); ok {
			proofs = append(proofs, fmt.Sprintf("%s %s", e.Event.ID, b.Proof))
		}
	}
	if !slices.Contains(proofs, id+" written") || slices.Contains(proofs, "arbiter written") {
		t.Errorf("proofs %q", proofs)
	}
}

// TestArbiterOfAMake: the Arbiter has its own model, may write nothing, and is not trusted with what it does not ask
// about. The run ends if it does not start. Claude's models are not chosen for it.
func TestArbiterOfAMake(t *testing.T) {
	begun := func(more func(*runconfig.Options)) *play {
		return begin(t, func(o *runconfig.Options) {
			o.HumanPresent, o.Model, o.ArbiterMake = true, "opus", "other"
			o.Sandbox = &bridge.SandboxConfig{Write: []string{"/w"}, Read: []string{"/r"}}
			o.Makes = []runconfig.Make{{MakeSpec: bridge.MakeSpec{Name: "other", Command: []string{"other"},
				AcceptUnasked: true}, MaxTurns: 2}}
			more(o)
		})
	}
	p := begun(func(o *runconfig.Options) { o.ArbiterModel = "theirs" })
	c := p.spawns("arbiter")[0].Config
	if c.Make == nil || c.Make.Name != "other" || c.Make.AcceptUnasked || c.Model != "theirs" ||
		len(c.Sandbox.Write) > 0 || !c.Sandbox.ReadOnly || !slices.Equal(c.Sandbox.Read, []string{"/r", "/w"}) {
		t.Errorf("config %+v, make %+v, sandbox %+v", c, c.Make, c.Sandbox)
	}
	id, _ := p.summon("")
	if c := p.spawns(id)[0].Config; c.Make != nil || c.Model != "opus" || !slices.Equal(c.Sandbox.Write, []string{"/w"}) {
		t.Errorf("an Orchestrator: %+v, %+v", c, c.Sandbox)
	}
	p.refuses(contract.Configure{Model: "sonnet"}, "of make other")
	p.do(input.NotSpawned{Agent: p.agent("arbiter").AgentRef, Category: bridge.CatAuth, Message: "log in"})
	if p.s.Ending == nil {
		t.Error("the run goes on without an Arbiter")
	}
	p = begun(func(*runconfig.Options) {})
	testkit.Same(t, "it gets Claude's model", "", p.spawns("arbiter")[0].Config.Model)
}

// TestArbiterOfAMakeIsRenewed: it is, when its turns are used up while nobody knows how full its context is; the
// successor's turns are counted anew.
func TestArbiterOfAMakeIsRenewed(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) {
		o.HumanPresent, o.ArbiterMake = true, "other"
		o.Makes = []runconfig.Make{{MakeSpec: bridge.MakeSpec{Name: "other", Command: []string{"other"}}, MaxTurns: 2}}
	})
	p.s.Edit("arbiter").Context = bridge.Context{}
	one := p.spawn("build it")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	if a := p.agent("arbiter"); a.ReachedLimit != "" || a.Turns != 1 {
		t.Fatalf("after %d turns: %s", a.Turns, a.ReachedLimit)
	}
	p.verdict(one, report("question", "Which port?", true))
	p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "8080", "to", one))
	p.contains("the demand", p.lastSent("arbiter"), "kind: renewal", "nobody knows how full its context is")
	p.renewNow("the port is 8080")
	if a := p.agent("arbiter"); a.Make != "other" || a.Turns != 0 || a.ReachedLimit != "" {
		t.Errorf("the successor: make %q, %d turns, limit %q", a.Make, a.Turns, a.ReachedLimit)
	}
}
