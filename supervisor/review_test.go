package supervisor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
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
	done := verdictTurn(ruling("COMPLETE", "It is done.", "summary", "done"), bridge.Turn{})
	for name, last := range map[string]bridge.Turn{
		"it completed instead": done,
		"the cost was reached": {CostUSD: 2, Outcome: bridge.TurnInterrupted},
		"its budget was spent": {Outcome: bridge.TurnFailed, Category: bridge.CatBudget},
	} {
		t.Run(name, func(t *testing.T) {
			p := begin(t, func(o *runconfig.Options) { o.MaxCostUSD = last.CostUSD / 2 })
			p.full("arbiter", 90)
			p.verdict("arbiter", ruling("ADDRESS_HUMAN", "All is there. Is it well?"))
			p.turn("arbiter", last)
			p.stopped()
			o := p.s.Options
			o.MaxCostUSD = 100
			p.do(input.Resumed{Options: o, Salt: "/2", Word: "Now paint it."})
			p.back(bridge.DeliveryAbsent)
			p.contains("the Arbiter", p.lastSent("arbiter"), "kind: renewal")
			p.verdict("arbiter", handoffRuling("kept"))
			p.succeeds()
			p.contains("the successor", p.lastSent("arbiter"), "kept", "Now paint it.")
		})
	}
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

// TestCompactionDuringARenewal: the document that the Arbiter was asked for is accepted.
func TestCompactionDuringARenewal(t *testing.T) {
	p := begin(t, nil)
	p.spawn("build it")
	p.full("arbiter", 90)
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.happen("arbiter", bridge.Delivered{MessageID: p.agent("arbiter").Turn[0]})
	p.happen("arbiter", bridge.Compact{Trigger: "auto", PreTokens: 172_000})
	p.verdict("arbiter", handoffRuling("kept"))
	testkit.Same(t, fmt.Sprintf("status after it was told: %s", p.lastSent("arbiter")), AgentRestarting,
		p.agent("arbiter").Status)
}

