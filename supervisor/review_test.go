package supervisor

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

var outOfRoom = bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatPromptTooLong, Error: "Prompt is too long"}

// succeeds ends the Arbiter's process and starts its successor's.
func (p *play) succeeds() {
	p.t.Helper()
	p.happen("arbiter", bridge.Done{Exit: bridge.Exit{Expected: true}})
	p.spawned("arbiter")
}

// lasting is a report whose document contains the text, with checks.
func lasting(kind, text string, checks ...string) map[string]any {
	v := proven(kind, checks...)
	d := v["handoff"].(verdict.Document)
	d.KeyContext = text
	v["handoff"] = d
	return v
}

// TestUnansweredRenewal: a run may end in the same turn in which a renewal was requested. When it is resumed,
// the Arbiter can receive messages.
func TestUnansweredRenewal(t *testing.T) {
	asked := func(t *testing.T, change func(*runconfig.Options)) *play {
		p := begin(t, change)
		p.full("arbiter", 90)
		p.verdict("arbiter", ruling("ADDRESS_HUMAN", "All is there. Is it well?"))
		return p
	}
	again := func(p *play) {
		p.t.Helper()
		p.stopped()
		o := p.s.Options
		o.MaxCostUSD = 100
		p.do(input.Resumed{Options: o, Salt: "/2", Word: "Now paint it."})
		p.back(bridge.DeliveryAbsent)
		p.contains("the Arbiter", p.lastSent("arbiter"), "kind: renewal")
		p.verdict("arbiter", handoffRuling("kept"))
		p.succeeds()
		p.contains("the successor", p.lastSent("arbiter"), "kept", "Now paint it.")
	}
	t.Run("it completed instead", func(t *testing.T) {
		p := asked(t, nil)
		p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "done"))
		again(p)
	})
	t.Run("the cost was reached", func(t *testing.T) {
		p := asked(t, func(o *runconfig.Options) { o.MaxCostUSD = 1 })
		p.turn("arbiter", bridge.Turn{CostUSD: 2, Outcome: bridge.TurnInterrupted})
		again(p)
	})
	t.Run("its budget was spent", func(t *testing.T) {
		p := asked(t, nil)
		p.turn("arbiter", bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatBudget})
		again(p)
	})
}

// TestResumedAtItsEnd: on a resume the Arbiter is renewed first, and then its successor is told that nothing is
// in progress.
func TestResumedAtItsEnd(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.MaxCostUSD = 1 })
	p.full("arbiter", 90)
	p.turn("arbiter", bridge.Turn{CostUSD: 2, Outcome: bridge.TurnInterrupted})
	p.s.Question.Open = nil // this is asked after an interrupt
	p.stopped()
	o := p.s.Options
	o.MaxCostUSD = 100
	p.do(input.Resumed{Options: o, Salt: "/2"})
	p.back(bridge.DeliveryAbsent)
	p.renewNow("kept")
	p.contains("the successor", p.lastSent("arbiter"), "kept", "nothing is under way")
}

// TestRenewalThatIsNotNeededAnyMore: the context shrank while the document was requested.
func TestRenewalThatIsNotNeededAnyMore(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("build it")
	p.full("arbiter", 90)
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict(one, report("question", "Which port?", true))
	p.full("arbiter", 10)
	p.turn("arbiter", bridge.Turn{Outcome: bridge.TurnInterrupted})
	p.contains("the Arbiter", p.lastSent("arbiter"), "Which port?")
}

// TestCompactionDuringARenewal: the document that the Arbiter was asked for is accepted.
func TestCompactionDuringARenewal(t *testing.T) {
	p := begin(t, nil)
	p.spawn("build it")
	p.full("arbiter", 90)
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.happen("arbiter", bridge.Delivered{MessageID: p.agent("arbiter").Turn[0]})
	p.happen("arbiter", bridge.Compact{Trigger: "auto", PreTokens: 172_000})
	p.verdict("arbiter", handoffRuling("kept"))
	if a := p.agent("arbiter"); a.Status != AgentRestarting {
		t.Errorf("it is %s, and was told: %s", a.Status, p.lastSent("arbiter"))
	}
}

