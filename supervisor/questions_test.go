package supervisor

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// exhausted plays a run up to the point where the human is asked about criteria that do not hold.
func exhausted(t *testing.T) *play {
	t.Helper()
	p := begin(t, accepting("make it"))
	for n := 0; n < 3 && p.s.Question.Open == nil; n++ {
		p.complete()
		p.criteria(map[string]string{"make it": "it is broken"})
	}
	if p.s.Question.Open == nil || !p.s.Conversation.Held {
		t.Fatalf("asked: %+v, held %v", p.s.Question.Open, p.s.Conversation.Held)
	}
	return p
}

// TestAHeldRunKeepsItsQuestion: a question that a human has to answer before anything continues stays open when
// the Arbiter's process is lost, and when it is restarted.
func TestAHeldRunKeepsItsQuestion(t *testing.T) {
	p := exhausted(t)
	open := func(when string) {
		t.Helper()
		if p.s.Question.Open == nil || !strings.Contains(p.s.Question.Open.Text, "make it") || !p.s.Conversation.Held {
			t.Fatalf("%s: question %+v, held %v", when, p.s.Question.Open, p.s.Conversation.Held)
		}
	}
	p.crash("arbiter", 5)
	open("the Arbiter is parked")
	testkit.Same(t, "it is a question of kind", KindAcceptance, p.s.QuestionParts()[0].Kind)
	p.mustCommand(contract.Choose{Option: "retry"})
	p.settles()
	open("it is back")
	p.say("Leave it broken.")
	if p.s.Question.Open != nil || p.s.Conversation.Held {
		t.Errorf("after the answer: %+v, held %v", p.s.Question.Open, p.s.Conversation.Held)
	}
	p.proven("arbiter")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.contains("what the Arbiter reads", p.lastSent("arbiter"), "kind: answer", "Leave it broken.")
	p.folds()
}

// TestAnOverrideLeavesAnothersQuestion: a human who gives another command has not answered the question that an
// Orchestrator waits with.
func TestAnOverrideLeavesAnothersQuestion(t *testing.T) {
	p, asks, _ := reserves(t, nil)
	p.mustCommand(contract.ForceAgent{Mode: "reviewer"})
	p.stillAsks(asks)
	p.mustCommand(contract.Say{Text: "Look at the tests, too.", To: "orch-3"})
	p.stillAsks(asks)
	p.mustCommand(contract.Kill{ID: "orch-3"})
	p.stillAsks(asks)
	p.say("It may go.")
	if p.s.Question.Open != nil {
		t.Errorf("still open: %+v", p.s.Question.Open)
	}
	p.folds()
}

// TestAQuestionBlocksWhoNeedsTheAnswer: when the rules decide, an Orchestrator that asked something else
// continues, and the one that waits for the human does not.
func TestAQuestionBlocksWhoNeedsTheAnswer(t *testing.T) {
	p, asks, works := reserves(t, nil)
	p.crash("arbiter", 5)
	if p.s.Rulings.FallbackReason == "" {
		t.Fatal("the Arbiter rules")
	}
	p.verdict(works, report("question", "Which port?", true))
	if a := p.agent(works); a.Standing != AgentWorking || !strings.Contains(p.lastSent(works), "Decide yourself") {
		t.Errorf("%s is %s", works, a.Standing)
	}
	p.stillAsks(asks)
	p.folds()
}

// TestQuestionsAreDistinguished: each has its own number, and the next message answers all.
func TestQuestionsAreDistinguished(t *testing.T) {
	p, asks, works := reserves(t, nil)
	p.verdict(works, report("question", "Which port?", true))
	p.verdict("arbiter", ruling("ADDRESS_HUMAN", "And which port?"))
	p.stillAsks(asks)
	var ids []string
	for _, q := range told[contract.Question](p) {
		ids = append(ids, q.Question)
	}
	testkit.Same(t, "told", "question-1 question-2", strings.Join(ids, " "))
	if n := len(p.s.Question.Open.Parts); n != 2 || !p.s.Question.Open.Parts[1].At.After(p.s.Question.Open.Parts[0].At) {
		t.Errorf("open: %+v", p.s.Question.Open.Parts)
	}
	p.mustCommand(contract.Say{Text: "Ask again.", To: works})
	p.verdict(works, report("question", "Which port, please?", true))
	p.verdict("arbiter", ruling("ADDRESS_HUMAN", "And which port?")) // which is open already
	if q := last[contract.Question](p); len(p.s.Question.Open.Parts) != 2 || q.Question != "question-2" {
		t.Errorf("asked again: %+v of %+v", q, p.s.Question.Open.Parts)
	}
	p.out = nil
	p.resume("")
	if again := told[contract.Question](p); len(again) != 2 || again[1].Question != "question-2" ||
		again[1].Text != "And which port?" {
		t.Errorf("told again: %+v", again)
	}
	p.say("It may go, and 8080.")
	if p.s.Question.Open != nil {
		t.Errorf("still open: %+v", p.s.Question.Open)
	}
	p.folds()
}

// TestAnsweredByTheNextProcess: a run that ended with a question for a human is resumed with the answer,
// without a human present. The Arbiter reads the answer, and not that no human is present.
func TestAnsweredByTheNextProcess(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.HumanPresent = false })
	p.verdict("arbiter", ruling("ADDRESS_HUMAN", "Which?"))
	p.verdict("arbiter", ruling("ADDRESS_HUMAN", "But which?"))
	if _, exit := p.finished(); exit != contract.ExitNeedsInput {
		t.Fatalf("exit %d", exit)
	}
	p.resume("The blue one.")
	p.back(bridge.DeliveryAbsent)
	p.contains("the Arbiter reads", p.lastSent("arbiter"), "The blue one.")
	for _, m := range told[contract.Message](p) {
		if strings.Contains(m.Text, "No human is present") {
			t.Errorf("told %q", m.Text)
		}
	}
	if p.s.Question.Open != nil {
		t.Errorf("still open: %q", p.s.Question.Open.Text)
	}
}