// TestInterruptedAtItsEnd: if a human stops an Arbiter whose context is nearly full, the human is asked, as
// always; a turn that the supervisor stops goes to the successor.
func TestInterruptedAtItsEnd(t *testing.T) {
	t.Run("by a human", func(t *testing.T) {
		p := begin(t, nil)
		p.full("arbiter", 90)
		p.command(contract.Interrupt{})
		p.turn("arbiter", bridge.Turn{Outcome: bridge.TurnInterrupted})
		testkit.Check(t, p.s.Question.Open != nil, "no question is open")
		p.renewNow("kept")
		p.say("Go on.")
		p.contains("the successor", p.lastSent("arbiter"), "kept", "kind: answer", "Go on.")
	})
	t.Run("for want of room", func(t *testing.T) {
		p, one := oneWorks(t, nil)
		p.verdict(one, report("question", "Which port?", true))
		p.happen("arbiter", bridge.Delivered{MessageID: p.agent("arbiter").Turn[0]})
		p.happen("arbiter", bridge.Compact{Trigger: "auto", Blocked: true})
		p.do(input.Timer{Key: CompactionBlockedPrefix + RunOf(p.agent("arbiter").AgentRef)})
		p.turn("arbiter", bridge.Turn{Outcome: bridge.TurnInterrupted})
		p.contains("it is asked", p.lastSent("arbiter"), "kind: renewal")
		p.renewNow("kept")
		p.contains("the successor", p.lastSent("arbiter"), "kept", "kind: question", "Which port?")
		testkit.Check(t, p.s.Question.Open == nil, "a human is asked: %+v", p.s.Question.Open)
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
		p.restartDue("arbiter")
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
	p, one := oneWorks(t, nil)
	p.verdict(one, report("question", "Which port?", true))
	p.verdict("arbiter", map[string]any{"x": 1})
	p.turn("arbiter", outOfRoom)
	p.succeeds()
	first := p.lastSent("arbiter")
	p.lacks("it is corrected for another's word", first, "kind: correction")
	p.contains("its first message", first, "inheritance", "Which port?", "kind: notice", "had answered")
}

// TestExhaustedAndResumed: a human's resume gives the Arbiter new retries.
func TestExhaustedAndResumed(t *testing.T) {
	p := begin(t, nil)
	for range MaxGenerated {
		p.turn("arbiter", outOfRoom)
		p.succeeds()
	}
	first := p.lastSent("arbiter")
	testkit.Same(t, "it inherits times", 1, strings.Count(first, "You are the successor of the Arbiter before you"))
	p.contains("its first message", first, "kind: task", "Build it")
	p.turn("arbiter", outOfRoom)
	p.stopped()
	p.do(input.Resumed{Options: p.s.Options, Salt: "/2", Word: "Again."})
	p.back(bridge.DeliveryAbsent)
	p.turn("arbiter", outOfRoom)
	p.goesOn("it ends at once")
}

// TestSuccessorBeforeTheChecksEnd: it is the successor, and no other is spawned.
func TestSuccessorBeforeTheChecksEnd(t *testing.T) {
	p, one := oneWorks(t, nil)
	p.verdict(one, lasting("handoff", "bricks", "make"))
	p.say("Hurry.")
	p.call("arbiter", "spawn_orchestrator", `{"prompt":"go on","successor_of":"orch-1"}`)
	p.spawned("orch-2")
	p.contains("the successor", p.lastSent("orch-2"), "bricks")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.do(input.Checked{Serial: p.check().Serial, Number: 1, Result: ok("ok")})
	testkit.Empty(t, "waits for another successor", p.s.Handoff.SuccessorQueue)
}

// TestChecksNeedNoAuthor: the author's turns, its end and its next process do not affect a check that waits for
// its permission.
func TestChecksNeedNoAuthor(t *testing.T) {
	for name, c := range map[string]struct {
		then func(p *play, c input.RunCheck)
		open int // permission requests afterwards
	}{
		"a turn": {func(p *play, _ input.RunCheck) {
			p.say("And?", contract.Note, "orch-1")
			p.verdict("orch-1", report("question", "What?", true))
		}, 1},
		"a crash": {func(p *play, _ input.RunCheck) { p.crash("orch-1", 1) }, 1},
		"asked after it was started again": {func(p *play, c input.RunCheck) {
			p.do(input.PermissionWithdrawn{Request: c.Request})
			p.crash("orch-1", 1)
			p.do(asked2(c))
		}, 1},
		"killed": {func(p *play, c input.RunCheck) {
			p.command(contract.Kill{ID: "orch-1"})
			testkit.Need(p.t, len(p.s.Permission.Open) == 1, "the check is denied")
			p.command(contract.Permit{Request: p.s.Permission.Open[0].ID, Behavior: bridge.Allow})
			p.do(input.Checked{Serial: c.Serial, Number: 1, Request: c.Request, Result: ok("ok")})
			p.contains("the Arbiter", lastMail(p, "arbiter"), "PASSED")
		}, 0},
		"a lost bridge": {func(p *play, c input.RunCheck) {
			p.do(input.BridgeLost{Message: "gone"})
			p.do(input.Checked{Serial: c.Serial, Number: 1, Request: c.Request, Failed: "not permitted"})
			p.do(input.Timer{Key: LifecycleTimerKey(LifecycleHere)})
			p.do(input.BridgeBack{})
			again := p.check()
			testkit.Need(p.t, again.Request != c.Request && again.Number == 1, "not asked again: %+v", again)
			p.do(asked2(again))
		}, 1},
		"reset": {func(p *play, _ input.RunCheck) { p.command(contract.Reset{}) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p, one := oneWorks(t, nil)
			p.verdict(one, lasting("done", "bricks", "make"))
			check := p.check()
			p.do(asked2(check))
			testkit.Same(t, "no question is open", 1, len(p.s.Permission.Open))
			c.then(p, check)
			testkit.Same(t, "requests afterwards", c.open, len(p.s.Permission.Open))
		})
	}
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
	p, one := oneWorks(t, nil)
	p.full(one, 90)
	p.say("The key is under the mat.", contract.Note, one)
	for range maxDemands {
		p.verdict(one, report("progress", "half", false))
	}
	p.say("Mind the step.", contract.Note, one)
	testkit.Need(t, p.agent(one).Status != AgentParked, "too early")
	p.verdict(one, report("progress", "the roof is on", false))
	testkit.Same(t, "p.agent(one).Status", AgentParked, p.agent(one).Status)
	p.inspect(traces)
	p.contains("the Arbiter", p.lastSent("arbiter"), "the roof is on", "The key is under the mat.")
}

// TestARestartedAgentHasNoSuccessor: a human's retry replaces the successor.
func TestARestartedAgentHasNoSuccessor(t *testing.T) {
	for _, told := range []bool{true, false} {
		p, one := oneWorks(t, nil)
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
		testkit.Empty(t, fmt.Sprintf("told %v: the next one summoned inherits from, which is %s", told,
			p.agent(one).Status), p.s.Handoff.SuccessorQueue)
	}
}

// stateless makes another decider than the Arbiter's session decide.
func stateless(o *runconfig.Options) { o.Decider = runconfig.DeciderStateless }

// asked is the open question to the decider.
func (p *play) asked() input.Decided {
	p.t.Helper()
	testkit.Need(p.t, p.s.Rulings.DeciderRequest != nil, "nothing is asked in %s", p.s.Task.Phase)
	return input.Decided(lastEffect[input.Decide](p).Question)
}

// answers answers a question as a model would.
func (p *play) answers(q input.Decided, what, mode string) {
	p.t.Helper()
	q.Decision = decider.Decision{Decision: what, Mode: mode, Reason: "because", Summary: "s", Source: decider.ByModel}
	p.do(q)
}

func (p *play) sentTo(id string) string {
	var b strings.Builder
	for _, s := range effects[input.Send](p) {
		if s.Params.ID == id {
			b.WriteString(s.Params.Content)
		}
	}
	return b.String()
}

// TestAnswersToEarlierQuestions: what the human did meanwhile has overtaken them.
func TestAnswersToEarlierQuestions(t *testing.T) {
	p := begin(t, stateless)
	first := p.asked()
	p.mustCommand(contract.ForceAgent{Mode: "developer"})
	p.answers(first, "SELECT_MODE", "planner")
	testkit.Same(t, "the human forced one agent, and were summoned", 1, p.s.Spawned)
	id := p.working()
	p.verdict(id, report("done", "half of it", true))
	judged := p.asked()
	p.mustCommand(contract.RetryLast{})
	testkit.Need(t, p.s.Rulings.DeciderRequest == nil, "the work that the human sent back is judged all the same")
	p.verdict(id, report("done", "all of it", true))
	again := p.asked()
	p.answers(judged, "COMPLETE", "")
	p.goesOn("the answer about the first half ended the run")
	p.answers(again, "COMPLETE", "")
	for range 2 { // the Arbiter reads what came before, and then of the open points
		p.verdict("arbiter", ruling("CONTINUE", ""))
	}
	testkit.Need(t, p.s.Ending != nil && p.s.Ending.Status == contract.StatusComplete, "ending %+v", p.s.Ending)
}

// TestResetLeavesNothingToDecide: after a reset nothing of the dropped task is decided.
func TestResetLeavesNothingToDecide(t *testing.T) {
	p := begin(t, stateless)
	p.answers(p.asked(), "SELECT_MODE", "developer")
	p.verdict(p.working(), report("done", "old work", true))
	late := p.asked()
	p.command(contract.Reset{})
	testkit.Same(t, fmt.Sprintf("messages wait after a reset: %+v", p.s.Conversation.Mail), 1,
		len(p.s.Conversation.Mail))
	p.verdict("arbiter", ruling("ADDRESS_HUMAN", "What is wanted now?"))
	p.answers(late, "CONTINUE", "")
	p.say("Another task")
	p.answers(p.asked(), "SELECT_MODE", "tester")
	p.verdict(p.working(), report("done", "new work", true))
	if q := p.asked(); q.About != "orch-2" || strings.Contains(string(q.Input), "old work") {
		t.Errorf("asked about %s: %s", q.About, q.Input)
	}

	p = begin(t, stateless)
	p.command(contract.Reset{})
	p.lacks("the task that was reset is given to the Arbiter", p.sentTo("arbiter"), "kind: task")

	p = begin(t, stateless)
	p.say("Use the tester.")
	p.contains("the Arbiter knows the task", p.lastSent("arbiter"), "Build it", "Use the tester.")
}

// TestOneRulesOnWhoBroke: either the decider or the Arbiter rules on a failed agent, not both.
func TestOneRulesOnWhoBroke(t *testing.T) {
	p := begin(t, stateless)
	p.answers(p.asked(), "SELECT_MODE", "developer")
	id := p.working()
	p.crash(id, 5)
	q := p.asked()
	testkit.Need(t, q.Point == decider.PointSelect && p.agent("arbiter").Status == AgentReady,
		"asked at %s, and the Arbiter is %s", q.Point, p.agent("arbiter").Status)
	p.answers(q, "SELECT_MODE", "developer")
	testkit.Same(t, "were summoned", 2, p.s.Spawned)
	p.say("How is it?")
	p.contains("what the Arbiter reads", p.lastSent("arbiter"), "is gone", "Decided by model")
	// The decider may leave it to the Arbiter, which has not heard of it yet.
	p = begin(t, stateless)
	p.answers(p.asked(), "SELECT_MODE", "developer")
	p.crash(p.working(), 5)
	q = p.asked()
	q.Deferred = true
	p.do(q)
	testkit.Same(t, "the Arbiter", AgentBusy, p.agent("arbiter").Status)
	p.contains("what the Arbiter reads", p.lastSent("arbiter"), "is gone", "Decide.")
}

// TestFallbackModeOutlastsTheInput: the rules continue in fallback mode when the human leaves.
func TestFallbackModeOutlastsTheInput(t *testing.T) {
	p := begin(t, nil)
	p.crash("arbiter", 5)
	p.do(input.InputEnded{})
	p.goesOn("the end of the input ended the run")
	id := p.working()
	p.stopped()
	p.do(input.Resumed{Options: p.s.Options})
	testkit.Same(t, "in another process run, and the rules decide", "", p.s.Rulings.FallbackReason)
	testkit.Same(t, "the Arbiter", AgentStarting, p.agent("arbiter").Status)
	p.settles()
	p.restartDue(id)
	p.settles()
	p.verdict(id, report("done", "a plan", true))
	p.contains("what the Arbiter reads", p.lastSent("arbiter"), "a plan")
}

// TestAnArbiterThatDoesNotRuleIsNotRenewed: it receives no messages, so its context does not grow.
func TestAnArbiterThatDoesNotRuleIsNotRenewed(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.HumanPresent = false })
	p.happen("arbiter", bridge.Context{Tokens: 190_000, Window: 200_000, Pct: 95})
	for p.s.Rulings.FallbackReason == "" {
		p.goesOn("ended")
		p.turn("arbiter", bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatTool, Error: "refused"})
	}
	id := p.working()
	for range 3 {
		p.verdict(id, report("progress", "on the way", false))
	}
	testkit.Check(t, p.s.Renewal.Stage == RenewalNone &&
		!slices.ContainsFunc(p.s.Conversation.WorkLog, func(e ConversationEntry) bool { return e.Kind == KindRenewal }),
		"renewal %q; work log %+v", p.s.Renewal.Stage, p.s.Conversation.WorkLog)
}

