package supervisor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// pauses answers reports of an Orchestrator until it waits for the Arbiter, and returns how long it waited before each
// "Continue.".
func (p *play) pauses(id string) (list []time.Duration) {
	p.t.Helper()
	for p.agent(id).Standing == AgentWorking {
		out := p.verdict(id, report("progress", "still at it", false))
		pause := timer(out, RhythmPrefix+RunOf(p.agent(id).AgentRef))
		list = append(list, pause)
		if pause > 0 {
			if p.agent(id).Status != AgentReady {
				p.t.Fatal("it continues before its pause is over")
			}
			p.at = p.at.Add(pause)
			p.do(input.Timer{Key: RhythmPrefix + RunOf(p.agent(id).AgentRef)})
		}
	}
	return list
}

// TestReportsWithoutAChangePause: reports during which no file changes are answered later and later; then the Arbiter
// rules on them, and at last a human is asked.
func TestReportsWithoutAChangePause(t *testing.T) {
	p := begin(t, nil)
	p.careful = true
	id := p.spawn("work")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	got := p.pauses(id)
	want := []time.Duration{0, 0, 5 * time.Second, 10 * time.Second, 20 * time.Second, 0}
	if len(got) != len(want) {
		t.Fatalf("pauses %v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("pauses %v, want %v", got, want)
			break
		}
	}
	p.contains("what the Arbiter reads", p.lastSent("arbiter"), "still at it", "message 6 in a row",
		"without a changed file")
	for p.s.Question.Open == nil {
		p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "Go on.", "to", id))
		p.verdict(id, report("question", "may I go on?", true))
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
			if c.change(p, id); p.agent(id).Stalled > 1 {
				t.Errorf("%d messages in a row changed nothing", p.agent(id).Stalled)
			}
		})
	}
}

// pausing is a run whose Orchestrator waits before it continues.
func pausing(t *testing.T) (p *play, id string) {
	t.Helper()
	p = begin(t, nil)
	p.careful = true
	id = p.spawn("work")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	for range 3 {
		p.verdict(id, report("progress", "still at it", false))
	}
	return p, id
}

// TestAMessageEndsThePause: an Orchestrator that gets another message need not continue.
func TestAMessageEndsThePause(t *testing.T) {
	p, id := pausing(t)
	p.say("stop that", "note", id)
	p.contains("what it reads", p.lastSent(id), "stop that")
	p.verdict(id, report("done", "stopped", true))
	if p.s.pendingFor(id) {
		t.Errorf("another message waits for it: %+v", p.s.Conversation.Mail)
	}
}

// TestPauseEndsWithAResume: a pause does not outlive the process that counts it.
func TestPauseEndsWithAResume(t *testing.T) {
	p, id := pausing(t)
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
			raw, _ := json.Marshal(report("question", "how?", true))
			turn := bridge.Turn{Verdict: raw}
			if changes {
				turn.Files, turn.Tools = []string{"/w/a.go"}, 1
			}
			p.turn(id, turn)
			p.verdict("arbiter", ruling("RETRY", "Again.", "to", id))
		}
		if want := map[bool]int{false: 4, true: 10}[changes]; n != want {
			t.Errorf("with changes %v: %d retries, want %d; %+v", changes, n, want, p.s.Ending)
		}
	}
}

// TestTheSameCallFails: an agent that repeats a failing call gets a message, then the Arbiter gets one, then the turn
// stops. Another call in between starts the count again.
func TestTheSameCallFails(t *testing.T) {
	call := func(p *play, id, command string, failed bool) []input.Effect {
		input, _ := json.Marshal(map[string]string{"command": command})
		p.happen(id, bridge.ToolUse{Tool: "Bash", ToolUse: "t", Input: input})
		return p.happen(id, bridge.ToolResult{ToolUse: "t", IsError: failed, Text: "no"})
	}
	p, id := oneWorks(t, nil)
	for n := 1; n <= failsStopped; n++ {
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
			p.call("arbiter", "release_orchestrator", `{"id":"`+id+`","reason":"it is done"}`)
			p.happen(id, bridge.Done{SessionID: p.agent(id).SessionID, Exit: bridge.Exit{Expected: true}})
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
				if n > emptyForHuman {
					t.Fatalf("nobody is asked after %d documents", n)
				}
				round(p, again)
			}
			if !p.s.Conversation.Held {
				t.Error("the work goes on while a human is asked")
			}
			p.say("go on")
			testkit.Same(t, "after the human's message documents count", 0, p.agent("arbiter").Stalled)

			p = begin(t, func(o *runconfig.Options) { withGit(o); o.HumanPresent = false })
			for n := 0; p.s.Ending == nil; n++ {
				if n > 2*emptyForHuman {
					t.Fatalf("it goes on after %d documents", n)
				}
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
