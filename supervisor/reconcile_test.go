package supervisor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// openTurn brings an agent of a role into a turn with one message, and returns its id and that message's
// announcement.
func openTurn(t *testing.T, role Role) (p *play, id string, m contract.Message) {
	t.Helper()
	p = begin(t, nil)
	id = contract.Arbiter
	if role == RoleOrchestrator {
		id = p.spawn("the brief")
		p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	}
	for _, x := range told[contract.Message](p) {
		if x.To == id {
			m = x
		}
	}
	return p, id, m
}

// TestDeliveryStatuses: for each status of the open message in a session's history, whether the CLI had proven
// it before or not, and for both roles: what is sent again, what the agent is told, and that `delivered` is
// emitted once.
func TestDeliveryStatuses(t *testing.T) {
	for _, c := range []struct {
		fate   string
		resent bool
		told   string // part of the notice; empty: none
	}{
		{bridge.DeliveryAbsent, true, ""},
		{"", true, ""}, // the history says nothing about it
		{bridge.DeliverySeen, false, "before you could answer the last message"},
		{bridge.DeliveryBegun, false, "in the middle of your last turn"},
		{bridge.DeliveryEnded, false, "in the middle of your last turn"},
	} {
		for _, role := range []Role{RoleArbiter, RoleOrchestrator} {
			for _, proven := range []bool{false, true} {
				t.Run(strings.Join([]string{"fate " + c.fate, string(role),
					map[bool]string{true: "proven", false: "unproven"}[proven]}, "/"), func(t *testing.T) {
					p, id, m := openTurn(t, role)
					before := p.sends(id)[len(p.sends(id))-1]
					if proven {
						p.proven(id)
					}
					p.dies(id)
					if s := p.spawns(id); len(s) != 1 {
						t.Fatalf("started again before its time: %v", s)
					}
					n := len(p.sends(id))
					p.comes(id, p.remembers(id, c.fate))
					s := p.spawns(id)[1]
					testkit.Check(t, s.Config.Resume && s.Config.SessionID == p.agent(id).SessionID &&
						len(s.Pending) == 1 && s.Pending[0] == before.MessageID, "started with resume %v, pending %v",
						s.Config.Resume, s.Pending)
					after := p.sends(id)[n:]
					testkit.Need(t, len(after) == 1, "%d messages were sent: %v", len(after), after)
					switch {
					case c.resent && (after[0].Content != before.Content || after[0].MessageID == before.MessageID):
						t.Errorf("sent again under %s (was %s):\n%s\nwas:\n%s", after[0].MessageID, before.MessageID, after[0].Content,
							before.Content)
					case !c.resent && (!strings.Contains(after[0].Content, c.told) ||
						!strings.Contains(after[0].Content, "kind: retry")):
						t.Errorf("told: %s; want %q", after[0].Content, c.told)
					}
					testkit.Same(t, "sent to generation", 2, after[0].Generation)
					p.proven(id)
					begun := c.fate == bridge.DeliveryBegun || c.fate == bridge.DeliveryEnded
					got := p.saidDelivered()[m.MessageID]
					testkit.Check(t, got > 0 == begun, "delivered was said %d times, and the model had begun: %v", got, begun)
					p.speaks(id)
					testkit.Same(t, "delivered was said times", 1, p.saidDelivered()[m.MessageID])
				})
			}
		}
	}
}

