package supervisor

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestUnreadableMessage: a message that the Arbiter's model refuses as too long is not given to a successor
// again. The human is notified, and the run continues.
func TestUnreadableMessage(t *testing.T) {
	large := "BEGINNING " + strings.Repeat("long ", 150_000) + "END"
	for name, c := range map[string]struct {
		say  func(p *play)
		cut  bool // its beginning is passed on
		last string
	}{
		"a large word of the human": {func(p *play) { p.say(large) }, true, "kind: interjection"},
		"a small one":               {func(p *play) { p.say("BEGINNING poison END") }, false, "kind: notice"},
		"a large report": {func(p *play) {
			p.verdict("orch-1", report("question", large, true))
		}, true, "kind: question"},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := oneWorks(t, nil)
			c.say(p)
			p.turn("arbiter", outOfRoom)
			p.succeeds()
			first := p.lastSent("arbiter")
			p.contains("the successor", first, "inheritance", c.last)
			if strings.Contains(first, "END") || strings.Contains(first, "BEGINNING") != c.cut || len(first) > 100_000 {
				t.Errorf("the successor was sent %d bytes: %.3000s", len(first), first)
			}
			e := last[contract.Error](p)
			if e.Category != bridge.CatPromptTooLong || !strings.Contains(e.Message, "too large to be read") || len(e.RecoveryOptions) != 1 {
				t.Errorf("the human is given %+v", e)
			}
			p.verdict("arbiter", ruling("CONTINUE", "Patience."))
			p.goesOn("it ended")
		})
	}
}

// TestUnreadableMessagesDoNotAddUp: however many there are, the run continues.
func TestUnreadableMessagesDoNotAddUp(t *testing.T) {
	p, _ := oneWorks(t, nil)
	for range 2 * MaxGenerated {
		p.say("poison")
		p.turn("arbiter", outOfRoom)
		p.succeeds()
		p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	}
	p.goesOn("")
}

// TestFullContextIsNoFaultOfTheMessage: a message that came when the context was full, or that work was done
// on, goes to the successor unchanged.
func TestFullContextIsNoFaultOfTheMessage(t *testing.T) {
	for name, turn := range map[string]bridge.Turn{
		"no room":       outOfRoom,
		"work was done": {Outcome: bridge.TurnFailed, Category: bridge.CatPromptTooLong, Usage: bridge.Usage{Output: 5000}},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := oneWorks(t, nil)
			p.say("Paint it blue.")
			if name == "no room" {
				p.full("arbiter", 90)
			}
			p.turn("arbiter", turn)
			p.succeeds()
			p.contains("the successor", p.lastSent("arbiter"), "kind: interjection", "Paint it blue.")
		})
	}
}

// TestUnreadableTask: if a human is present, the run asks for another task. Otherwise it ends
// with "needs input". The next Arbiter's conversation contains nothing of the unreadable task.
func TestUnreadableTask(t *testing.T) {
	large := "TASK " + strings.Repeat("long ", 150_000)
	t.Run("a human is there", func(t *testing.T) {
		p := begin(t, func(o *runconfig.Options) { o.Task = large })
		p.turn("arbiter", outOfRoom)
		if p.s.Question.Open == nil || !strings.Contains(p.s.Question.Open.Text, "more than the model can read") {
			t.Fatalf("asked %+v", p.s.Question.Open)
		}
		p.succeeds()
		p.say("Build a bridge.")
		first := p.lastSent("arbiter")
		p.contains("the successor", first, "kind: task", "Build a bridge.")
		if strings.Contains(first, "TASK") || p.s.Task.Text != "Build a bridge." {
			t.Errorf("the task is %.60q, and it was sent %.3000s", p.s.Task.Text, first)
		}
	})
	t.Run("nobody is there", func(t *testing.T) {
		p := begin(t, func(o *runconfig.Options) { o.Task, o.HumanPresent = large, false })
		p.turn("arbiter", outOfRoom)
		p.endsAs(contract.StatusNeedsInput, contract.ExitNeedsInput, "more than the model can read")
	})
}

// TestVerdictTooLarge: the run asks for the verdict again, in fewer words.
func TestVerdictTooLarge(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("build it")
	p.turn("arbiter", bridge.Turn{Oversize: 20 << 20})
	p.contains("the Arbiter", p.lastSent("arbiter"), "kind: correction", "20.0 MiB", "512.0 KiB")
	p.turn(one, bridge.Turn{Oversize: 20 << 20})
	p.contains("the Orchestrator", p.lastSent(one), "kind: correction", "20.0 MiB", "512.0 KiB")
}

// TestNoAgentToContinue: a run that a human paused or halted ends once the human has left and no turn runs any
// more. It can be resumed.
func TestNoAgentToContinue(t *testing.T) {
	for _, c := range []struct {
		how  contract.CommandBody
		says string
	}{{contract.Pause{}, "was paused"}, {contract.Halt{}, "was halted"}} {
		t.Run(c.says, func(t *testing.T) {
			p := begin(t, nil)
			p.spawn("build it")
			p.command(c.how)
			p.do(input.InputEnded{})
			if c.says == "was paused" {
				p.goesOn("a running turn was cut off")
				p.verdict("orch-1", report("progress", "half of it", false))
				p.verdict("arbiter", ruling("CONTINUE", "Patience."))
			}
			if r, exit := p.finished(); exit != contract.ExitNeedsInput || !strings.Contains(r.Summary, c.says) {
				t.Errorf("%+v, exit code %d", r, exit)
			}
			if !p.s.Reached() {
				t.Error("it cannot be taken up")
			}
		})
	}
}
