package supervisor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// full reports a context at a share of a window of 200,000.
func (p *play) full(id string, pct float64) {
	p.t.Helper()
	p.happen(id, bridge.Context{Tokens: int(2000 * pct), Window: 200_000, Pct: pct, TurnsLeft: 3})
}

func handoffRuling(key string) map[string]any {
	v := ruling("HANDOFF", "I have seen enough. Another sees on.")
	v["handoff"] = verdict.Document{Accomplished: []string{"the plan"}, Remaining: []string{"the rest"}, KeyContext: key}
	return v
}

// renewNow takes the Arbiter through one renewal and returns its previous session.
func (p *play) renewNow(key string) string {
	p.t.Helper()
	a := p.agent("arbiter")
	p.verdict("arbiter", handoffRuling(key))
	testkit.Same(p.t, "after HANDOFF it", AgentRestarting, p.agent("arbiter").Status)
	p.happen("arbiter", bridge.Done{SessionID: a.SessionID, Exit: bridge.Exit{Expected: true}})
	p.spawned("arbiter")
	return a.SessionID
}

// TestArbiterIsRenewed twice in one run: the plan, the ledger, the numbers and waiting messages are kept.
func TestArbiterIsRenewed(t *testing.T) {
	p := begin(t, nil)
	p.call("arbiter", "set_plan", `{"steps":[{"text":"lay the stones","status":"active"}]}`)
	one := p.spawn("build it")
	p.full("arbiter", 71)
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	testkit.Same(t, "a warning renews no agent", RenewalNone, p.s.Renewal.Stage)
	p.verdict(one, report("question", "Which port?", true))
	p.full("arbiter", 86)
	p.say("Make it blue.", contract.Note) // waits for the turn's end
	p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "8080", "to", one))
	testkit.Same(t, "renewal", RenewalAsked, p.s.Renewal.Stage)
	p.contains("the Arbiter is asked", p.lastSent("arbiter"), "kind: renewal", "86% of 200000", "HANDOFF")
	p.lacks("the human's word went to the one who leaves", p.lastSent("arbiter"), "blue")
	p.verdict("arbiter", ruling("CONTINUE", "I go on."))
	p.contains("the correction", p.lastSent("arbiter"), "no other decision is taken now")

	before := p.renewNow("the port is 8080")
	a := p.agent("arbiter")
	testkit.Check(t, a.SessionID != before && a.Generation == 2 && a.Context.Pct == 0 && a.WarnedLevel == "" &&
		p.s.Renewal.Stage == RenewalNone, "the successor: %+v", a)
	h := last[contract.Handoff](p)
	testkit.Check(t, h.From == "arbiter" && h.To == "arbiter" && h.Document.KeyContext == "the port is 8080",
		"handoff %+v", h)
	d := last[contract.Done](p)
	testkit.Check(t, d.SessionID == before && d.Reason == "renewed", "done %+v", d)
	r := told[contract.Restart](p)
	testkit.Check(t, len(r) == 0 && p.s.Lifecycle.Crashes == 0, "counted as a restart: %+v", r)
	p.contains("its first message", p.lastSent("arbiter"), "inheritance", "You are the Arbiter now", "the port is 8080",
		"[active] lay the stones",
		"ADDRESS_ORCHESTRATOR orch-1: because", "orch-1, Orchestrator I: working", "Which port?", "kind: message",
		"Make it blue.")
	p.lacks("it is notified that something was lost", p.lastSent("arbiter"), "Your session's history is lost")

	// Its rulings count; the numbering continues; the second renewal knows about the first.
	p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "Blue.", "to", one))
	p.lacks("inherited twice", lastMail(p, "arbiter"), "inheritance")
	p.verdict(one, report("question", "How blue?", true))
	p.full("arbiter", 90)
	two := p.spawn("paint it")
	testkit.Same(t, "summoned", "orch-2", two)
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.contains("the Arbiter is asked again", p.lastSent("arbiter"), "kind: renewal")
	p.verdict(one, report("question", "Very blue?", true))
	p.renewNow("very blue")
	p.contains("the third's first message", p.lastSent("arbiter"), "very blue", "Very blue?", "How blue?",
		"HANDOFF: because", "orch-2, Orchestrator II")
	testkit.Same(t, "renewals", 2, p.s.Renewal.Count)
	testkit.Same(t, "p.agent(\"arbiter\").Generation", 3, p.agent("arbiter").Generation)
	for _, a := range p.s.Agents[1:] {
		testkit.Same(t, fmt.Sprintf("%s lost its place: generation", a.ID), 1, a.Generation)
	}
}

