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
	testkit.Need(t, p.s.Question.Open != nil && p.s.Conversation.Held, "asked: %+v, held %v", p.s.Question.Open,
		p.s.Conversation.Held)
	return p
}

// TestAHeldRunKeepsItsQuestion: a question that a human has to answer before anything continues stays open when
// the Arbiter's process is lost, and when it is restarted.
func TestAHeldRunKeepsItsQuestion(t *testing.T) {
	p := exhausted(t)
	open := func(when string) {
		t.Helper()
		testkit.Need(t, p.s.Question.Open != nil && strings.Contains(p.s.Question.Text(), "make it") &&
			p.s.Conversation.Held, "%s: question %+v, held %v", when, p.s.Question.Open, p.s.Conversation.Held)
	}
	p.crash("arbiter", 5)
	open("the Arbiter is parked")
	testkit.Same(t, "it is a question of kind", KindAcceptance, p.s.Question.Open[0].Kind)
	p.mustCommand(contract.Choose{Option: "retry"})
	p.settles()
	open("it is back")
	p.say("Leave it broken.")
	testkit.Check(t, p.s.Question.Open == nil && !p.s.Conversation.Held, "after the answer: %+v, held %v",
		p.s.Question.Open, p.s.Conversation.Held)
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
	testkit.Check(t, p.s.Question.Open == nil, "still open: %+v", p.s.Question.Open)
}

// TestAQuestionBlocksWhoNeedsTheAnswer: when the rules decide, an Orchestrator that asked something else
// continues, and the one that waits for the human does not.
func TestAQuestionBlocksWhoNeedsTheAnswer(t *testing.T) {
	p, asks, works := reserves(t, nil)
	p.crash("arbiter", 5)
	testkit.Need(t, p.s.Rulings.FallbackReason != "", "the Arbiter rules")
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
	ids := testkit.Each(told[contract.Question](p), func(q contract.Question) string { return q.Question })
	testkit.Same(t, "told", "question-1 question-2", strings.Join(ids, " "))
	testkit.Check(t, len(p.s.Question.Open) == 2 &&
		p.s.Question.Open[1].At.After(p.s.Question.Open[0].At), "open: %+v", p.s.Question.Open)
	p.mustCommand(contract.Say{Text: "Ask again.", To: works})
	p.verdict(works, report("question", "Which port, please?", true))
	p.verdict("arbiter", ruling("ADDRESS_HUMAN", "And which port?")) // which is open already
	if q := last[contract.Question](p); len(p.s.Question.Open) != 2 || q.Question != "question-2" {
		t.Errorf("asked again: %+v of %+v", q, p.s.Question.Open)
	}
	p.out = nil
	p.resume("")
	again := told[contract.Question](p)
	testkit.Check(t, len(again) == 2 && again[1].Question == "question-2" && again[1].Text == "And which port?",
		"told again: %+v", again)
	p.say("It may go, and 8080.")
	testkit.Check(t, p.s.Question.Open == nil, "still open: %+v", p.s.Question.Open)
}

// TestAnsweredByTheNextProcess: a run that ended with a question for a human is resumed with the answer,
// without a human present. The Arbiter reads the answer, and not that no human is present.
func TestAnsweredByTheNextProcess(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.HumanPresent = false })
	p.verdict("arbiter", ruling("ADDRESS_HUMAN", "Which?"))
	p.verdict("arbiter", ruling("ADDRESS_HUMAN", "But which?"))
	p.endsAs(contract.StatusNeedsInput, contract.ExitNeedsInput)
	p.resume("The blue one.")
	p.back(bridge.DeliveryAbsent)
	p.contains("the Arbiter reads", p.lastSent("arbiter"), "The blue one.")
	for _, m := range told[contract.Message](p) {
		testkit.Excludes(t, "told", m.Text, "No human is present")
	}
	testkit.Check(t, p.s.Question.Open == nil, "still open: %q", p.s.Question.Text())
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
	testkit.Need(p.t, p.s.Ending == nil, "the run ended: %+v", p.s.Ending)
	testkit.Need(p.t, strings.Contains(p.s.Question.Text(), reserved), "open is %+v", p.s.Question.Open)
	if a := p.agent(asks); a.Standing != AgentWaiting || strings.Contains(p.sentTo(asks), "Decide yourself") {
		p.t.Errorf("%s is %s, and was told:\n%s", asks, a.Standing, p.sentTo(asks))
	}
}