// TestADocumentIsJudgedByItsOwnWork: even if another agent's document came after it.
func TestADocumentIsJudgedByItsOwnWork(t *testing.T) {
	judges := func(p *play, input json.RawMessage, text string) {
		t.Helper()
		var in decider.EvaluateProgressInput
		testkit.OK(t, json.Unmarshal(input, &in))
		testkit.Check(t, in.LastExecution.Output != nil && strings.Contains(in.LastExecution.Output.Full, text),
			"judged is %+v, and not %q", in.LastExecution.Output, text)
	}
	p := begin(t, nil)
	one, two := p.spawn("this"), p.spawn("that")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.say("How is it?")
	p.verdict(one, report("done", "this is done", true))
	p.verdict(two, report("done", "that is done", true))
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	testkit.Need(t, p.s.Rulings.ArbiterRequest != nil && p.s.Rulings.ArbiterRequest.About == one, "posed is %+v",
		p.s.Rulings.ArbiterRequest)
	judges(p, p.s.Rulings.ArbiterRequest.Input, "this is done")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	judges(p, p.s.Rulings.ArbiterRequest.Input, "that is done")

	p = begin(t, stateless)
	p.say("Do both.")
	one, two = p.spawn("this"), p.spawn("that")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.command(contract.Pause{})
	p.verdict(one, report("done", "this is done", true))
	p.verdict(two, report("done", "that is done", true))
	p.command(contract.Continue{})
	judges(p, p.asked().Input, "this is done")
	p.answers(p.asked(), "CONTINUE", "")
	p.verdict(one, report("done", "this is better", true))
	judges(p, p.asked().Input, "that is done")
}