// TestRenewalWhileAHumanIsAsked: the question stays open, and its answer goes to the successor.
func TestRenewalWhileAHumanIsAsked(t *testing.T) {
	p := begin(t, nil)
	p.full("arbiter", 90)
	p.verdict("arbiter", ruling("ADDRESS_HUMAN", "Red or blue?"))
	p.renewNow("colours")
	testkit.Need(t, p.s.Question.Open != nil && p.agent("arbiter").Status == AgentReady,
		"question %v, the Arbiter is %s", p.s.Question.Open, p.agent("arbiter").Status)
	testkit.Same(t, "asked times", 1, len(told[contract.Question](p)))
	p.say("Blue.")
	p.contains("the answer", p.lastSent("arbiter"), "Asked of the human, and not answered yet", "Red or blue?",
		"kind: answer", "Blue.")
}

// TestRenewalOverAResume: right before, during and after a renewal.
func TestRenewalOverAResume(t *testing.T) {
	begun := func(t *testing.T) (*play, string) {
		p := begin(t, nil)
		one := p.spawn("build it")
		p.full("arbiter", 90)
		return p, one
	}
	resume := func(p *play) {
		p.stopped()
		p.do(input.Resumed{Options: p.s.Options, Salt: "/2"})
	}
	for _, c := range []struct {
		name string
		at   func(p *play, one string)
		then func(p *play)
	}{
		{"before it is asked", func(*play, string) {}, func(p *play) {
			p.back(bridge.DeliveryAbsent)
			p.verdict("arbiter", ruling("CONTINUE", "Patience."))
			p.renewNow("kept")
		}},
		{"asked, and not read", func(p *play, _ string) { p.verdict("arbiter", ruling("CONTINUE", "Patience.")) },
			func(p *play) {
				p.back(bridge.DeliveryAbsent)
				p.renewNow("kept")
			}},
		{"asked, and begun", func(p *play, _ string) { p.verdict("arbiter", ruling("CONTINUE", "Patience.")) },
			func(p *play) {
				p.back(bridge.DeliveryBegun)
				p.contains("the Arbiter", p.lastSent("arbiter"), "kind: retry")
				p.renewNow("kept")
			}},
		{"given, and its process ends", func(p *play, _ string) {
			p.verdict("arbiter", ruling("CONTINUE", "Patience."))
			p.verdict("arbiter", handoffRuling("kept"))
		}, func(p *play) { p.back(bridge.DeliveryAbsent) }},
		{"its successor starts", func(p *play, _ string) {
			p.verdict("arbiter", ruling("CONTINUE", "Patience."))
			p.verdict("arbiter", handoffRuling("kept"))
			p.happen("arbiter", bridge.Done{Exit: bridge.Exit{Expected: true}})
		}, func(p *play) { p.back(bridge.DeliveryAbsent) }},
		{"its successor has read nothing", func(p *play, _ string) {
			p.verdict("arbiter", ruling("CONTINUE", "Patience."))
			p.renewNow("kept")
		}, func(p *play) { p.back(bridge.DeliveryAbsent) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, one := begun(t)
			session := p.agent("arbiter").SessionID
			c.at(p, one)
			resume(p)
			c.then(p)
			if a := p.agent("arbiter"); a.SessionID == session || a.HandoffBrief == "" && p.lastSentHas("arbiter", "kept") == 0 {
				t.Errorf("the successor: %+v", a)
			}
			p.verdict(one, report("question", "Which port?", true))
			testkit.Same(t, "the inheritance was sent times", 1, p.lastSentHas("arbiter", "inheritance"))
			p.contains("the first message", p.lastSent("arbiter"), "kept", "Which port?")
		})
	}
}

