package supervisor

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// rawTurn is a turn that ended with a verdict, given as JSON.
func rawTurn(raw string) bridge.Turn { return bridge.Turn{Verdict: json.RawMessage(raw)} }

// refusedTurn is a turn whose verdict the CLI has refused, with the reason as the CLI (2.1.329) gives it.
func refusedTurn(reason string) bridge.Turn {
	return bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatVerdict,
		Error: "Failed to provide valid structured output after 2 attempts — last StructuredOutput error: Output does " +
			"not match required schema: " + reason}
}

// mistake is a verdict that a model repeats until the supervisor acts. Requests are those to the API: one for each
// turn, and another one where the CLI itself has asked again (TestLiveRefusedVerdict counts them with the real CLI).
type mistake struct {
	name     string
	turn     bridge.Turn
	requests int
	reads    string // in the correction; empty: the verdict is accepted
}

var arbiterMistakes = []mistake{
	{"A1 no reason", rawTurn(`{"decision":"CONTINUE","message":"m"}`), 1, ""},
	{"A2 a decision of its own", rawTurn(`{"decision":"ADDRESS_USER","message":"m"}`), 3,
		"`decision` is \"ADDRESS_USER\": give one of ADDRESS_HUMAN"},
	{"A4 a text", bridge.Turn{Text: "I shall think."}, 4, "end the turn by calling StructuredOutput"},
	{"A5 300 kB", bridge.Turn{Oversize: 300_000}, 3, "Give it again in fewer words"},
	{"A6 COMPLETE while one works", rawTurn(`{"decision":"COMPLETE","message":"m","summary":"s"}`), 3,
		"COMPLETE while Orchestrators still work (orch-1 working)"},
	{"A8 to one that never was", rawTurn(`{"decision":"RETRY","message":"m","to":"orch-9"}`), 3,
		"There is no Orchestrator \"orch-9\". Alive: orch-1 working."},
	{"A9 to itself", rawTurn(`{"decision":"ADDRESS_ORCHESTRATOR","message":"m","to":"arbiter"}`), 3,
		"Put an id such as orch-1"},
	{"A12 an empty message", rawTurn(`{"decision":"CONTINUE","message":" "}`), 3, "`message` is missing or empty"},
	{"A13 fenced JSON", bridge.Turn{Text: "```json\n{\"decision\":\"CONTINUE\",\"message\":\"m\"}\n```"}, 2, ""},
	{"A14 to a name", rawTurn(`{"decision":"ADDRESS_ORCHESTRATOR","message":"m","to":"Orchestrator I"}`), 1, ""},
	{"A14 to a number", rawTurn(`{"decision":"ADDRESS_ORCHESTRATOR","message":"m","to":"i"}`), 1, ""},
	{"A16 HANDOFF unasked", rawTurn(`{"decision":"HANDOFF","message":"m","handoff":{"key_context":"k"}}`), 3,
		"only after a message of kind renewal"},
	{"A17 an unknown mode", rawTurn(`{"decision":"SELECT_MODE","message":"m","mode":"coder"}`), 3,
		"There is no mode \"coder\". Modes: "},
	{"A18 a field of its own", rawTurn(`{"decision":"CONTINUE","message":"m","confidence":0.9}`), 1, ""},
	{"A20 lower case", rawTurn(`{"decision":"continue","message":"m"}`), 1, ""},
	{"A21 to nobody", rawTurn(`{"decision":"ADDRESS_ORCHESTRATOR","message":"m"}`), 3, "`to` is missing"},
	{"A22 in one string, refused", refusedTurn("root: must have required property 'decision'"), 4,
		"Your verdict was refused: Output does not match required schema: root: must have required property 'decision'"},
}

