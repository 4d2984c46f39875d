package supervisor

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
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

const reserved = "May the old format go? You kept that for yourself."

// reserves lets an Orchestrator ask what only the human may decide, and the Arbiter pass it on, while another
// Orchestrator works.
func reserves(t *testing.T, change func(*runconfig.Options)) (p *play, asks, works string) {
	t.Helper()
	p, asks, works = twoWork(t, change)
	p.verdict(asks, report("question", "May the old format go?", true))
	p.verdict("arbiter", ruling("ADDRESS_HUMAN", reserved))
	return p, asks, works
}

// stillAsks checks that the run still waits for the human's answer.
func (p *play) stillAsks(asks string) {
	p.t.Helper()
	if p.s.Ending != nil {
		p.t.Fatalf("the run ended: %+v", p.s.Ending)
	}
	if q := p.s.Question.Open; q == nil || !strings.Contains(q.Text, reserved) {
		p.t.Fatalf("open is %+v", q)
	}
	if a := p.agent(asks); a.Standing != AgentWaiting || strings.Contains(p.sentTo(asks), "Decide yourself") {
		p.t.Errorf("%s is %s, and was told:\n%s", asks, a.Standing, p.sentTo(asks))
	}
}

// TestAQuestionIsOpenWhileAgentsWork: it is reported as a question, and stays open until it is answered.
func TestAQuestionIsOpenWhileAgentsWork(t *testing.T) {
	babbles := func(p *play) {
		p.rambles("arbiter", "hm")
	}
	for name, then := range map[string]func(p *play, asks, works string){
		"nothing else happens": func(*play, string, string) {},
		"the other is done, and the Arbiter waits": func(p *play, _, works string) {
			p.verdict(works, report("done", "that is done", true))
			p.verdict("arbiter", ruling("CONTINUE", "Patience."))
		},
		"the Arbiter would complete over it": func(p *play, asks, works string) {
			p.verdict(works, report("done", "that is done", true))
			p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "s"))
			p.contains("the correction", p.lastSent("arbiter"), "kind: correction", "has not answered", "May the old format go?")
			p.stillAsks(asks)
			p.verdict("arbiter", ruling("CONTINUE", "Patience."))
		},
		"the Arbiter gives no verdict": func(p *play, _, works string) {
			p.verdict(works, report("done", "that is done", true))
			babbles(p)
		},
		"the Arbiter gives no verdict while the other works": func(p *play, _, works string) {
			p.verdict(works, report("question", "Which port?", true))
			p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "8080", "to", works))
			p.verdict(works, report("introduction", "It listens.", true))
			babbles(p)
		},
		"the Arbiter is down": func(p *play, asks, works string) {
			p.crash("arbiter", 5)
			p.stillAsks(asks)
			p.verdict(works, report("done", "that is done", true))
			p.stillAsks(asks)
			p.mustCommand(contract.Choose{Option: "retry"})
			p.settles()
			p.verdict("arbiter", ruling("CONTINUE", "Patience."))
		},
		"it asks something else": func(p *play, _, works string) {
			p.verdict(works, report("question", "Which port?", true))
			p.verdict("arbiter", ruling("ADDRESS_HUMAN", "And which port?"))
			p.contains("what is open", p.s.Question.Open.Text, "And which port?")
		},
		"it is taken up again": func(p *play, _, _ string) {
			p.do(input.Signal{Signal: "INT"})
			p.finished()
			p.out = nil
			p.do(input.Resumed{Options: p.s.Options})
			for _, a := range p.s.Agents {
				p.begun(a.ID)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, asks, works := reserves(t, nil)
			if q := told[contract.Question](p); len(q) != 1 || q[0].Text != reserved {
				t.Fatalf("questions: %+v", q)
			}
			testkit.Same(t, fmt.Sprintf("phase while %s works", works), machine.Executing, p.s.Task.Phase)
			then(p, asks, works)
			p.stillAsks(asks)
			p.say("It may go.")
			if p.s.Question.Open != nil {
				t.Errorf("still open: %+v", p.s.Question.Open)
			}
			p.contains("what the Arbiter reads", p.lastSent("arbiter"), "kind: answer", "It may go.")
		})
	}
}

// TestAQuestionWithoutAWaitingAgent: the Arbiter is notified once that it completes while its own question is
// open, and the human is notified that it did.
func TestAQuestionWithoutAWaitingAgent(t *testing.T) {
	p := begin(t, nil)
	id := p.spawn("work")
	p.verdict("arbiter", ruling("ADDRESS_HUMAN", "Shall there be tests?"))
	p.verdict(id, report("done", "it is done, with tests", true))
	p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "s"))
	p.contains("the correction", p.lastSent("arbiter"), "has not answered", "Shall there be tests?", "once more")
	p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "s"))
	if r, _ := p.finished(); r.Status != contract.StatusComplete || !strings.HasPrefix(r.Summary, "s.") {
		t.Errorf("result %+v", r)
	}
	if !slices.ContainsFunc(told[contract.Notice](p), func(n contract.Notice) bool { return strings.Contains(n.Text, "Shall there be tests?") }) {
		t.Error("the human is not told")
	}
}