// TestAHandOffContinuesUnderTheSameMode: also if a decider other than the Arbiter decides.
func TestAHandOffContinuesUnderTheSameMode(t *testing.T) {
	for name, change := range map[string]func(*runconfig.Options){"decider": stateless, "fallback mode": nil} {
		p := begin(t, change)
		if change == nil {
			p.crash("arbiter", 5)
			p.verdict(p.working(), report("done", "a plan", true))
		} else {
			p.answers(p.asked(), "SELECT_MODE", "developer")
		}
		id := p.working()
		p.verdict(id, report("handoff", "I tire", true))
		next := p.working()
		if a := p.agent(next); next == id || a.Mode != "developer" || a.Predecessor != id {
			t.Errorf("%s: %s, a %s, takes up the work of %s", name, next, a.Mode, a.Predecessor)
		}
		testkit.Same(t, fmt.Sprintf("%s: the successor got the document times", name), 1,
			strings.Count(p.sentTo(next), "the first half"))
		if !slices.ContainsFunc(effects[input.Note](p), func(n input.Note) bool {
			return n.Decision.About == id &&
				len(n.Decision.Input) > 0
		}) {
			t.Errorf("%s: the decision is not recorded", name)
		}
	}
}

// TestAPhaseOutlastsAProcessWithoutABridge: the earlier phase is restored.
func TestAPhaseOutlastsAProcessWithoutABridge(t *testing.T) {
	for _, orderly := range []bool{true, false} {
		p, id := oneWorks(t, nil)
		p.crash(id, 5)
		testkit.Same(t, "p.s.Task.Phase", machine.Error, p.s.Task.Phase)
		if orderly {
			p.stopped()
		}
		p.do(input.NoBridge{Options: p.s.Options, Category: bridge.CatClaudeMissing, Message: "no claude"})
		p.do(input.Resumed{Options: p.s.Options})
		testkit.Same(t, fmt.Sprintf("orderly %v", orderly), machine.Error, p.s.Task.Phase)
	}
}

