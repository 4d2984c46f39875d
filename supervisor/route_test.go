package supervisor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestWholeDialogue goes through the dialogue of the hierarchy from the task to the result: question, answer,
// spawns, clarification, report, hand-off, successor.
func TestWholeDialogue(t *testing.T) {
	p := begin(t, nil)
	p.contains("the task", p.lastSent("arbiter"), "Build it", "from: human", "kind: task")
	p.verdict("arbiter", ruling("ADDRESS_HUMAN", "Which port?"))
	testkit.Same(t, "question", "Which port?", last[contract.Question](p).Text)
	p.say("8080")
	p.contains("the answer", p.lastSent("arbiter"), "8080", "kind: answer")

	one := p.spawn("serve on 8080")
	testkit.Same(t, "after the spawn", machine.Executing, p.s.Task.Phase)
	p.contains("the brief", p.lastSent(one), "serve on 8080", "kind: brief", "from: arbiter")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))

	p.verdict(one, report("question", "Which language?", true))
	p.contains("the question", p.lastSent("arbiter"), "Which language?", "from: orch-1", "kind: question")
	p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "Go.", "to", one))
	p.contains("the answer", p.lastSent(one), "Go.", "kind: answer")

	p.verdict(one, report("progress", "half is there", false))
	p.contains("continue", p.lastSent(one), "kind: continue", "from: supervisor")
	p.lacks("a report that expects no answer was sent on its own", p.lastSent("arbiter"), "half is there")
	p.verdict(one, report("handoff", "my context thins", true))
	p.contains("the hand-off", p.lastSent("arbiter"), "work log", "half is there", "my context thins", "the second half")
	testkit.Same(t, "with a hand-off before the Arbiter", machine.Evaluating, p.s.Task.Phase)

	two := p.spawn("go on")
	p.contains("the successor's brief", p.lastSent(two), "go on", "Handed over by Orchestrator I", "port 8080")
	p.verdict("arbiter", ruling("CONTINUE", "Another is summoned."))
	testkit.Same(t, "handoff", one, last[contract.Handoff](p).From)
	testkit.Same(t, "→", two, last[contract.Handoff](p).To)
	testkit.Check(t, p.s.Agents[1].Alive(), "the predecessor was released before its successor spoke")
	p.verdict(two, report("done", "all of it", true))
	k := effects[input.Kill](p)
	testkit.Check(t, len(k) == 1 && k[0].Agent.ID == one, "kills %v", k)
	p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "served on 8080"))
	r, exit := p.finished()
	testkit.Check(t, r.Status == contract.StatusComplete && strings.HasPrefix(r.Summary, "served on 8080.") &&
		exit == contract.ExitComplete && r.Iterations == 2, "result %+v, exit %d", r, exit)
	testkit.Same(t, "states", "selecting executing evaluating executing evaluating complete", strings.Join(phases(p), " "))
}

// TestInvalidVerdicts: the run asks again for an invalid verdict, while that is cheap. Then the rules
// decide, and an event says so. What each correction says is in TestMistakes.
func TestInvalidVerdicts(t *testing.T) {
	for _, c := range []struct {
		name string
		turn bridge.Turn
		want string
	}{
		{"none", bridge.Turn{Text: "I shall think."}, "StructuredOutput"},
		{"waits for nobody", verdictTurn(ruling("CONTINUE", "x"), bridge.Turn{}), "none is at work"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := begin(t, nil)
			corrected := maxCorrections
			if c.turn.Verdict == nil {
				corrected = 1 // the CLI itself has asked again in each turn
			}
			for range corrected {
				p.turn("arbiter", c.turn)
				p.contains("the correction", p.lastSent("arbiter"), "kind: correction", c.want)
			}
			p.turn("arbiter", c.turn)
			d := last[contract.Decision](p)
			// There is a task, and no plan: the rules begin with one.
			testkit.Check(t, d.Decision == "SELECT_MODE" && d.Mode == "planner" && d.Source == "fallback" &&
				len(d.Warnings) != 0, "decision %+v", d)
			testkit.Like(t, "error", contract.Error{Category: bridge.CatVerdict}, last[contract.Error](p))
			p.spawned("orch-1")
			p.contains("the one they chose", p.lastSent("orch-1"), "kind: brief", "Build it")
		})
		t.Run(c.name+", before there is a task", func(t *testing.T) {
			p := begin(t, untasked)
			p.say("Build it")
			for ok := true; ok; ok = p.agent("arbiter").Status == AgentBusy {
				p.turn("arbiter", c.turn)
			}
			testkit.Like(t, "decision", contract.Decision{Decision: "ADDRESS_HUMAN", Source: "fallback"},
				last[contract.Decision](p))
			testkit.Like(t, "error", contract.Error{Category: bridge.CatVerdict}, last[contract.Error](p))
			testkit.Check(t, p.s.Question.Open != nil, "the run asked no human")
		})
	}
}