// lastSentHas counts the messages to an agent that contain a text.
func (p *play) lastSentHas(id, text string) int {
	return testkit.Count(effects[input.Send](p),
		func(s input.Send) bool { return s.Params.ID == id && strings.Contains(s.Params.Content, text) })
}

// TestRenewalWithoutADocument: an Arbiter that gives no document, or cannot, is renewed with the supervisor's
// record; one that never rules ends the run.
func TestRenewalWithoutADocument(t *testing.T) {
	t.Run("it gives none", func(t *testing.T) {
		p := begin(t, nil)
		one := p.spawn("build it")
		p.full("arbiter", 90)
		p.verdict("arbiter", ruling("CONTINUE", "Patience."))
		for range maxCorrections + 1 {
			p.verdict("arbiter", map[string]any{"decision": "HANDOFF", "message": "m", "reason": "r"})
		}
		a := p.agent("arbiter")
		testkit.Need(t, a.Status == AgentRestarting && a.NewSession, "it is %s", a.Status)
		p.succeeds()
		p.verdict(one, report("question", "Which?", true))
		p.contains("the first message", p.lastSent("arbiter"), "could not write a document", "no valid document",
			"written by the supervisor", "Which?")
	})
	t.Run("its context is exhausted", func(t *testing.T) {
		p := begin(t, nil)
		for i := range MaxGenerated {
			p.turn("arbiter", outOfRoom)
			p.succeeds()
			testkit.Need(t, i != 0 || p.s.Ending == nil, "it ended at once")
			p.say(fmt.Sprintf("word %d", i))
		}
		p.turn("arbiter", outOfRoom)
		p.endsAs(contract.StatusFailed, contract.ExitFailed, "however often")
	})
	for _, waits := range []bridge.Category{bridge.CatUsageLimit, bridge.CatOverloaded} {
		t.Run("exhausted while its turn waits for another try: "+string(waits), func(t *testing.T) {
			p := begin(t, nil)
			p.turn("arbiter", bridge.Turn{Outcome: bridge.TurnFailed, Category: waits, Error: "not now"})
			p.happen("arbiter", outOfRoom) // a turn that no message began
			p.succeeds()
			p.contains("the successor", p.lastSent("arbiter"), "had answered the last messages")
		})
	}
	t.Run("it is interrupted", func(t *testing.T) {
		p := begin(t, nil)
		p.full("arbiter", 90)
		p.verdict("arbiter", ruling("ADDRESS_HUMAN", "Which?"))
		p.turn("arbiter", bridge.Turn{Outcome: bridge.TurnInterrupted})
		p.contains("it is asked again", p.lastSent("arbiter"), "kind: renewal")
		p.renewNow("x")
	})
}

// TestOrchestratorIsRelieved: every message demands a hand-off, and in the end it is no longer asked.
func TestOrchestratorIsRelieved(t *testing.T) {
	p, one := oneWorks(t, nil)
	p.full(one, 71)
	p.verdict(one, report("progress", "half", false))
	p.lacks("a warning is not an end", p.lastSent(one), "Hand off")
	p.full(one, 86)
	p.verdict(one, report("progress", "two thirds", false))
	p.contains("the demand", p.lastSent(one), "kind: relief", "Hand off now", "86% of 200000 tokens", "kind handoff")
	p.verdict(one, report("question", "Which port?", true))
	p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "8080", "to", one))
	p.contains("the answer", p.lastSent(one), "kind: answer", "8080", "start nothing")
	p.verdict(one, report("progress", "I go on", false))
	p.verdict(one, report("progress", "and on", false))
	a := p.agent(one)
	testkit.Need(t, a.Status == AgentParked && len(effects[input.Inspect](p)) == 1, "after %d demands it is %s",
		a.HandoffDemands, a.Status)
	p.inspect(traces)
	p.contains("the Arbiter", p.lastSent("arbiter"), "did not hand off when it was told to", "I nearly have it.")
}