// TestADeciderDoesNotCompleteOverAQuestion: a decider that judges the work of another agent does not close a
// question to the human.
func TestADeciderDoesNotCompleteOverAQuestion(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.Decider = runconfig.DeciderStateless })
	p.answers(p.asked(), "SELECT_MODE", "developer")
	asks := p.working()
	p.verdict(asks, report("question", "May the old format go?", true))
	p.mustCommand(contract.ForceAgent{Mode: "reviewer"})
	p.verdict("arbiter", ruling("ADDRESS_HUMAN", reserved))
	works := p.working()
	p.verdict(works, report("done", "that is done", true))
	p.answers(p.asked(), "COMPLETE", "")
	p.stillAsks(asks)
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.stillAsks(asks)
	p.say("It may go.")
	for range 2 { // the document that it was given, and the answer
		if p.agent("arbiter").Status == AgentBusy {
			p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "It may go.", "to", asks))
		}
	}
	p.contains("what it receives", p.sentTo(asks), "It may go.")
}

// TestAnAnswerToTheHumanIsNoQuestion: while an agent works, an answer to the human is a question only if it
// asks something.
func TestAnAnswerToTheHumanIsNoQuestion(t *testing.T) {
	back := ruling("ADDRESS_HUMAN", "Tell me which.")
	back["report"] = false
	for _, c := range []struct {
		verdict map[string]any
		asks    bool
	}{
		{ruling("ADDRESS_HUMAN", "It goes."), false}, {ruling("ADDRESS_HUMAN", "It goes. Shall the old one stay?"), true}, {back, true},
	} {
		p, _ := oneWorks(t, nil)
		p.say("How goes it?")
		p.verdict("arbiter", c.verdict)
		if asks := p.s.Question.Open != nil; asks != c.asks || len(told[contract.Question](p)) > 0 != c.asks {
			t.Errorf("%v: a question: %v", c.verdict, asks)
		}
	}
}

// TestAReportIsNoQuestion: while an agent works, the Arbiter may say that its verdict is a report; the run
// does not wait for an answer to it.
func TestAReportIsNoQuestion(t *testing.T) {
	goesWell := ruling("ADDRESS_HUMAN", "It goes well.")
	goesWell["report"] = true
	p := begin(t, nil)
	id := p.spawn("work")
	p.verdict("arbiter", goesWell)
	if m := last[contract.Message](p); m.Kind != KindReport || m.To != contract.Human || m.Text != "It goes well." {
		t.Errorf("message %+v", m)
	}
	if p.s.Question.Open != nil || len(told[contract.Question](p)) > 0 {
		t.Error("a report became a question")
	}
	p.verdict(id, report("question", "Which port?", true))
	p.verdict("arbiter", goesWell)
	if p.s.Question.Open == nil {
		t.Error("no agent works, and the run asks no human")
	}
}

// TestAskedInVain: without a human a second question does not end the work of other agents. It ends the run if
// no agent works when the question comes.
func TestAskedInVain(t *testing.T) {
	p, asks, works := reserves(t, func(o *runconfig.Options) { o.HumanPresent = false })
	p.contains("the answer", p.lastSent("arbiter"), "No human is present")
	p.verdict("arbiter", ruling("ADDRESS_HUMAN", reserved))
	p.stillAsks(asks)
	testkit.Same(t, "questions", 2, len(told[contract.Question](p)))
	p.verdict(works, report("done", "that is done", true))
	p.verdict("arbiter", ruling("ADDRESS_HUMAN", "What now?"))
	r, exit := p.finished()
	if r.Status != contract.StatusNeedsInput || exit != contract.ExitNeedsInput {
		t.Errorf("result %+v, exit %d", r, exit)
	}
	p.contains("the result", r.Summary, reserved, "What now?")
}

// TestCompleteWaitsForTheHumansWords: the Arbiter first reads the human's messages that were accepted before
// COMPLETE.
func TestCompleteWaitsForTheHumansWords(t *testing.T) {
	for _, strength := range []string{contract.Note, contract.Steer, contract.Stop} {
		p := begin(t, nil)
		p.proven("arbiter")
		p.say("And a test, please.", strength)
		turn := p.agent("arbiter").Turn[:1]
		raw := verdictTurn(ruling("COMPLETE", "It is done.", "summary", "s"), bridge.Turn{})
		raw.MessageIDs, raw.Outcome = turn, bridge.TurnDone
		p.happen("arbiter", raw)
		if p.s.Ending != nil {
			t.Fatalf("%s: the run ended: %+v", strength, p.s.Ending)
		}
		p.contains(strength, p.lastSent("arbiter"), "And a test, please.")
		p.contains("the notice", last[contract.Notice](p).Text, "COMPLETE")
		p.verdict("arbiter", ruling("COMPLETE", "It is tested, too.", "summary", "s"))
		p.endsAs(contract.StatusComplete, contract.ExitComplete)
	}
}