// TestVerdictIsRecoveredFromTheHistory: the verdict was given, and the process ended before we received it. It
// is routed, not asked for again, and costs nothing.
func TestVerdictIsRecoveredFromTheHistory(t *testing.T) {
	t.Run("arbiter", func(t *testing.T) {
		p, id, m := openTurn(t, RoleArbiter)
		cost := p.s.Budget.CostUSD
		p.hadRuled(id, ruling("ADDRESS_HUMAN", "Which port?"))
		q := told[contract.Question](p)
		testkit.Check(t, len(q) == 1 && q[0].Text == "Which port?", "questions: %v", q)
		testkit.Same(t, fmt.Sprintf("it was asked again: %v", p.sends(id)), 1, len(p.sends(id)))
		turn := last[contract.Turn](p)
		testkit.Check(t, turn.CostUSD == 0 && p.s.Budget.CostUSD == cost && len(turn.MessageIDs) == 1 &&
			turn.MessageIDs[0] == m.MessageID, "turn %+v, cost %v", turn, p.s.Budget.CostUSD)
		testkit.Same(t, "the task was not called delivered once", 1, p.saidDelivered()[m.MessageID])
	})
	t.Run("orchestrator", func(t *testing.T) {
		p, id, _ := openTurn(t, RoleOrchestrator)
		p.proven(id)
		p.hadRuled(id, report("done", "all of it", true))
		testkit.Same(t, "standing", AgentFinished, p.agent(id).Standing)
		testkit.Same(t, "sends", 1, len(p.sends(id)))
		p.contains("the Arbiter", p.lastSent("arbiter"), "all of it", "kind: "+verdict.KindDone)
	})
	t.Run("an invalid one is asked for again", func(t *testing.T) {
		p, id, _ := openTurn(t, RoleArbiter)
		p.hadRuled(id, ruling("ADDRESS_ORCHESTRATOR", "x", "to", "orch-9"))
		p.contains("the correction", p.lastSent(id), "kind: correction", "orch-9")
	})
}

// TestATurnOfSeveralMessages: a message was steered into the turn that was lost.
func TestATurnOfSeveralMessages(t *testing.T) {
	for _, c := range []struct {
		name   string
		fates  []string // of the brief and of the steered message
		resent []string // parts of what is sent then, in order
	}{
		{"neither is known", []string{bridge.DeliveryAbsent, bridge.DeliveryAbsent},
			[]string{"kind: brief", "mind the tests"}},
		{"the word did not arrive", []string{bridge.DeliveryBegun, bridge.DeliveryAbsent},
			[]string{"in the middle of your last turn", "mind the tests"}},
		{"both were seen", []string{bridge.DeliverySeen, bridge.DeliverySeen}, []string{"before you could answer"}},
		{"the word was begun on", []string{bridge.DeliveryBegun, bridge.DeliveryBegun},
			[]string{"in the middle of your last turn"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, id, _ := openTurn(t, RoleOrchestrator)
			p.proven(id)
			p.say("mind the tests", contract.Steer, id)
			turn := p.agent(id).Turn
			testkit.Need(t, len(turn) == 2, "turn %v", turn)
			p.dies(id)
			h := bridge.SpawnResult{Resumed: true}
			for i, wire := range p.agent(id).Turn {
				h.Deliveries = append(h.Deliveries, bridge.DeliveryStatus{MessageID: wire, Status: c.fates[i]})
			}
			n := len(p.sends(id))
			p.comes(id, h)
			s := p.sends(id)[n:]
			testkit.Need(t, len(s) == len(c.resent), "%d messages in place of %d: %v", len(s), len(c.resent), s)
			for i, part := range c.resent {
				p.contains("message", s[i].Content, part)
			}
			p.verdict(id, report("progress", "on the way", false))
			for id, times := range p.saidDelivered() {
				testkit.Same(t, fmt.Sprintf("%s was said to be delivered times", id), 1, times)
			}
		})
	}
}

// TestReportsTravelOnce: a message with reports was lost with its process. The reports are sent with it again,
// or are done with it.
func TestReportsTravelOnce(t *testing.T) {
	for fate, again := range map[string]bool{bridge.DeliveryAbsent: true, bridge.DeliverySeen: false,
		bridge.DeliveryBegun: false} {
		p, id, _ := openTurn(t, RoleOrchestrator)
		p.verdict(id, report("progress", "half is there", false))
		p.verdict(id, report("question", "Which port?", true))
		first := p.lastSent("arbiter")
		p.contains("the question", first, "half is there", "Which port?")
		p.rebirth("arbiter", fate)
		second := p.lastSent("arbiter")
		testkit.Check(t, strings.Contains(second, "half is there") == again && (!again || second == first), "%s: %s",
			fate, second)
		p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "8080", "to", id))
		p.verdict(id, report("question", "And the host?", true))
		p.lacks("%s", p.lastSent("arbiter"), "half is there")
		for m, times := range p.saidDelivered() {
			testkit.Same(t, fmt.Sprintf("%s: %s was said to be delivered times", fate, m), 1, times)
		}
		testkit.Same(t, fmt.Sprintf("%s: the work log keeps %v", fate, p.s.Conversation.WorkLog), 0,
			len(p.s.Conversation.WorkLog))
	}
}