// TestCompactions: a prevented compaction makes the hand-off due, a completed one is reported.
func TestCompactions(t *testing.T) {
	p, one := oneWorks(t, nil)
	p.happen(one, bridge.Delivered{MessageID: p.agent(one).Turn[0]})
	p.happen(one, bridge.Compact{Trigger: "auto", Blocked: true})
	p.happen(one, bridge.Compact{Trigger: "auto", Blocked: true})
	testkit.Same(t, "entries in the work log", 1, len(p.s.Conversation.WorkLog))
	p.do(input.Timer{Key: CompactionBlockedPrefix + RunOf(p.agent(one).AgentRef)})
	testkit.Same(t, "interrupts", 1, len(effects[input.Interrupt](p)))
	p.turn(one, bridge.Turn{Outcome: bridge.TurnInterrupted})
	p.contains("its message", p.lastSent(one), "kind: relief", "you went on", "kind handoff")
	p.verdict(one, report("handoff", "here", true))
	p.contains("the Arbiter", p.lastSent("arbiter"), "compaction was blocked", "the second half")

	two := p.spawn("go on")
	p.full(two, 90)
	p.happen(two, bridge.ContextWarning{Pct: 90, Level: "critical"})
	testkit.Same(t, "what it was told is forgotten", "critical", p.agent(two).NotifyingLevel)
	p.happen(two, bridge.Compact{Trigger: "auto", PreTokens: 172_000, PostTokens: 2600})
	a := p.agent(two)
	testkit.Check(t, a.Compactions == 1 && !a.ContextLow() && a.NotifiedLevel == "", "after a compaction %+v", a)
	c := last[contract.Compact](p)
	testkit.Check(t, !c.Blocked && c.PreTokens == 172_000, "%+v", c)
}

// TestRemindersFollowThePlan: what an agent receives after a compaction is up to date.
func TestRemindersFollowThePlan(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("build the bridge")
	h := lastEffect[input.Spawn](p).Params.Config.Hooks
	testkit.Need(t, h != nil && h.Warn == 70 && h.Critical == 85 && h.Role == "orchestrator" && h.KeepContext,
		"hooks %+v", h)
	p.contains("the reminder", h.Reminder, "Orchestrator I (orch-1)", "build the bridge")
	p.call("arbiter", "set_plan", `{"steps":[{"text":"lay the stones"}]}`)
	told := map[string]string{}
	for _, c := range effects[input.Configure](p) {
		told[c.Params.ID] = c.Params.Reminder
	}
	p.contains("the Orchestrator's reminder", told[one], "lay the stones", "build the bridge")
	p.contains("the Arbiter's reminder", told["arbiter"], "lay the stones", "You are the Arbiter", "orch-1 working")
	p.happen(one, bridge.ContextWarning{Level: "warn", Pct: 71})
	p.crash(one, 1)
	testkit.Same(t, "spent, and a turn that was cut off may have lost what was told in it", "",
		lastEffect[input.Spawn](p).Params.Config.Hooks.Spent)
	p.happen(one, bridge.ContextWarning{Level: "warn", Pct: 71})
	p.verdict(one, report("progress", "half", false))
	p.crash(one, 1)
	testkit.Same(t, "spent over a restart", "warn", lastEffect[input.Spawn](p).Params.Config.Hooks.Spent)
}

// TestRenewalsThatDoNotHelp: if an Arbiter's context is full as soon as it is renewed, the run ends and says
// what to do.
func TestRenewalsThatDoNotHelp(t *testing.T) {
	p := begin(t, nil)
	p.full("arbiter", 90)
	p.verdict("arbiter", ruling("ADDRESS_HUMAN", "Which?"))
	for range MaxShort - 1 {
		p.renewNow("x")
		p.say("This.")
		p.full("arbiter", 90)
		p.verdict("arbiter", ruling("ADDRESS_HUMAN", "And which?"))
	}
	p.renewNow("x")
	p.say("This.")
	p.full("arbiter", 90)
	p.verdict("arbiter", ruling("ADDRESS_HUMAN", "And which?"))
	p.endsAs(contract.StatusFailed, contract.ExitFailed, "--context-tokens")
}