// TestDeciderDoesNotCompleteWithUnreadMessages: the Arbiter first reads the human's messages.
func TestDeciderDoesNotCompleteWithUnreadMessages(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.Decider = runconfig.DeciderStateless })
	q := effects[input.Decide](p)[0].Question
	p.say("And a test, please.")
	q.Decision = decider.Decision{Decision: "COMPLETE", Summary: "all of it", Reason: "r", Source: decider.ByModel}
	p.do(input.Decided(q))
	p.goesOn("the run ended")
	d := last[contract.Decision](p)
	if !slices.ContainsFunc(d.Warnings, func(w string) bool { return strings.Contains(w, "not taken") }) {
		t.Errorf("decision %+v", d)
	}
	p.verdict("arbiter", ruling("SELECT_MODE", "Test it.", "mode", "tester"))
	testkit.Same(t, "a works", "tester", p.agent(p.working()).Mode)
}

// TestRulesDoNotCompleteWithUnreadMessages: if the Arbiter can no longer read them, the run asks the human
// to restart it.
func TestRulesDoNotCompleteWithUnreadMessages(t *testing.T) {
	p := begin(t, nil)
	id := p.spawn("work")
	p.say("And a test, please.")
	p.crash("arbiter", 5)
	if p.s.Rulings.FallbackReason == "" {
		t.Fatal("the Arbiter rules")
	}
	for n := 0; n < 8 && p.s.Question.Open == nil && p.s.Ending == nil; n++ {
		if n > 0 {
			id = p.working()
		}
		whole := report("done", "it is done", true)
		whole["handoff"] = verdict.Document{Accomplished: []string{"all of it"}, KeyContext: "none"}
		p.verdict(id, whole)
	}
	if p.s.Ending != nil || p.s.Question.Open == nil {
		t.Fatalf("ending %+v, question %+v", p.s.Ending, p.s.Question.Open)
	}
	p.contains("the question", p.s.Question.Open.Text, "And a test, please.", "retry")
	p.mustCommand(contract.Choose{Option: "retry"})
	p.settles()
	p.contains("what the Arbiter reads", p.sentTo("arbiter"), "And a test, please.")
	p.verdict("arbiter", ruling("COMPLETE", "It is tested, too.", "summary", "s"))
	for p.s.Ending == nil && p.agent("arbiter").Status == AgentBusy {
		p.verdict("arbiter", ruling("COMPLETE", "It is tested, too.", "summary", "s"))
	}
	p.endsAs(contract.StatusComplete, contract.ExitComplete)
}

func collector() *input.Collector { return &input.Collector{Now: time.Unix(1_800_000_000, 0)} }

// askedQuestion are the questions that were emitted.
func askedQuestion(t *testing.T, c *input.Collector) (list []contract.Question) {
	t.Helper()
	for _, e := range c.Effects() {
		if q, ok := e.(input.Emit).Event.Body.(contract.Question); ok {
			list = append(list, q)
		}
	}
	return list
}

// TestQuestionsJoin: a second question is added to the open one; a repeated question is not added again.
func TestQuestionsJoin(t *testing.T) {
	var s QuestionState
	c := collector()
	s.Put(c, QuestionPart{Text: "Which port?", Arbiter: true, For: []string{"orch-1"}})
	before := s
	s.Put(c, QuestionPart{Text: "Speak."})
	s.Put(c, QuestionPart{Text: "Which port?", Arbiter: true, For: []string{"orch-2"}})
	if s.Text() != "Which port?\n\nSpeak." || s.Asked != 2 || len(s.Open.List()) != 2 {
		t.Errorf("open: %+v", s.Open)
	}
	if before.Text() != "Which port?" || len(before.Open.Parts[0].For) != 1 {
		t.Errorf("the copy before was changed: %+v", before.Open)
	}
	list := askedQuestion(t, c)
	if len(list) != 3 || !reflect.DeepEqual(list[0], list[2]) || list[1].Question != "question-2" {
		t.Errorf("emitted: %+v", list)
	}
	if !s.AwaitsAnswer() || !s.IsNeededBy("orch-2") || s.IsNeededBy("orch-3") ||
		slices.ContainsFunc(s.Open.List(), func(p QuestionPart) bool { return p.Kind == KindAcceptance }) {
		t.Errorf("what it is needed for: %+v", s.Open)
	}
	s.Drop(func(p QuestionPart) bool { return p.Arbiter })
	if s.Text() != "Speak." || s.Open != nil && s.Open.Arbiter {
		t.Errorf("left: %+v", s.Open)
	}
	again := collector()
	if s.Repeat(again); len(askedQuestion(t, again)) != 1 {
		t.Errorf("repeated: %+v", askedQuestion(t, again))
	}
	if s.Drop(func(QuestionPart) bool { return true }); s.Open != nil || s.Text() != "" {
		t.Errorf("nothing is left: %+v", s.Open)
	}
}