var orchestratorMistakes = []mistake{
	{"O1 no document", rawTurn(`{"kind":"handoff","message":"m"}`), 3, "kind handoff needs the hand-off document"},
	{"O2 done that expects nothing",
		rawTurn(`{"kind":"done","message":"m","expects_response":false,"handoff":{"key_context":"k"}}`),
		1, ""},
	{"O3 checks as texts", rawTurn(`{"kind":"done","message":"m","handoff":{"key_context":"k","checks":["make"]}}`), 3,
		"`handoff.checks` is a JSON string: give an object"},
	{"O3 proofs as texts, refused", refusedTurn("/handoff/proofs/0: must be object"), 4,
		"/handoff/proofs/0: must be object"},
	{"O4 a text", bridge.Turn{Text: "all finished, I think"}, 4, "end the turn by calling StructuredOutput"},
	{"O8 a kind of its own", rawTurn(`{"kind":"finished","message":"m"}`), 3,
		"`kind` is \"finished\": give one of introduction"},
	{"O9 a claim of a check that is not there", rawTurn(
		`{"kind":"done","message":"m","handoff":{"key_context":"k","claims":[{"claim":"c","check":7}]}}`), 1, ""},
}

// TestMistakes: a mistake that a model repeats costs three requests, or four where the CLI asks itself, or is none.
// Each correction says what was wrong and what to send, and when the rules decide, an event tells the human.
func TestMistakes(t *testing.T) {
	play := func(t *testing.T, m mistake, role string) {
		p := begin(t, nil)
		one := p.spawn("work")
		if role != contract.Arbiter {
			p.verdict("arbiter", ruling("CONTINUE", "Patience."))
			role = one
		}
		requests, failed := 0, func() bool { return len(told[contract.Error](p)) > 0 }
		for again := true; again; {
			requests++
			if m.turn.Verdict == nil && m.turn.Oversize == 0 {
				requests++ // the CLI asked for it within the turn
			}
			p.turn(role, m.turn)
			again = !failed() && p.agent(role).Status == AgentBusy && strings.Contains(p.lastSent(role), "kind: correction")
			if again && (m.reads == "" || !strings.Contains(p.lastSent(role), m.reads)) {
				t.Fatalf("the correction does not say %q:\n%s", m.reads, p.lastSent(role))
			}
		}
		testkit.Same(t, "requests", m.requests, requests)
		testkit.Same(t, "failed", m.reads != "", failed())
		e := told[contract.Error](p)
		testkit.Check(t, len(e) == 0 || e[0].Category == bridge.CatVerdict, "error %+v", e)
	}
	for _, m := range arbiterMistakes {
		t.Run(m.name, func(t *testing.T) { play(t, m, contract.Arbiter) })
	}
	for _, m := range orchestratorMistakes {
		t.Run(m.name, func(t *testing.T) { play(t, m, "") })
	}
}

// TestAnUnrelatedSummonsIsNoSuccessor: while a document waits, `none` starts an Orchestrator that continues nobody, and
// the document goes to the next one.
func TestAnUnrelatedSummonsIsNoSuccessor(t *testing.T) {
	p, one := oneWorks(t, nil)
	p.verdict(one, report("handoff", "half of it", true))
	a := p.call("arbiter", "spawn_orchestrator", `{"prompt":"write the README","successor_of":"none"}`)
	testkit.Need(t, !a.IsError, "%v", a.Text)
	p.spawned("orch-2")
	if a := p.agent("orch-2"); a.Predecessor != "" || strings.Contains(p.lastSent("orch-2"), "Handed over") {
		t.Errorf("it succeeds %q:\n%s", a.Predecessor, p.lastSent("orch-2"))
	}
	testkit.Same(t, "the successor continues", one, p.agent(p.spawn("go on")).Predecessor)
}