// untasked begins a run in which the human has not given a task yet.
func untasked(o *runconfig.Options) { o.Task = "" }

// TestWaitingForAQueuedMessage: one agent is done and the Arbiter waits for the other, whose message has
// arrived meanwhile.
func TestWaitingForAQueuedMessage(t *testing.T) {
	p, a, b := twoWork(t, nil)
	p.verdict(a, report("done", "left is done", true))
	p.verdict(b, report("done", "right is done", true))
	p.verdict("arbiter", ruling("CONTINUE", "One is still missing."))
	p.contains("the other's word", p.lastSent("arbiter"), "right is done", "kind: done")
}

// TestAnArbiterThatNeverRulesDoesNotLoop: the rules let the waiting agent continue, it asks again, and so on.
// That must end, and not only by the limit of exchanges.
func TestAnArbiterThatNeverRulesDoesNotLoop(t *testing.T) {
	for _, present := range []bool{true, false} {
		p := begin(t, func(o *runconfig.Options) { o.HumanPresent = present })
		id := p.spawn("work")
		turns := 0
		for ; turns < 100 && p.s.Ending == nil && p.s.Question.Open == nil; turns++ {
			p.settles()
			if last, _ := p.s.Last(); last.Status == AgentBusy {
				id = last.ID
			}
			switch {
			case p.agent(id).Status == AgentBusy:
				p.verdict(id, report("question", "May I?", true))
			case p.agent("arbiter").Status == AgentBusy:
				p.turn("arbiter", bridge.Turn{Text: "hm"})
			default:
				t.Fatal("no agent is busy")
			}
		}
		testkit.Check(t, turns <= 25, "human present %v: %d turns", present, turns)
		if present {
			testkit.Check(t, p.s.Question.Open != nil && p.s.Conversation.Held, "the human was not asked: %+v",
				p.s.Question.Open)
			p.say("go on")
			testkit.Check(t, !p.s.Conversation.Held, "still held after the human's word")
			continue
		}
		p.endsAs(contract.StatusFailed, contract.ExitFailed)
	}
}

func TestAnOrchestratorThatNeverRulesIsBroken(t *testing.T) {
	p, id := oneWorks(t, nil)
	for range 3 {
		p.rambles(id, "hm")
		if strings.Contains(p.lastSent("arbiter"), "failed") {
			break
		}
		p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "Speak plainly.", "to", id))
	}
	p.contains("the Arbiter", p.lastSent("arbiter"), "Orchestrator I (orch-1) failed", "kind: notice")
}

// TestSuccessorWithoutTheArbiter: if the Arbiter only waits after a hand-off, the supervisor spawns a
// successor.
func TestSuccessorWithoutTheArbiter(t *testing.T) {
	p, id := oneWorks(t, nil)
	p.verdict(id, report("handoff", "context thins", true))
	p.verdict("arbiter", ruling("CONTINUE", "So be it."))
	testkit.Same(t, "summoned", 2, p.s.Spawned)
	p.spawned("orch-2")
	p.contains("its brief", p.lastSent("orch-2"), "from: supervisor", "port 8080")
}