// TestACrashDuringTheNotice: the process that was told to check its work ends, too.
func TestACrashDuringTheNotice(t *testing.T) {
	p, id, _ := openTurn(t, RoleOrchestrator)
	p.rebirth(id, bridge.DeliveryBegun)
	notice := p.sends(id)[len(p.sends(id))-1]
	p.rebirth(id, bridge.DeliveryAbsent)
	again := p.sends(id)[len(p.sends(id))-1]
	testkit.Check(t, again.Content == notice.Content && again.MessageID != notice.MessageID,
		"after the second death: %+v", again)
	p.rebirth(id, bridge.DeliverySeen)
	p.contains("after the third", p.lastSent(id), "before you could answer")
	p.verdict(id, report("done", "all of it", true))
	n := len(told[contract.Message](p))
	testkit.Check(t, n >= 4, "%d messages", n)
	for m, times := range p.saidDelivered() {
		testkit.Same(t, fmt.Sprintf("%s was said to be delivered times", m), 1, times)
	}
}

// TestALostHistoryIsSentAgain: the session has no history, although it had answered. What the supervisor knows is sent
// before what was open, in the same turn: the brief that was open would be worked on twice.
func TestALostHistoryIsSentAgain(t *testing.T) {
	t.Run("orchestrator", func(t *testing.T) {
		p, id, _ := openTurn(t, RoleOrchestrator)
		p.verdict(id, report("question", "Which port?", true))
		p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "Take 8080.", "to", id))
		p.dies(id)
		n := len(p.sends(id))
		p.comes(id, bridge.SpawnResult{Resumed: false})
		s := p.sends(id)[n:]
		testkit.Need(t, len(s) == 1, "%d messages at once", len(s))
		record, open, _ := strings.Cut(s[0].Content, "| end⟧\n")
		p.contains("the record", record, "history is lost", "## Your brief", "the brief", "Which port?", "kind: retry")
		p.contains("what was open", open, "Take 8080.", "kind: answer")
		p.contains("what all faces show", last[contract.Notice](p).Text, "reads the supervisor's record")
		p.dies(id)
		p.comes(id, bridge.SpawnResult{Resumed: false})
		p.contains("after another death", p.lastSent(id), "history is lost", "| end⟧\n", "kind: answer")
		p.proven(id)
		p.dies(id)
		p.comes(id, bridge.SpawnResult{Resumed: false})
		testkit.Same(t, "records after the third", 1, strings.Count(p.lastSent(id), "history is lost"))
		p.verdict(id, report("done", "all of it", true))
		testkit.Same(t, "messages more", 3, len(p.sends(id)[n:]))
	})
	t.Run("arbiter", func(t *testing.T) {
		p, _, _ := openTurn(t, RoleOrchestrator)
		p.call("arbiter", "set_plan", `{"steps":[{"text":"serve"}]}`)
		p.verdict("orch-1", report("question", "Which port?", true))
		p.dies("arbiter")
		n := len(p.sends("arbiter"))
		p.comes("arbiter", bridge.SpawnResult{Resumed: false})
		p.contains("the record", p.sends("arbiter")[n].Content, "## The task", "Build it", "1. [pending] serve",
			"orch-1 waiting", "| end⟧\n", "Which port?", "kind: question")
	})
	t.Run("one that never spoke lost nothing", func(t *testing.T) {
		p, id, _ := openTurn(t, RoleOrchestrator)
		p.dies(id)
		p.comes(id, bridge.SpawnResult{Resumed: false})
		p.contains("its first word", p.lastSent(id), "kind: brief", "the brief")
		p.lacks("it was told of a loss", p.lastSent(id), "history is lost")
	})
}