// TestAQuestionIsOpenWhileAgentsWork: it is reported as a question, and stays open until it is answered.
func TestAQuestionIsOpenWhileAgentsWork(t *testing.T) {
	babbles := func(p *play) { p.rambles("arbiter", "hm") }
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
			p.contains("what is open", p.s.Question.Text(), "And which port?")
		},
		"it is taken up again": func(p *play, _, _ string) {
			p.stopped()
			p.resume("")
			p.back(bridge.DeliveryBegun)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, asks, works := reserves(t, nil)
			q := told[contract.Question](p)
			testkit.Need(t, len(q) == 1 && q[0].Text == reserved, "questions: %+v", q)
			testkit.Same(t, fmt.Sprintf("phase while %s works", works), machine.Executing, p.s.Task.Phase)
			then(p, asks, works)
			p.stillAsks(asks)
			p.say("It may go.")
			testkit.Check(t, p.s.Question.Open == nil, "still open: %+v", p.s.Question.Open)
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
	r, _ := p.finished()
	testkit.Check(t, r.Status == contract.StatusComplete && strings.HasPrefix(r.Summary, "s."), "result %+v", r)
	testkit.Check(t, p.notices("Shall there be tests?") > 0, "the human is not told")
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

// TestWhatIsNoQuestion: while an agent works, an answer to the human is a question only if it asks something, and the
// Arbiter may say that its verdict is a report. If no agent works, the run asks the human in any case.
func TestWhatIsNoQuestion(t *testing.T) {
	reported := func(text string, is bool) map[string]any {
		v := ruling("ADDRESS_HUMAN", text)
		v["report"] = is
		return v
	}
	for _, c := range []struct {
		spoken, idle bool // the human has said something; no agent works
		verdict      map[string]any
		asks         bool
	}{
		{true, false, ruling("ADDRESS_HUMAN", "It goes."), false},
		{true, false, ruling("ADDRESS_HUMAN", "It goes. Shall the old one stay?"), true},
		{true, false, reported("Tell me which.", false), true},
		{false, false, reported("It goes well.", true), false}, {false, true, reported("It goes well.", true), true},
	} {
		p, id := oneWorks(t, nil)
		if c.spoken {
			p.say("How goes it?")
		} else if p.verdict(id, report("question", "Which port?", true)); !c.idle {
			p.spawn("more work")
		}
		p.verdict("arbiter", c.verdict)
		if asks := p.s.Question.Open != nil; asks != c.asks || len(told[contract.Question](p)) > 0 != c.asks {
			t.Errorf("%v: a question: %v", c.verdict, asks)
		}
		if c.verdict["report"] == true && !c.asks {
			testkit.Like(t, "message", contract.Message{Kind: KindReport, To: contract.Human, Text: "It goes well."},
				last[contract.Message](p))
		}
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
	p.endsAs(contract.StatusNeedsInput, contract.ExitNeedsInput, reserved, "What now?")
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
		testkit.Need(t, p.s.Ending == nil, "%s: the run ended: %+v", strength, p.s.Ending)
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
	testkit.Check(t, slices.ContainsFunc(d.Warnings, func(w string) bool { return strings.Contains(w, "not taken") }),
		"decision %+v", d)
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
	testkit.Need(t, p.s.Rulings.FallbackReason != "", "the Arbiter rules")
	for n := 0; n < 8 && p.s.Question.Open == nil && p.s.Ending == nil; n++ {
		if n > 0 {
			id = p.working()
		}
		whole := report("done", "it is done", true)
		whole["handoff"] = verdict.Document{Accomplished: []string{"all of it"}, KeyContext: "none"}
		p.verdict(id, whole)
	}
	testkit.Need(t, p.s.Ending == nil && p.s.Question.Open != nil, "ending %+v, question %+v", p.s.Ending,
		p.s.Question.Open)
	p.contains("the question", p.s.Question.Text(), "And a test, please.", "retry")
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

// TestQuestionsJoin: a second question is added to the open one; a repeated question is not added again.
func TestQuestionsJoin(t *testing.T) {
	var s QuestionState
	c := collector()
	s.Put(c, QuestionPart{Text: "Which port?", Arbiter: true, For: []string{"orch-1"}})
	before := s
	s.Put(c, QuestionPart{Text: "Speak."})
	s.Put(c, QuestionPart{Text: "Which port?", Arbiter: true, For: []string{"orch-2"}})
	testkit.Check(t, s.Text() == "Which port?\n\nSpeak." && s.Asked == 2 && len(s.Open) == 2, "open: %+v",
		s.Open)
	testkit.Check(t, before.Text() == "Which port?" && len(before.Open[0].For) == 1,
		"the copy before was changed: %+v", before.Open)
	list := said[contract.Question](c.Effects())
	testkit.Check(t, len(list) == 3 && reflect.DeepEqual(list[0], list[2]) && list[1].Question == "question-2",
		"emitted: %+v", list)
	testkit.Check(t, s.AwaitsAnswer() && s.IsNeededBy("orch-2") && !s.IsNeededBy("orch-3") &&
		!slices.ContainsFunc(s.Open, func(p QuestionPart) bool { return p.Kind == KindAcceptance }),
		"what it is needed for: %+v", s.Open)
	s.Drop(func(p QuestionPart) bool { return p.Arbiter })
	testkit.Check(t, s.Text() == "Speak." && !s.AwaitsAnswer(), "left: %+v", s.Open)
	again := collector()
	s.Repeat(again)
	testkit.Same(t, "repeated", 1, len(said[contract.Question](again.Effects())))
	s.Drop(func(QuestionPart) bool { return true })
	testkit.Check(t, s.Open == nil && s.Text() == "", "nothing is left: %+v", s.Open)
}

var zero = time.Unix(1_800_000_000, 0)

func atInbox(seconds int) time.Time { return zero.Add(time.Duration(seconds) * time.Second) }

func request(id, agent string, seconds int) input.PermissionRequest {
	p := bridge.PermissionParams{
		AgentRef: bridge.AgentRef{ID: agent, Generation: 1}, Request: id, Tool: "Bash",
		Input: []byte(`{"command":"make all"}`),
	}
	return input.PermissionRequest{ID: id, At: atInbox(seconds), Params: p}
}

func agent(id string, role Role, status AgentStatus, seconds int) *Agent {
	a := &Agent{}
	a.ID, a.Role, a.Name, a.Status, a.Since = id, role, strings.ToUpper(id), status, atInbox(seconds)
	return a
}

// brief is an item in a line.
func brief(i InboxItem) string {
	line := i.ID + " " + string(i.Kind) + " " + i.Agent + " " + i.Age(atInbox(100)).String() + ": " + i.Text
	if len(i.Choices) > 0 {
		line += " [" + strings.Join(i.Choices, " ") + "]"
	}
	if i.Optional {
		line += " (optional)"
	}
	return line
}

func TestOf(t *testing.T) {
	which := QuestionPart{Number: 2, Text: "This or that?", At: atInbox(20), Arbiter: true}
	rejected := QuestionPart{Number: 3, Kind: KindAcceptance, Text: "Rejected.", At: atInbox(30)}
	for name, tt := range map[string]struct {
		state func(*State)
		want  []string
	}{
		"nothing": {func(*State) {}, nil},
		"everything, the oldest first": {func(s *State) {
			s.Question.Open = []QuestionPart{which, rejected}
			s.Permission.Open = []input.PermissionRequest{request("p2", "orch-1", 25)}
			s.Permission.Unclaimed = []input.PermissionRequest{request("p1", "orch-2", 10)}
			s.Lifecycle.TrustQuestion = &TrustQuestion{Hash: "h", At: atInbox(40)}
		}, []string{
			"p1 permission orch-2 1m30s: Bash: make all",
			"question-2 question arbiter 1m20s: This or that?",
			"p2 permission orch-1 1m15s: Bash: make all",
			"question-3 acceptance supervisor 1m10s: Rejected.",
			"trust trust supervisor 1m0s: The workspace is not as it was trusted. No agent starts until you have " +
				"looked at it. [trust without cancel]",
		}},
		"the Arbiter is parked": {func(s *State) {
			s.Agents = []*Agent{agent("arbiter", RoleArbiter, AgentParked, 50)}
		}, []string{"recovery-arbiter recovery arbiter 50s: ARBITER failed. What can be done: retry, cancel. " +
			"[retry cancel]"}},
		"an Orchestrator has failed": {func(s *State) {
			s.Agents = []*Agent{agent("arbiter", RoleArbiter, AgentBusy, 50),
				agent("orch-1", RoleOrchestrator, AgentReady, 60)}
			s.Question.Recovery.Options, s.Question.Recovery.Agent = []string{"retry", "skip"}, "orch-1"
			s.Question.Recovery.Text = "ORCH-1 stopped at a failed Bash: no space."
		}, []string{"recovery-orch-1 recovery orch-1 40s: ORCH-1 stopped at a failed Bash: no space. " +
			"What can be done: retry, skip. " +
			"[retry skip] (optional)"}},
		"an error of the Arbiter's that it got over": {func(s *State) {
			s.Agents = []*Agent{agent("arbiter", RoleArbiter, AgentBusy, 50)}
			s.Question.Recovery.Options, s.Question.Recovery.Agent = []string{"retry"}, "arbiter"
		}, nil},
		"a run that was stopped": {func(s *State) {
			s.Ending, s.Question.Open = &Ending{Status: contract.StatusNeedsInput}, []QuestionPart{which}
			s.Permission.Unclaimed = []input.PermissionRequest{request("p1", "orch-2", 10)}
			s.Agents = []*Agent{agent("arbiter", RoleArbiter, AgentParked, 50)}
		}, []string{"p1 permission orch-2 1m30s: Bash: make all", "question-2 question arbiter 1m20s: This or that?"}},
		"a run that is complete": {func(s *State) {
			s.Task.Phase = machine.Complete
			s.Ending, s.Question.Open = &Ending{Status: contract.StatusComplete}, []QuestionPart{which}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var s State
			tt.state(&s)
			var got []string
			for _, i := range InboxOf(&s) {
				got = append(got, brief(i))
				testkit.Same(t, fmt.Sprintf("%s: request %+v", i.ID, i.Request), (i.Request != nil),
					(i.Kind == InboxPermission))
			}
			testkit.Same(t, "there", strings.Join(tt.want, "\n"), strings.Join(got, "\n"))
		})
	}
	testkit.Check(t, InboxOf(nil) == nil, "no run has items")
}

// TestAwaited: what an agent may settle as well causes no notification.
func TestAwaited(t *testing.T) {
	list := []InboxItem{{ID: "a"}, {ID: "b", Optional: true}, {ID: "c"}}
	got := Awaited(list)
	testkit.Check(t, len(got) == 2 && got[1].ID == "c" && list[1].ID == "b", "%+v of %+v", got, list)
}

// TestCovered: a rule settles the requests with which it was offered, of any agent.
func TestCovered(t *testing.T) {
	ask := func(id, agent string, offered ...string) input.PermissionRequest {
		return input.PermissionRequest{ID: id, Suggestions: offered, Params: bridge.PermissionParams{
			AgentRef: bridge.AgentRef{ID: agent, Generation: 1}, Request: id, Tool: "Bash",
		}}
	}
	s := &State{}
	s.Permission.Open = []input.PermissionRequest{ask("header", "orch-1", "Bash(go test *)"),
		ask("writer", "orch-2", "Bash(go test ./writer)",
			"Bash(go test *)"), ask("both", "orch-2", "Bash(go test *), Bash(rm *)"),
		ask("sensitive", "orch-1")}
	s.Permission.Unclaimed = []input.PermissionRequest{ask("old", "orch-3", "Bash(go test *)")}
	for rule, want := range map[string][]string{
		"Bash(go test *)": {"header", "writer", "old"}, "Bash(go test ./writer)": {"writer"}, "Bash": nil, "": nil,
	} {
		testkit.Same(t, fmt.Sprintf("%s settles", rule), want, Covered(s, rule))
	}
	testkit.Check(t, Covered(nil, "Bash") == nil, "no run has requests")
}

// TestInboxAnswer: what a person writes about an item becomes one command on every face: behind a number of arbiter
// inbox or of plain lines, and behind a slash command.
func TestInboxAnswer(t *testing.T) {
	bash := InboxItem{ID: "p", Request: &contract.PermissionRequest{Tool: "Bash", Action: "a",
		Suggestions: []string{"Bash(go *)", "Bash"}}}
	form := InboxItem{ID: "f", Request: &contract.PermissionRequest{Tool: bridge.ElicitTool, Action: "a"}}
	choice := InboxItem{Choices: []string{"retry", "skip"}}
	allow := func(scope, rule string) contract.Permit {
		return contract.Permit{Request: "p", Action: "a", Behavior: "allow", Scope: scope, Rule: rule}
	}
	deny := func(reason string) contract.Permit {
		return contract.Permit{Request: "p", Action: "a", Behavior: "deny", Message: reason}
	}
	blue := contract.Permit{Request: "f", Action: "a", Behavior: "allow", Scope: "once", Message: "dark blue"}
	for _, tt := range []struct {
		item InboxItem
		text string
		want contract.CommandBody // nil: it is refused
	}{
		{bash, "y", allow("once", "")}, {bash, " Yes ", allow("once", "")}, {bash, "allow", allow("once", "")},
		{bash, "once ", allow("once", "")}, {bash, "run", allow("run", "")}, {bash, "always", allow("always", "")},
		{bash, "run a", allow("run", "Bash(go *)")}, {bash, "always B", allow("always", "Bash")},
		{bash, "always Bash(go test *)", allow("always", "Bash(go test *)")},
		{bash, "n", deny("")}, {bash, "n not now", deny("not now")}, {bash, "deny not\ntoday", deny("not\ntoday")},
		{bash, "y please", nil}, {bash, "y a", nil}, {bash, "run c", nil}, {bash, "run the tests", nil},
		{bash, "always please", nil}, {bash, "any form", nil}, {bash, "", nil}, {bash, "a", nil},
		{form, "y dark blue", blue}, {form, "y", contract.Permit{Request: "f", Action: "a", Behavior: "allow",
			Scope: "once"}}, {form, "dark blue", nil},
		{choice, "retry", contract.Choose{Option: "retry"}}, {choice, "y", nil}, {choice, "", nil},
		{InboxItem{}, "y, call it dawn", contract.Say{Text: "y, call it dawn"}}, {InboxItem{}, " ", nil},
	} {
		got, err := tt.item.Answer(tt.text)
		testkit.Check(t, reflect.DeepEqual(got, tt.want) && (err == nil) == (tt.want != nil), "%q: %+v, %v; want %+v",
			tt.text, got, err, tt.want)
	}
}