func TestInterjectionInThreeStrengths(t *testing.T) {
	p := begin(t, nil)
	id := p.spawn("work")
	p.call(id, "report_progress", `{"message":"one file"}`)
	p.say("also write docs") // the Arbiter's first turn still runs: it waits
	p.lacks("a note was sent into a running turn", p.lastSent("arbiter"), "also write docs")
	p.say("quickly", contract.Steer)
	s := lastEffect[input.Send](p)
	testkit.Check(t, s.Params.Steer && strings.Contains(s.Params.Content, "quickly"), "steer: %+v", s.Params)
	p.say("halt", contract.Stop)
	i := effects[input.Interrupt](p)
	testkit.Check(t, len(i) == 1 && i[0].Agent.ID == "arbiter", "interrupts %v", i)
	p.turn("arbiter", bridge.Turn{Outcome: bridge.TurnInterrupted})
	p.contains("what goes first", p.lastSent("arbiter"), "halt", "kind: interjection")
	p.verdict("arbiter", ruling("CONTINUE", "Heard."))
	p.contains("the note", p.lastSent("arbiter"), "also write docs", "kind: interjection")
	testkit.Empty(t, "the work log did not travel", p.s.Conversation.WorkLog)
}

// TestWorkLogComesBackWhenItsCarrierIsLost: nothing leaves a queue before it is delivered.
func TestWorkLogComesBackWhenItsCarrierIsLost(t *testing.T) {
	p, id := oneWorks(t, nil)
	p.verdict(id, report("progress", "half", false))
	p.verdict(id, report("question", "Q?", true))
	m := p.agent("arbiter").Turn[0]
	p.do(input.NotSent{Agent: p.agent("arbiter").AgentRef, MessageID: m, Message: "deaf"})
	p.contains("the second try", p.lastSent("arbiter"), "half", "Q?")
	testkit.Check(t, lastEffect[input.Send](p).Params.MessageID == m, "the second try has another id")
	p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "A.", "to", id))
	testkit.Check(t, len(p.s.Conversation.WorkLog) == 0 && len(told[contract.Delivered](p)) != 0, "work log %v",
		p.s.Conversation.WorkLog)
}

func TestCeilingOfExchanges(t *testing.T) {
	p, id := oneWorks(t, func(o *runconfig.Options) { o.MaxExchanges = 4 })
	for range 3 {
		p.verdict(id, report("progress", "still here", false))
	}
	p.contains("the Arbiter is asked", p.lastSent("arbiter"), "without a human")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	for range 3 {
		if p.agent(id).Status == AgentBusy {
			p.verdict(id, report("progress", "still here", false))
		}
	}
	testkit.Need(t, p.s.Question.Open != nil && p.s.Conversation.Held, "the human was not asked; exchanges %d",
		p.s.Conversation.Exchanges)
	testkit.Check(t, p.agent(id).Status != AgentBusy, "the talk goes on while a human is awaited")
	p.say("go on")
	testkit.Check(t, !p.s.Conversation.Held && (p.agent(id).Status == AgentBusy || p.agent("arbiter").Status == AgentBusy),
		"a human's word did not let them go on")
}

// TestCeilingWithoutAHuman: the limit ends the run wherever it is reached – by a report, a question, an answer
// or a spawn – and nothing follows the end.
func TestCeilingWithoutAHuman(t *testing.T) {
	for limit := 2; limit < 8; limit++ {
		p := begin(t, func(o *runconfig.Options) { o.MaxExchanges, o.HumanPresent = limit, false })
		id := p.spawn("work")
		for i := 0; p.s.Ending == nil && i < 100; i++ {
			switch {
			case p.agent(id).Status == AgentBusy && i%3 == 0:
				p.verdict(id, report("progress", "still here", false))
			case p.agent(id).Status == AgentBusy:
				p.verdict(id, report("question", "May I?", true))
			case p.agent(id).Standing == AgentWaiting && i%4 == 0:
				p.verdict("arbiter", ruling("SELECT_MODE", "another", "mode", "developer"))
				if p.s.Ending == nil {
					id = fmt.Sprintf("orch-%d", p.s.Spawned)
					p.spawned(id)
				}
			case p.agent(id).Standing == AgentWaiting:
				p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "You may.", "to", id))
			default:
				p.verdict("arbiter", ruling("CONTINUE", "Patience."))
			}
		}
		p.endsAs(contract.StatusLimit, contract.ExitLimit)
	}
}