// TestAnAgentChosenWithoutABridge: the agent starts when there is a bridge again.
func TestAnAgentChosenWithoutABridge(t *testing.T) {
	p := begin(t, stateless)
	q := p.asked()
	p.do(input.BridgeLost{Message: "gone"})
	p.out = nil
	p.answers(q, "SELECT_MODE", "developer")
	testkit.Same(t, "starts without a bridge", 0, len(effects[input.Spawn](p)))
	p.do(input.Timer{Key: LifecycleTimerKey(LifecycleHere)})
	p.do(input.BridgeBack{})
	p.settles()
	p.restartDue("orch-1")
	p.settles()
	p.contains("the brief", p.lastSent("orch-1"), "Build it", "kind: brief")
	testkit.Same(t, "failures", 0, p.s.Task.Failures)
}

// TestNumbersOfDecisions: with every decider, a decision is reported and recorded under the same number.
func TestNumbersOfDecisions(t *testing.T) {
	p := begin(t, nil)
	p.command(contract.ForceAgent{Mode: "planner"})
	id := p.working()
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.crash("arbiter", 5)
	p.verdict(id, report("question", "May I?", true))
	p.verdict(id, report("done", "a plan", true))
	var said, kept []int
	for _, d := range told[contract.Decision](p) {
		said = append(said, d.Number)
	}
	for _, n := range effects[input.Note](p) {
		kept = append(kept, n.Decision.Number)
	}
	want := []int{1, 2, 3, 4}
	testkit.Same(t, "told", want, said)
	testkit.Same(t, "recorded", want, kept)
}