// TestInterruptedAtItsEnd: if a human stops an Arbiter whose context is nearly full, the human is asked, as
// always; a turn that the supervisor stops goes to the successor.
func TestInterruptedAtItsEnd(t *testing.T) {
	t.Run("by a human", func(t *testing.T) {
		p := begin(t, nil)
		p.full("arbiter", 90)
		p.command(contract.Interrupt{})
		p.turn("arbiter", bridge.Turn{Outcome: bridge.TurnInterrupted})
		if p.s.Question.Open == nil {
			t.Error("no question is open")
		}
		p.renewNow("kept")
		p.say("Go on.")
		p.contains("the successor", p.lastSent("arbiter"), "kept", "kind: answer", "Go on.")
	})
	t.Run("for want of room", func(t *testing.T) {
		p := begin(t, nil)
		one := p.spawn("build it")
		p.verdict("arbiter", ruling("CONTINUE", "Patience."))
		p.verdict(one, report("question", "Which port?", true))
		p.happen("arbiter", bridge.Delivered{MessageID: p.agent("arbiter").Turn[0]})
		p.happen("arbiter", bridge.Compact{Trigger: "auto", Blocked: true})
		p.do(input.Timer{Key: CompactionBlockedKey(p.agent("arbiter").AgentRef)})
		p.turn("arbiter", bridge.Turn{Outcome: bridge.TurnInterrupted})
		p.contains("it is asked", p.lastSent("arbiter"), "kind: renewal")
		p.renewNow("kept")
		p.contains("the successor", p.lastSent("arbiter"), "kept", "kind: question", "Which port?")
		if p.s.Question.Open != nil {
			t.Errorf("a human is asked: %+v", p.s.Question.Open)
		}
	})
}

// TestRenewalComesAfterWhatIsOpen: what only its own session can correct comes first.
func TestRenewalComesAfterWhatIsOpen(t *testing.T) {
	t.Run("a correction", func(t *testing.T) {
		p := begin(t, nil)
		p.full("arbiter", 90)
		p.verdict("arbiter", map[string]any{"x": 1})
		p.contains("first", p.lastSent("arbiter"), "kind: correction")
		p.verdict("arbiter", ruling("ADDRESS_HUMAN", "Which?"))
		p.contains("then", p.lastSent("arbiter"), "kind: renewal")
	})
	t.Run("a turn that was cut off", func(t *testing.T) {
		p := begin(t, nil)
		p.full("arbiter", 90)
		p.happen("arbiter", bridge.Done{Exit: bridge.Exit{Code: 1}})
		p.do(input.Timer{Key: RestartKey(p.agent("arbiter").AgentRef)})
		a := p.agent("arbiter")
		p.do(input.Spawned{Agent: a.AgentRef, Result: bridge.SpawnResult{Window: 200_000, Resumed: true,
			Deliveries: []bridge.DeliveryStatus{{MessageID: a.Turn[0], Status: bridge.DeliveryBegun}}}})
		p.contains("first", p.lastSent("arbiter"), "kind: retry")
		p.verdict("arbiter", ruling("ADDRESS_HUMAN", "Which?"))
		p.contains("then", p.lastSent("arbiter"), "kind: renewal")
	})
}

// TestSuccessorIsNotCorrectedForItsPredecessor: a successor is not corrected for the predecessor's messages,
// and gets the messages that the predecessor has not ruled on.
func TestSuccessorIsNotCorrectedForItsPredecessor(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("build it")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict(one, report("question", "Which port?", true))
	p.verdict("arbiter", map[string]any{"x": 1})
	p.turn("arbiter", outOfRoom)
	p.succeeds()
	first := p.lastSent("arbiter")
	if strings.Contains(first, "kind: correction") {
		t.Errorf("it is corrected for another's word: %s", first)
	}
	p.contains("its first message", first, "inheritance", "Which port?", "kind: notice", "had ruled")
}

// TestInheritedOnce: the successor of an Arbiter that read only its inheritance gets one inheritance, not two.
func TestInheritedOnce(t *testing.T) {
	p := begin(t, nil)
	for range MaxGenerated {
		p.turn("arbiter", outOfRoom)
		p.succeeds()
	}
	first := p.lastSent("arbiter")
	if n := strings.Count(first, "You take the place of the Arbiter before you"); n != 1 {
		t.Errorf("it inherits %d times", n)
	}
	p.contains("its first message", first, "kind: task", "Build it")
}