// TestOneThatWasDoneSpeaksAgain: its history is lost, so it is asked for its status. Its answer reaches the
// Arbiter in every state of the machine.
func TestOneThatWasDoneSpeaksAgain(t *testing.T) {
	for _, kind := range []string{verdict.KindDone, verdict.KindHandoff, verdict.KindQuestion} {
		p, id, _ := openTurn(t, RoleOrchestrator)
		p.verdict(id, report("done", "all of it", true))
		p.proven("arbiter")
		p.resume("")
		p.comes("arbiter", p.remembers("arbiter", bridge.DeliveryBegun))
		p.comes(id, bridge.SpawnResult{Resumed: false})
		p.contains("the record", p.lastSent(id), "history is lost", "Report how far you are")
		p.verdict(id, report(kind, "all of it, as I see", true))
		want := machine.Evaluating
		if kind == verdict.KindQuestion {
			want = machine.Executing
		}
		testkit.Same(t, fmt.Sprintf("after a %s", kind), want, p.s.Task.Phase)
		p.verdict("arbiter", ruling("CONTINUE", "I wait.", "to", id))
	}
}

// TestARefusedResumeBeginsAfreshOnce: a second refusal has another cause, and the agent is parked.
func TestARefusedResumeBeginsAfreshOnce(t *testing.T) {
	p, id, _ := openTurn(t, RoleOrchestrator)
	p.proven(id)
	session := p.agent(id).SessionID
	p.dies(id)
	p.restartDue(id)
	refused := input.NotSpawned{Agent: p.agent(id).AgentRef, Category: bridge.CatResume,
		Message: "400 tool_use without tool_result"}
	p.do(refused)
	fresh := p.spawns(id)[len(p.spawns(id))-1]
	testkit.Need(t, !fresh.Config.Resume && fresh.Config.SessionID != session && len(fresh.Pending) == 0,
		"not a fresh session: resume %v, %s, pending %v", fresh.Config.Resume, fresh.Config.SessionID, fresh.Pending)
	p.comes(id, bridge.SpawnResult{})
	p.contains("the record", p.lastSent(id), "history is lost", "the brief")
	p.proven(id)

	p.dies(id)
	p.restartDue(id)
	refused.Agent = p.agent(id).AgentRef
	n := len(p.spawns(id))
	p.do(refused)
	testkit.Check(t, p.agent(id).Status == AgentParked && len(p.spawns(id)) == n,
		"the second time it is %s, %d starts more", p.agent(id).Status, len(p.spawns(id))-n)
	e := last[contract.Error](p)
	testkit.Check(t, e.Category == bridge.CatResume && strings.Contains(e.Message, "parked: session refused again"),
		"error %+v", e)
}

// TestASessionWithoutHistoryIsNotResumedForEver: a fresh session that was killed before it had read anything is not
// found afterwards. Another begins, with the record, and that is no second refusal.
func TestASessionWithoutHistoryIsNotResumedForEver(t *testing.T) {
	for _, role := range []Role{RoleArbiter, RoleOrchestrator} {
		t.Run(string(role), func(t *testing.T) {
			p, id, _ := openTurn(t, role)
			p.proven(id)
			p.dies(id)
			p.restartDue(id)
			notFound := func() {
				p.notSpawned(id, bridge.CatResume, "No conversation found")
			}
			notFound()
			for range 3 {
				p.comes(id, bridge.SpawnResult{})
				p.contains("the record", p.lastSent(id), "history is lost")
				session := p.agent(id).SessionID
				p.out = nil // Arbiter is killed before anything is in the session, and resumed at once
				p.do(input.Resumed{Options: p.s.Options, Claude: p.s.Lifecycle.Claude(), Stay: true})
				if role == RoleOrchestrator {
					p.comes("arbiter", p.remembers("arbiter", bridge.DeliveryEnded))
					p.restartDue(id)
				}
				notFound()
				list := p.spawns(id)
				if s := list[len(list)-1]; s.Config.Resume || s.Config.SessionID == session {
					t.Fatalf("%s: resume %v of %s, which does not exist (%s)", p.agent(id).Status, s.Config.Resume,
						s.Config.SessionID, session)
				}
			}
		})
	}
}

