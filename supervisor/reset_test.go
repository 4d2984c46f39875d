package supervisor

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestNothingBeginsAfterAReset: nothing begins before the human has given another task: the Arbiter's ruling is
// still about the dropped task.
func TestNothingBeginsAfterAReset(t *testing.T) {
	for _, of := range []string{runconfig.DeciderSession, runconfig.DeciderRules} {
		p := begin(t, func(o *runconfig.Options) { o.Decider = of })
		if of == runconfig.DeciderSession {
			p.verdict("arbiter", ruling("ADDRESS_HUMAN", "What shall it be?"))
		}
		p.mustCommand(contract.Reset{})
		if a := p.call("arbiter", "spawn_orchestrator", `{"prompt":"weave"}`); !a.IsError || !strings.Contains(a.Text, "the human reset it") {
			t.Errorf("%s: spawn_orchestrator: %q", of, a.Text)
		}
		for _, v := range []map[string]any{
			ruling("SELECT_MODE", "Weave.", "mode", "developer"), ruling("CONTINUE", "Patience."), ruling("COMPLETE", "Done.", "summary", "Done."),
		} {
			p.verdict("arbiter", v)
			if m := last[contract.Message](p); m.Kind != KindCorrection || !strings.Contains(m.Text, "ADDRESS_HUMAN") {
				t.Errorf("%s: %s: %s: %q", of, v["decision"], m.Kind, m.Text)
			}
			if p.s.Task.Phase != machine.Idle || p.s.Spawned > 0 || p.s.Ending != nil {
				t.Fatalf("%s: %s: %s, %d summoned, ending %+v", of, v["decision"], p.s.Task.Phase, p.s.Spawned, p.s.Ending)
			}
			p.verdict("arbiter", ruling("ADDRESS_HUMAN", "What is wanted?"))
			p.mustCommand(contract.Reset{})
		}
		p.say("A loom")
		if p.s.Task.Text != "A loom" || of == runconfig.DeciderRules && p.s.Task.Phase != machine.Selecting {
			t.Errorf("%s: %q in %s", of, p.s.Task.Text, p.s.Task.Phase)
		}
		p.folds()
	}
}

// TestTheFirstChoiceHasAnInput: the first choice has an input, even if the human sends the task as a message:
// in a run that began without one, and after a reset.
func TestTheFirstChoiceHasAnInput(t *testing.T) {
	for _, way := range []string{"a word", "a reset"} {
		for _, by := range []string{"verdict", "tool"} {
			p := begin(t, untasked)
			p.say("Weave")
			if way == "a reset" {
				p.mustCommand(contract.Reset{})
				p.verdict("arbiter", ruling("ADDRESS_HUMAN", "What is wanted?")) // about the dropped task
				p.verdict("arbiter", ruling("ADDRESS_HUMAN", "What is wanted?"))
				p.say("Weave")
			}
			v := ruling("SELECT_MODE", "Weave.", "mode", "developer")
			if by == "tool" {
				p.spawn("Weave")
				v = ruling("CONTINUE", "Patience.")
			}
			p.verdict("arbiter", v)
			notes := effects[input.Note](p)
			if len(notes) == 0 {
				t.Fatalf("%s, by its %s: nothing is recorded", way, by)
			}
			d := notes[len(notes)-1].Decision
			if d.Point != decider.PointSelect || !strings.Contains(string(d.Input), `"task":"Weave"`) {
				t.Errorf("%s, by its %s: decided at %q on %s", way, by, d.Point, d.Input)
			}
			p.folds()
		}
	}
}

// TestThePlanTellsWhoEachStepIsFor: a renewed Arbiter knows it from the plan.
func TestThePlanTellsWhoEachStepIsFor(t *testing.T) {
	p := begin(t, nil)
	p.mustCommand(contract.SetPlan{Steps: []contract.Step{{Text: "Weave", Status: contract.StepPending, Mode: "developer"}, {Text: "Rest", Status: contract.StepPending}}})
	if m := last[contract.Message](p); !strings.Contains(m.Text, "1. [pending] Weave (for developer)\n2. [pending] Rest\n") {
		t.Errorf("the Arbiter is given %q", m.Text)
	}
}

// TestWhatBecomesOfWordsWithoutAVerdict: text without a verdict is reported correctly: an Orchestrator's goes
// to the Arbiter.
func TestWhatBecomesOfWordsWithoutAVerdict(t *testing.T) {
	p := begin(t, nil)
	id := p.spawn("one")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.rambles(id, "I am done.")
	if e := last[contract.Error](p); strings.Contains(e.Message, "rules") || !strings.Contains(e.Message, "go to the Arbiter as a question") {
		t.Errorf("error %q", e.Message)
	}
	p.contains("the Arbiter's mail", p.lastSent("arbiter"), "I am done.")
}