func TestRetryAfterAPITrouble(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.RetryBase, o.MaxWait, o.Task = time.Second, -1, "" })
	p.say("Build it")
	p.turn("arbiter", bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatOverloaded, Error: "529"})
	testkit.Like(t, "retry", contract.Retry{Attempt: 1, DelayMS: 1000}, last[contract.Retry](p))
	p.do(input.Timer{Key: "retry/arbiter/1"})
	p.contains("the retry", p.lastSent("arbiter"), "kind: retry")
	p.turn("arbiter", bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatOverloaded, Error: "529"})
	p.do(input.Timer{Key: "retry/arbiter/1"})
	p.turn("arbiter", bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatOverloaded, Error: "529"})
	e := told[contract.Error](p)
	testkit.Check(t, len(e) == 1 && e[0].Category == bridge.CatOverloaded, "errors %+v", e)
	p.endsAs(contract.StatusFailed, contract.ExitFailed)
}

func TestContextWarningsOncePerLevel(t *testing.T) {
	p := begin(t, nil)
	for _, pct := range []float64{10, 69.9, 70, 72, 84, 86, 80, 90, 20, 71} {
		p.happen("arbiter", bridge.Context{Tokens: int(pct * 1000), Window: 100_000, Pct: pct})
	}
	levels := testkit.Each(told[contract.ContextWarning](p), func(w contract.ContextWarning) string { return w.Level })
	testkit.Same(t, "levels", "warn critical warn", strings.Join(levels, " "))
	testkit.Same(t, "readings told", 10, len(told[contract.Context](p)))
}

// pauses answers reports of an Orchestrator until it waits for the Arbiter, and returns how long it waited before each
// "Continue.".
func (p *play) pauses(id string) (list []time.Duration) {
	p.t.Helper()
	for p.agent(id).Standing == AgentWorking {
		out := p.verdict(id, report("progress", "still at it", false))
		pause := timer(out, RhythmPrefix+RunOf(p.agent(id).AgentRef))
		list = append(list, pause)
		if pause > 0 {
			testkit.Same(p.t, "it continues before its pause is over", AgentReady, p.agent(id).Status)
			p.at = p.at.Add(pause)
			p.do(input.Timer{Key: RhythmPrefix + RunOf(p.agent(id).AgentRef)})
		}
	}
	return list
}

// TestReportsWithoutAChangePause: reports during which no file changes are answered later and later; then the Arbiter
// rules on them, and at last a human is asked.
func TestReportsWithoutAChangePause(t *testing.T) {
	p, id := oneWorks(t, nil)
	p.careful = true
	got := p.pauses(id)
	want := []time.Duration{0, 0, 5 * time.Second, 10 * time.Second, 20 * time.Second, 0}
	testkit.Same(t, "pauses", want, got)
	p.contains("what the Arbiter reads", p.lastSent("arbiter"), "still at it", "message 6 in a row",
		"without a changed file")
	for p.s.Question.Open == nil {
		p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "Go on.", "to", id))
		p.verdict(id, report("question", "may I go on?", true))
		p.contains("what the Arbiter reads", p.lastSent("arbiter"), "without a changed file")
	}
	testkit.Same(t, "a human is asked at message", stalledForHuman, p.agent(id).Stalled)
	testkit.Same(t, "held", true, p.s.Conversation.Held)
	p.say("go on")
	testkit.Same(t, "what the human says is no news", 0, p.agent(id).Stalled)
}