// TestRetryBeginsAnotherSession: what was refused twice would be refused again.
func TestRetryBeginsAnotherSession(t *testing.T) {
	p, id, _ := openTurn(t, RoleArbiter)
	p.afresh(id, bridge.CatInvalidRequest)
	p.refusedFor(id, bridge.CatInvalidRequest)
	p.refusedFor(id, bridge.CatInvalidRequest)
	p.ended(id)
	session := p.agent(id).SessionID
	p.command(contract.Choose{Option: "retry"})
	list := p.spawns(id)
	if s := list[len(list)-1]; p.agent(id).Status != AgentStarting || s.Config.Resume || s.Config.SessionID == session {
		t.Fatalf("it is %s, on %s (it was %s)", p.agent(id).Status, s.Config.SessionID, session)
	}
	p.comes(id, bridge.SpawnResult{})
	p.contains("the record", p.lastSent(id), "history is lost")
}

// TestTheLastAnswerIsAskedFor: a process that resumes a session is given the last message whose turn ended there, so
// that a transcript without it is noticed. What another session has said, or a human has changed, is not asked for.
func TestTheLastAnswerIsAskedFor(t *testing.T) {
	lastSpawn := func(p *play, id string) bridge.SpawnParams {
		list := p.spawns(id)
		return list[len(list)-1]
	}
	for name, c := range map[string]struct {
		end  func(p *play, id string)
		asks bool
	}{
		"a verdict":    {func(p *play, id string) { p.verdict(id, report("progress", "half", false)) }, true},
		"no answer":    {func(p *play, id string) { p.turn(id, bridge.Turn{Outcome: bridge.TurnInterrupted}) }, false},
		"none as yet":  {func(*play, string) {}, false},
		"a resume too": {func(p *play, id string) { p.verdict(id, report("progress", "half", false)); p.resume("") }, true},
		"the verdict is in the history": {func(p *play, id string) {
			p.hadRuled(id, report("progress", "half", false))
		}, true},
		"a human had the session": {func(p *play, id string) {
			p.verdict(id, report("progress", "half", false))
			p.take(id, TakeoverOpen)
		}, false},
		"its history is lost": {func(p *play, id string) {
			p.verdict(id, report("progress", "half", false))
			p.dies(id)
			p.comes(id, bridge.SpawnResult{})
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p, id, _ := openTurn(t, RoleOrchestrator)
			wire := p.agent(id).Turn[0]
			p.proven(id)
			c.end(p, id)
			testkit.Same(t, fmt.Sprintf("the last answered is, and it was %q", wire),
				map[bool]string{true: wire}[c.asks], p.agent(id).LastAnswered)
			if !c.asks {
				return
			}
			if a := p.agent(id); a.Up() {
				p.dies(id)
			}
			p.restartDue(id)
			testkit.Same(t, "its next process is given", wire, lastSpawn(p, id).Answered)
			p.notSpawned(id, bridge.CatResume, "lacks the last turn")
			s := lastSpawn(p, id)
			testkit.Check(t, !s.Config.Resume && s.Answered == "", "begun afresh with %+v", s)
			p.contains("the restart", last[contract.Restart](p).Reason, "lacks the last turn", "begun afresh")
			p.comes(id, bridge.SpawnResult{})
			p.contains("the record", p.lastSent(id), "history is lost", "the brief", "half")
		})
	}
}

// TestARequestRefusedMidwayIsNoLoop: the API refuses the history itself (tool blocks that do not match): the
// process is ended, and the next one begins a new session.
func TestARequestRefusedMidwayIsNoLoop(t *testing.T) {
	p, id, _ := openTurn(t, RoleOrchestrator)
	session := p.agent(id).SessionID
	p.turn(id, bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatResume, Error: "400"})
	k := effects[input.Kill](p)
	testkit.Need(t, len(k) == 1 && k[0].Agent.ID == id, "kills %v", k)
	p.happen(id, bridge.Done{Exit: bridge.Exit{Code: 0}})
	p.comes(id, bridge.SpawnResult{})
	testkit.Check(t, p.agent(id).SessionID != session, "on the same session again")
	p.contains("the record", p.lastSent(id), "history is lost", "the brief")
}