// TestMessageLeavesOtherDocumentsPending: the document of another agent still waits for the decider.
func TestMessageLeavesOtherDocumentsPending(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("this")
	two := p.spawn("that")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict(one, report("done", "this is done", true))
	testkit.Same(t, "p.s.Task.Phase", machine.Evaluating, p.s.Task.Phase)
	p.say("Hurry.", contract.Note, two)
	testkit.Same(t, "and a document is with the Arbiter", machine.Evaluating, p.s.Task.Phase)
}

// TestStatusTellsHowTheTaskStands: the status contains what the Arbiter needs for its ruling.
func TestStatusTellsHowTheTaskStands(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.MaxTotalFailures, o.Decider = 9, runconfig.DeciderHybrid })
	p.answers(p.asked(), "SELECT_MODE", "developer")
	p.stumble(p.working())
	p.contains("status", p.call("arbiter", "status", `{}`).Text, "failures in a row: 1 of 3", "in all: 1 of 9",
		"executions: 1", "decider: hybrid", "last error", "exit code 1")
}

// TestOneThatAsksInVainIsReplaced: it does not fail again while another agent does its work.
func TestOneThatAsksInVainIsReplaced(t *testing.T) {
	p, id := oneWorks(t, func(o *runconfig.Options) { o.MaxFailures = 6 })
	p.crash("arbiter", 5)
	for a := p.agent(id); a.Alive() && p.s.Ending == nil; a = p.agent(id) {
		p.verdict(id, report("question", "May I?", true))
	}
	testkit.Need(t, p.s.Ending == nil && p.s.Task.Failures <= 3, "%d failures, ending %+v", p.s.Task.Failures,
		p.s.Ending)
	next := p.working()
	testkit.Check(t, next != id, "%s is at work", next)
}

// TestTheArbiterReleasesAllAndRulesNoMore: the rules choose again.
func TestTheArbiterReleasesAllAndRulesNoMore(t *testing.T) {
	p := begin(t, nil)
	p.spawn("work")
	p.call("arbiter", "release_orchestrator", `{"id":"all","reason":"enough"}`)
	p.turn("arbiter", bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatTool, Error: "refused"})
	testkit.Check(t, p.s.Rulings.FallbackReason != "" && p.working() == "orch-2", "fallback mode %q in %s: %s",
		p.s.Rulings.FallbackReason, p.s.Task.Phase, p.s.LivingText())
}