// TestAChangeEndsThePause: a file that a tool or a command changed, or a document, is progress.
func TestAChangeEndsThePause(t *testing.T) {
	withGit := runconfig.Workspace{Root: "/w", Base: "b"}
	for name, c := range map[string]struct {
		workspace runconfig.Workspace
		change    func(*play, string)
	}{
		"a tool without Git": {runconfig.Workspace{}, func(p *play, id string) { // what it changed is not known
			p.turn(id, verdictTurn(report("progress", "looked", false), bridge.Turn{Tools: 1}))
		}},
		"a tool": {withGit, func(p *play, id string) {
			p.turn(id, verdictTurn(report("progress", "written", false), bridge.Turn{Files: []string{"/w/a.go"}, Tools: 1}))
		}},
		"a command": {withGit, func(p *play, id string) {
			p.turn(id, verdictTurn(report("progress", "written", false), bridge.Turn{Tools: 1}))
			p.recorded("a.go")
		}},
		"a document": {withGit, func(p *play, id string) {
			p.verdict(id, report("done", "all of it", true))
			p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "More.", "to", id))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p, id := oneWorks(t, func(o *runconfig.Options) { o.Workspace = c.workspace })
			for range 4 {
				p.verdict(id, report("progress", "still at it", false))
			}
			c.change(p, id)
			testkit.Check(t, p.agent(id).Stalled <= 1, "%d messages in a row changed nothing", p.agent(id).Stalled)
		})
	}
}

// pausing is a run whose Orchestrator waits before it continues.
func pausing(t *testing.T) (p *play, id string) {
	t.Helper()
	p, id = oneWorks(t, nil)
	p.careful = true
	for range 3 {
		p.verdict(id, report("progress", "still at it", false))
	}
	return p, id
}

// TestWhatEndsAPause: its timer, also if the clock was put back, or the process was replaced meanwhile; another
// message; and a resume, because a pause does not outlive the process that counts it.
func TestWhatEndsAPause(t *testing.T) {
	for _, replaced := range []bool{false, true} {
		p, id := pausing(t)
		key := RhythmPrefix + RunOf(p.agent(id).AgentRef)
		if replaced {
			p.crash(id, 1)
		}
		testkit.Same(t, id, AgentReady, p.agent(id).Status)
		p.at = p.at.Add(-time.Hour)
		p.do(input.Timer{Key: key})
		testkit.Same(t, id, AgentBusy, p.agent(id).Status)
	}
	p, id := pausing(t)
	p.say("stop that", "note", id)
	p.contains("what it reads", p.lastSent(id), "stop that")
	p.verdict(id, report("done", "stopped", true))
	testkit.Check(t, !p.s.pendingFor(id), "another message waits for it: %+v", p.s.Conversation.Mail)
	p, id = pausing(t)
	p.stopped()
	p.resume("")
	p.back(bridge.DeliverySeen)
	testkit.Same(t, id, AgentBusy, p.agent(id).Status)
}

// TestRetriesAreCounted: RETRY and question in turns end at the limit of failures; with changes in between they do
// not.
func TestRetriesAreCounted(t *testing.T) {
	for _, changes := range []bool{false, true} {
		p, id := oneWorks(t, func(o *runconfig.Options) { o.MaxFailures = 3 })
		n := 0
		for ; n < 10 && p.s.Ending == nil; n++ {
			turn := bridge.Turn{}
			if changes {
				turn.Files, turn.Tools = []string{"/w/a.go"}, 1
			}
			p.turn(id, verdictTurn(report("question", "how?", true), turn))
			p.verdict("arbiter", ruling("RETRY", "Again.", "to", id))
		}
		testkit.Same(t, fmt.Sprintf("with changes %v: retries; ending %+v", changes, p.s.Ending),
			map[bool]int{false: 4, true: 10}[changes], n)
	}
}