// TestSpawnIsNotDoubled: a turn that was cut off after a spawn continues, and makes the same call again.
func TestSpawnIsNotDoubled(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("build it")
	p.rebirth("arbiter", bridge.DeliveryBegun)
	p.rebirth("arbiter", bridge.DeliveryBegun) // with another message
	a := p.call("arbiter", "spawn_orchestrator", `{"prompt":"build it"}`)
	testkit.Need(t, p.s.Spawned == 1 && strings.Contains(a.Text, one) && strings.Contains(a.Text, "already"),
		"%d summoned: %s", p.s.Spawned, a.Text)
	p.call("arbiter", "spawn_orchestrator", `{"prompt":"build it"}`)
	testkit.Check(t, p.s.Spawned == 2, "a second one of the kind is wanted, and refused")
	p.call("arbiter", "spawn_orchestrator", `{"prompt":"something else"}`)
	testkit.Check(t, p.s.Spawned == 3, "another brief is another spawn")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.spawned("orch-2")
	p.verdict("orch-2", report("question", "Which?", true))
	p.call("arbiter", "spawn_orchestrator", `{"prompt":"build it"}`)
	testkit.Check(t, p.s.Spawned == 4, "another turn is another spawn")
}

// TestACrashNoteSaysWhatIsKnown: an Arbiter whose process ends after it has summoned an Orchestrator reads of it, and
// the same call again summons nobody, whatever the session's history says.
func TestACrashNoteSaysWhatIsKnown(t *testing.T) {
	for _, fate := range []string{bridge.DeliveryAbsent, bridge.DeliverySeen, bridge.DeliveryBegun} {
		t.Run(fate, func(t *testing.T) {
			p := begin(t, nil)
			p.proven("arbiter")
			id := p.spawn("weave the header")
			p.out = nil
			p.rebirth("arbiter", fate)
			p.contains("what the Arbiter reads", p.sentTo("arbiter"), "Orchestrator I (orch-1) was summoned",
				"weave the header", "Do not do that again")
			testkit.Same(t, "messages, each a turn of its own", 1, len(p.sends("arbiter")))
			again := p.call("arbiter", "spawn_orchestrator", `{"prompt":"weave the header"}`)
			p.contains("the same call", again.Text, `"`+id+`"`)
			testkit.Same(t, "summoned in all", 1, p.s.Spawned)
		})
	}
}

// TestOneInheritance: a steering message to a new Arbiter, sent before its first message was proven to have
// arrived, does not contain the inheritance a second time. If the first message is lost, the message that
// replaces it contains it.
func TestOneInheritance(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("build it")
	p.full("arbiter", 86)
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.renewNow("the key")
	p.verdict(one, report("question", "Which port?", true))
	p.contains("the first message", p.lastSent("arbiter"), "kind: inheritance", "the key")
	p.say("Take the lower one.", contract.Steer, "arbiter")
	sent := p.lastSent("arbiter")
	testkit.Check(t, strings.Contains(sent, "Take the lower one.") && !strings.Contains(sent, "kind: inheritance"),
		"the word on the way:\n%s", sent)
	p.out = nil
	p.crash("arbiter", 1)
	sends := effects[input.Send](p)
	testkit.Need(t, len(sends) == 2 && strings.Contains(sends[0].Params.Content, "kind: inheritance") &&
		!strings.Contains(sends[1].Params.Content, "kind: inheritance"), "after a crash that lost both: %+v", sends)
}

// TestNothingAfterTheResult: events between the result and the end of the loop are recorded and not
// published: a replay prints the same lines as the run.
func TestNothingAfterTheResult(t *testing.T) {
	p := begin(t, nil)
	p.do(input.Signal{Signal: "INT"})
	p.finished()
	p.out = nil
	a := p.agent("arbiter").AgentRef
	for _, f := range []input.Body{
		byHuman(input.ChannelStdin, contract.Say{Text: "wait"}), byHuman(input.ChannelStdin, contract.Halt{}),
		byBridge(a, bridge.Notice{Text: "late"}), byBridge(a, bridge.Turn{}),
		input.PermissionAsked{Params: bridge.PermissionParams{AgentRef: a, Request: "p1", Tool: "Bash"}, Behavior: "ask"},
		input.Stopped{Unstopped: []string{"one"}}, input.BridgeLost{Message: "gone"},
	} {
		p.do(f)
	}
	n := len(effects[input.Emit](p))
	testkit.Check(t, n <= 0, "told %d events: %+v", n, effects[input.Emit](p))
}