// TestExhaustedAndResumed: a human's resume gives the Arbiter new retries.
func TestExhaustedAndResumed(t *testing.T) {
	p := begin(t, nil)
	for range MaxGenerated {
		p.turn("arbiter", outOfRoom)
		p.succeeds()
	}
	p.turn("arbiter", outOfRoom)
	p.stopped()
	p.do(input.Resumed{Options: p.s.Options, Salt: "/2", Word: "Again."})
	p.back(bridge.DeliveryAbsent)
	p.turn("arbiter", outOfRoom)
	if p.s.Ending != nil {
		t.Error("it ends at once")
	}
}

// TestTwoHandOffAtOnce: each document goes to one successor, the oldest first.
func TestTwoHandOffAtOnce(t *testing.T) {
	p := begin(t, nil)
	one, two := p.spawn("build it"), p.spawn("paint it")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict(one, lasting("handoff", "bricks"))
	p.verdict(two, lasting("handoff", "colours"))
	p.contains("the Arbiter reads", p.lastSent("arbiter"), "bricks")
	three := p.spawn("go on building")
	p.contains("the builder", p.lastSent(three), "bricks")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.contains("the Arbiter reads", p.lastSent("arbiter"), "colours")
	four := p.spawn("go on painting")
	p.contains("the painter", p.lastSent(four), "colours")
	if len(p.s.Handoff.SuccessorQueue) > 0 {
		t.Errorf("%s still waits for a successor", p.s.Handoff.SuccessorQueue)
	}
}

// TestSuccessorBeforeTheChecksEnd: it is the successor, and no other is spawned.
func TestSuccessorBeforeTheChecksEnd(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("build it")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict(one, lasting("handoff", "bricks", "make"))
	p.say("Hurry.")
	p.call("arbiter", "spawn_orchestrator", `{"prompt":"go on","successor_of":"orch-1"}`)
	p.spawned("orch-2")
	p.contains("the successor", p.lastSent("orch-2"), "bricks")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.do(input.Checked{Serial: p.check().Serial, Number: 1, Result: ok("ok")})
	if len(p.s.Handoff.SuccessorQueue) > 0 {
		t.Errorf("%s waits for another successor", p.s.Handoff.SuccessorQueue)
	}
}

// TestTheLastDocumentCounts: regardless of whose checks take longest.
func TestTheLastDocumentCounts(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("build it")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict(one, lasting("done", "old", "make"))
	slow := p.check()
	p.say("More of it.", contract.Note, one)
	p.verdict(one, lasting("handoff", "new", "ls"))
	p.do(input.Checked{Serial: p.check().Serial, Number: 1, Result: ok("ok")})
	p.do(input.Checked{Serial: slow.Serial, Number: 1, Result: ok("ok")})
	if d := p.agent(one).Document; d.KeyContext != "new" {
		t.Errorf("its document is the %s one", d.KeyContext)
	}
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	two := p.spawn("go on")
	p.contains("the successor", p.lastSent(two), "new")
}