// TestASuccessorIsExamined: until the Arbiter or the human has answered a successor, it may only read. Its introduction
// alone, which the supervisor answers, does not end that.
func TestASuccessorIsExamined(t *testing.T) {
	for name, answer := range map[string]func(p *play, two string){
		"the Arbiter": func(p *play, two string) {
			p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "Begin.", "to", two))
		},
		"the rules": func(p *play, _ string) { p.rambles("arbiter", "hm") },
		"the human": func(p *play, two string) { p.say("Begin.", contract.Note, two) },
	} {
		p, one := oneWorks(t, nil)
		p.verdict(one, report("handoff", "half of it", true))
		two := p.spawn("go on")
		a := p.agent(two)
		why, _ := a.ReadsOnly(0)
		p.contains("why it only reads", why, "has not answered yet")
		p.verdict("arbiter", ruling("CONTINUE", "Patience."))
		p.verdict(two, report("introduction", "I begin.", false))
		p.verdict(two, report("question", "Is it so?", true))
		if first := p.agent(one); first.Unexamined || !p.agent(two).Unexamined {
			t.Fatalf("%s: examined: %v, %v", name, !first.Unexamined, !p.agent(two).Unexamined)
		}
		answer(p, two)
		testkit.Check(t, !p.agent(two).Unexamined, "%s has answered, and it still only reads", name)
	}
}

// TestAssumptionsWaitForTheHuman: what the Arbiter assumed is a question to the human who is present, also if it calls
// it a report, and nobody is set to work on it before. Alone, it goes on.
func TestAssumptionsWaitForTheHuman(t *testing.T) {
	assuming := func(decision, message string) map[string]any {
		v := ruling(decision, message, "mode", "developer")
		v["assumed"], v["report"] = []string{"prices are cents"}, true
		return v
	}
	p := begin(t, nil)
	p.verdict("arbiter", assuming("SELECT_MODE", "Build it."))
	p.contains("the correction", p.lastSent("arbiter"), "kind: correction", "prices are cents", "ADDRESS_HUMAN")
	p.verdict("arbiter", assuming("ADDRESS_HUMAN", "Prices are cents."))
	testkit.Need(t, p.s.Question.Open != nil, "no question is open")
	p.say("Yes.")
	p.verdict("arbiter", ruling("SELECT_MODE", "Build it.", "mode", "developer"))
	testkit.Same(t, "agents", 2, len(p.s.Agents))
	alone := begin(t, func(o *runconfig.Options) { o.HumanPresent = false })
	alone.verdict("arbiter", assuming("SELECT_MODE", "Build it."))
	testkit.Same(t, "alone: agents", 2, len(alone.s.Agents))
}

// TestBriefsHaveCriteriaAndPlan: an Orchestrator reads what the task is judged by, and the steps that it marks.
func TestBriefsHaveCriteriaAndPlan(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.Accept, o.HumanPresent = []string{"make test"}, false })
	p.contains("the task", p.lastSent("arbiter"), "No human is present", "make test")
	p.call("arbiter", "set_plan", `{"steps":[{"text":"weave the warp"}]}`)
	p.call("arbiter", "set_acceptance", `{"criteria":[{"text":"it is red","command":"grep red cloth"}]}`)
	one := p.spawn("work")
	p.contains("the brief", p.lastSent(one), "acceptance criteria", "make test", "grep red cloth", "weave the warp")
	status := p.call("arbiter", "status", `{}`).Text
	p.contains("status", status, "make test", "grep red cloth", "weave the warp")
	a := p.agent(one)
	p.contains("after a compaction", p.s.reminder(&a), "grep red cloth", "weave the warp")
	p.contains("a renewal", p.s.RenewalBrief(Handover{Document: &verdict.Document{}}), "make test", "grep red cloth")
}

// TestStatusNamesHosts: the Arbiter chooses a host by its free slots.
func TestStatusNamesHosts(t *testing.T) {
	p := spread(t, nil)
	p.onHost("gpu")
	p.contains("status", p.call("arbiter", "status", `{}`).Text, "host box: 1 of 1 slots free",
		"host gpu: 1 of 2 slots free")
}