// TestBrokenPipeIsNoRefusal: a process whose pipe broke in a permission request learns that no human and no rule
// refused it.
func TestBrokenPipeIsNoRefusal(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("build it")
	p.do(asked(p, one, "p1", "ask"))
	p.do(input.PermissionWithdrawn{Request: "p1"})
	p.rebirth(one, bridge.DeliveryBegun)
	p.contains("what it reads", p.lastSent(one), "in the middle of your last turn", "nobody refused them",
		"end the turn with your verdict")
	p.do(asked(p, one, "p2", "ask"))
	testkit.Check(t, len(p.s.Permission.Open) == 1 && p.s.Permission.Open[0].ID == "p2", "it is not asked again: %+v",
		p.s.Permission.Open)
}

// TestAReleasedAgentEnds: the end of a released agent is reported, even if its process had ended
// before, for a takeover or by a crash.
func TestAReleasedAgentEnds(t *testing.T) {
	for name, c := range map[string]struct {
		before func(p *play)
		after  func(p *play)
	}{
		"none, in a takeover that looks": {func(p *play) { p.take("orch-1", TakeoverInspecting) }, func(*play) {}},
		"a terminal's": {func(p *play) { p.take("orch-1", TakeoverOpen) },
			func(p *play) { p.ends("orch-1") }},
		"none after a crash": {func(p *play) { p.dies("orch-1") }, func(*play) {}},
		"its own":            {func(*play) {}, func(p *play) { p.ends("orch-1") }},
	} {
		p := working(t)
		c.before(p)
		p.out = nil
		p.command(contract.Kill{ID: "orch-1"})
		c.after(p)
		ends := told[contract.Done](p)
		testkit.Check(t, len(ends) == 1 && ends[0].Reason == "killed by the human", "%s: %+v", name, ends)
	}
}

// TestWhoWaitsInLine: no document that waits for a successor is lost, but the queue is bounded, and no document
// in it prevents the spawns of other agents.
func TestWhoWaitsInLine(t *testing.T) {
	for _, waiting := range []int{2, RecordsKept + 10} {
		p := begin(t, func(o *runconfig.Options) { o.MaxIterations, o.MaxExchanges = 1000, 1<<30 })
		spare := p.spawn("the first") // whose document nothing waits for
		p.leaves(spare)
		another := func() string { // in its place
			a := p.call("arbiter", "spawn_orchestrator", `{"prompt":"x","successor_of":"`+spare+`"}`)
			testkit.Need(t, !a.IsError, "%v", a.Text)
			p.spawned(fmt.Sprintf("orch-%d", p.s.Spawned))
			return fmt.Sprintf("orch-%d", p.s.Spawned)
		}
		var line []string
		for range waiting {
			id := another()
			p.verdict(id, report("handoff", "I am full.", true))
			p.leaves(id)
			line = append(line, id)
			spare = another()
			p.leaves(spare)
		}
		for range NamesKept + 5 {
			spare = another()
			p.leaves(spare)
		}
		kept := line[:min(waiting, RecordsKept)]
		testkit.Same(t, fmt.Sprintf("%d wait", waiting), kept, p.s.Handoff.SuccessorQueue)
		for _, id := range kept {
			heir := p.spawn("go on")
			testkit.Need(t, p.agent(heir).Predecessor == id && strings.Contains(p.sentTo(heir), "the second half"),
				"%s succeeds %s with\n%s", heir, p.agent(heir).Predecessor, p.sentTo(heir))
			p.leaves(heir)
		}
		p.spawn("after all of them")
	}
}