// TestChecksNeedNoAuthor: the author's turns, its end and its next process do not affect a check that waits for
// its permission.
func TestChecksNeedNoAuthor(t *testing.T) {
	begun := func(t *testing.T) (*play, effect.RunCheck) {
		p := begin(t, nil)
		one := p.spawn("build it")
		p.verdict("arbiter", ruling("CONTINUE", "Patience."))
		p.verdict(one, lasting("done", "bricks", "make"))
		c := p.check()
		p.do(asked2(c))
		if len(p.s.Permission.Open) != 1 {
			t.Fatal("no question is open")
		}
		return p, c
	}
	open := func(p *play) {
		p.t.Helper()
		if len(p.s.Permission.Open) != 1 {
			p.t.Fatalf("the check is denied: %+v", last[contract.Permission](p))
		}
	}
	t.Run("a turn", func(t *testing.T) {
		p, _ := begun(t)
		p.say("And?", contract.Note, "orch-1")
		p.verdict("orch-1", report("question", "What?", true))
		open(p)
	})
	t.Run("a crash", func(t *testing.T) {
		p, _ := begun(t)
		p.crash("orch-1", 1)
		open(p)
	})
	t.Run("killed", func(t *testing.T) {
		p, c := begun(t)
		p.command(contract.Kill{ID: "orch-1"})
		open(p)
		p.command(contract.Permit{Request: p.s.Permission.Open[0].ID, Behavior: bridge.Allow})
		p.do(input.Checked{Serial: c.Serial, Number: 1, Request: c.Request, Result: ok("ok")})
		p.contains("the Arbiter", lastMail(p, "arbiter"), "1 passed")
	})
	t.Run("asked after it was started again", func(t *testing.T) {
		p := begin(t, nil)
		one := p.spawn("build it")
		p.verdict("arbiter", ruling("CONTINUE", "Patience."))
		p.verdict(one, lasting("done", "bricks", "make"))
		c := p.check()
		p.crash(one, 1)
		p.do(asked2(c))
		open(p)
	})
	t.Run("a lost bridge", func(t *testing.T) {
		p, c := begun(t)
		p.do(input.BridgeLost{Message: "gone"})
		p.do(input.Checked{Serial: c.Serial, Number: 1, Request: c.Request, Failed: "not permitted"})
		p.do(input.Timer{Key: LifecycleTimerKey(LifecycleHere)})
		p.do(input.BridgeBack{})
		again := p.check()
		if again.Request == c.Request || again.Number != 1 {
			t.Fatalf("not asked again: %+v", again)
		}
		p.do(asked2(again))
		open(p)
	})
	t.Run("reset", func(t *testing.T) {
		p, _ := begun(t)
		p.command(contract.Reset{})
		if len(p.s.Permission.Open) != 0 {
			t.Error("it is still asked for")
		}
	})
}

// TestResetDuringARenewal: the Arbiter is renewed all the same.
func TestResetDuringARenewal(t *testing.T) {
	p := begin(t, nil)
	p.full("arbiter", 90)
	p.verdict("arbiter", ruling("ADDRESS_HUMAN", "Which?"))
	v := handoffRuling("kept")
	d := v["handoff"].(verdict.Document)
	d.Checks = []verdict.Check{{Command: "make", Expect: "ok"}}
	v["handoff"] = d
	p.verdict("arbiter", v)
	p.command(contract.Reset{})
	if len(p.s.Handoff.Documents) > 0 {
		p.do(input.Checked{Serial: p.s.Handoff.Documents[0].Serial, Number: 1, Failed: "not permitted"})
	}
	p.succeeds()
	p.contains("the successor", p.lastSent("arbiter"), "kept", "The human reset the task")
}

// TestLastMessageOfASpentAgentIsKept: its successor also gets the messages that it received last.
func TestLastMessageOfASpentAgentIsKept(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("build it")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.full(one, 90)
	p.say("The key is under the mat.", contract.Note, one)
	for range maxDemands {
		p.verdict(one, report("progress", "half", false))
	}
	p.say("Mind the step.", contract.Note, one)
	if p.agent(one).Status == AgentParked {
		t.Fatal("too early")
	}
	p.verdict(one, report("progress", "the roof is on", false))
	if p.agent(one).Status != AgentParked {
		t.Fatalf("it is %s", p.agent(one).Status)
	}
	p.inspect(traces)
	p.contains("the Arbiter", p.lastSent("arbiter"), "the roof is on", "The key is under the mat.")
}

// TestARestartedAgentHasNoSuccessor: a human's retry replaces the successor.
func TestARestartedAgentHasNoSuccessor(t *testing.T) {
	for _, told := range []bool{true, false} {
		p := begin(t, nil)
		one := p.spawn("build it")
		p.verdict("arbiter", ruling("CONTINUE", "Patience."))
		p.turn(one, outOfRoom)
		serial := p.s.Handoff.Documents[0].Serial
		if told {
			p.inspect(traces)
		}
		p.command(contract.RetryLast{})
		p.spawned(one)
		if !told {
			p.do(input.Inspected{Serial: serial, Result: traces})
		}
		if len(p.s.Handoff.SuccessorQueue) > 0 {
			t.Errorf("told %v: the next one summoned inherits from %s, which is %s", told, p.s.Handoff.SuccessorQueue, p.agent(one).Status)
		}
	}
}