// TestTheSameCallFails: an agent that repeats a failing call gets a message, then the Arbiter gets one, then the turn
// stops, each time. Another call in between starts the count again.
func TestTheSameCallFails(t *testing.T) {
	call := func(p *play, id, command string, failed bool) []input.Effect {
		p.happen(id, bridge.ToolUse{Tool: "Bash", ToolUse: "t", Input: member("command", command)})
		return p.happen(id, bridge.ToolResult{ToolUse: "t", IsError: failed, Text: "no"})
	}
	p, id := oneWorks(t, nil)
	for i := range 2 * failsStopped {
		n := i%failsStopped + 1
		var sent, noted, stopped bool
		for _, e := range call(p, id, "make test", true) {
			switch e := e.(type) {
			case input.Send:
				sent = strings.Contains(e.Params.Content, "failed 5 times in a row")
			case input.Interrupt:
				stopped = true
			case input.Emit:
				_, notice := e.Event.Body.(contract.Notice)
				noted = noted || notice
			}
		}
		if sent != (n == failsForAgent) || stopped != (n == failsStopped) || noted != (n == failsForArbiter || stopped) {
			t.Errorf("failure %d: told %v, noted %v, stopped %v", n, sent, noted, stopped)
		}
	}
	for _, between := range []bool{false, true} {
		call(p, id, "make", between)
		call(p, id, "make test", true)
		testkit.Same(t, fmt.Sprintf("after another call (failed: %v) it failed times in a row", between), 1,
			p.agent(id).Fails)
	}
}

// TestQuestionsInARow: an Arbiter that asks the human one question after the other is reminded to ask all at once.
func TestQuestionsInARow(t *testing.T) {
	p := begin(t, nil)
	for n := 1; n <= questionsInRow; n++ {
		p.verdict("arbiter", ruling("ADDRESS_HUMAN", "And what of this?"))
		p.say("This is so.")
		testkit.Same(t, fmt.Sprintf("question %d: told", n), (n == questionsInRow),
			strings.Contains(p.lastSent("arbiter"), "5 times in a row"))
	}
}

// TestDocumentsWithoutAChange: an Orchestrator that is done, and another that is summoned and done, for ever: the
// Arbiter reads of it, then a human is asked, and without a human the run ends. A changed file starts the count again.
func TestDocumentsWithoutAChange(t *testing.T) {
	round := func(p *play, again bool) {
		id := fmt.Sprintf("orch-%d", p.s.Spawned)
		if a, ok := p.s.Agent(id); again && ok && a.Alive() {
			p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "Look once more.", "to", id))
		} else {
			id = p.spawn("look at it")
			p.verdict("arbiter", ruling("CONTINUE", "Patience."))
		}
		p.verdict(id, report("done", "all is well", true))
		if !again && p.s.Ending == nil && p.s.Question.Open == nil {
			p.leaves(id)
		}
	}
	withGit := func(o *runconfig.Options) { o.Workspace = runconfig.Workspace{Root: "/w", Base: "b"} }
	for name, again := range map[string]bool{"summoned again": false, "instructed again": true} {
		t.Run(name, func(t *testing.T) {
			p := begin(t, withGit)
			for range emptyForArbiter + 1 {
				round(p, again)
			}
			p.contains("what the Arbiter reads", p.lastSent("arbiter"), "The last 6 documents came without a changed file")
			for n := emptyForArbiter + 1; p.s.Question.Open == nil; n++ {
				testkit.Need(t, n <= emptyForHuman, "nobody is asked after %d documents", n)
				round(p, again)
			}
			testkit.Check(t, p.s.Conversation.Held, "the work goes on while a human is asked")
			p.say("go on")
			testkit.Same(t, "after the human's message documents count", 0, p.agent("arbiter").Stalled)

			p = begin(t, func(o *runconfig.Options) { withGit(o); o.HumanPresent = false })
			for n := 0; p.s.Ending == nil; n++ {
				testkit.Need(t, n <= 2*emptyForHuman, "it goes on after %d documents", n)
				round(p, again)
			}
			if e := p.s.Ending; e.Exit != contract.ExitLimit || !strings.Contains(e.Summary, "without a changed file") {
				t.Errorf("it ends with %d: %s", e.Exit, e.Summary)
			}
		})
	}
	t.Run("a changed file", func(t *testing.T) {
		p := begin(t, withGit)
		for range emptyForArbiter - 1 {
			round(p, true)
		}
		p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "Mend it.", "to", "orch-1"))
		p.turn("orch-1", verdictTurn(report("progress", "written", false), bridge.Turn{Tools: 1}))
		p.recorded("a.go")
		testkit.Same(t, "documents count", 0, p.agent("arbiter").Stalled)
	})
}