// TestHeldStaysHeld: the agents had exchanged too many messages without a human.
func TestHeldStaysHeld(t *testing.T) {
	p, id := oneWorks(t, func(o *runconfig.Options) { o.MaxExchanges = 4 })
	for !p.s.Conversation.Held {
		p.verdict(id, report("question", "And now?", true))
		p.verdict("arbiter", ruling("CONTINUE", "I read that."))
		if p.agent("arbiter").Status == AgentBusy {
			p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "Go on.", "to", id))
		}
	}
	exchanges := p.s.Conversation.Exchanges
	p.stopped()
	p.resume("")
	p.back(bridge.DeliverySeen)
	testkit.Check(t, p.s.Conversation.Held && p.s.Conversation.Exchanges == exchanges && p.s.Question.Open != nil,
		"held %v, %d exchanges (%d before), question %v", p.s.Conversation.Held, p.s.Conversation.Exchanges, exchanges,
		p.s.Question.Open)
	p.say("go on")
	testkit.Check(t, !p.s.Conversation.Held, "a human's word does not release it")
}

// TestTroublesEndWithAVerdict, also with one that only the transcript has: the Arbiter is renewed when it is due, and
// the run does not wait for another attempt.
func TestTroublesEndWithAVerdict(t *testing.T) {
	p, _ := oneWorks(t, nil)
	p.say("How far is it?")
	p.turn("arbiter", bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatServer, Error: "500"})
	p.do(input.Timer{Key: RetryPrefix + RunOf(p.agent("arbiter").AgentRef)})
	p.hadRuled("arbiter", ruling("CONTINUE", "Patience."))
	a := p.agent("arbiter")
	testkit.Check(t, a.Status == AgentReady && a.Troubles+a.APIFailures == 0,
		"it is %s, with %d troubles and %d failures", a.Status, a.Troubles, a.APIFailures)
}

// TestThoseLongGone: of agents that ended long ago only the names are kept, and later nothing, except for the
// one whose document waits for a successor.
func TestThoseLongGone(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.MaxIterations, o.MaxExchanges = 1000, 1<<30 })
	waits := p.spawn("the first")
	p.verdict(waits, report("handoff", "I am full.", true))
	p.leaves(waits)
	p.s.Handoff.SuccessorQueue = nil // the queue no longer names the successor
	for range RecordsKept + 5 {
		p.leaves(p.spawn("one of many"))
	}
	if a := p.agent(waits); !a.Forgotten || a.Document != nil || a.Brief != "" || a.Name == "" || a.SessionID == "" {
		t.Errorf("the first: %+v", a)
	}
	a := p.agent(fmt.Sprintf("orch-%d", p.s.Spawned))
	testkit.Check(t, !a.Forgotten && a.Brief != "", "the last: %+v", a)
	if a := p.call("arbiter", "spawn_orchestrator", fmt.Sprintf(`{"prompt":"go on","successor_of":%q}`,
		waits)); !a.IsError || !strings.Contains(a.Text, "no longer kept") {
		t.Errorf("its successor: %+v", a)
	}
	again := p.spawn("another")
	p.verdict(again, report("handoff", "I am full.", true))
	p.leaves(again)
	for range NamesKept + 20 {
		p.s.Handoff.SuccessorQueue = []string{again} // no successor is spawned
		params := fmt.Sprintf(`{"prompt":"x","successor_of":%q}`, fmt.Sprintf("orch-%d", p.s.Spawned))
		a := p.call("arbiter", "spawn_orchestrator", params)
		testkit.Need(t, !a.IsError, "%v", a.Text)
		p.spawned(fmt.Sprintf("orch-%d", p.s.Spawned))
		p.leaves(fmt.Sprintf("orch-%d", p.s.Spawned))
	}
	if a := p.agent(again); a.Document == nil || len(p.s.Agents) > NamesKept+3 {
		t.Errorf("%d agents of %d; %+v", len(p.s.Agents), p.s.Spawned, a)
	}
	status := p.call("arbiter", "status", `{}`).Text
	p.contains("the status", status, fmt.Sprintf("and %d before them, gone", p.s.Spawned-GoneShown),
		fmt.Sprintf("orch-%d", p.s.Spawned))
	testkit.Same(t, "are listed", GoneShown, strings.Count(status, "orch-"))
}
