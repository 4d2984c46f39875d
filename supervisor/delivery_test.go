package supervisor

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// overdue lets the timer for the proof of an agent's messages ring.
func (p *play) overdue(id string) []input.Effect {
	p.t.Helper()
	p.at = p.at.Add(ProofWait - time.Second)
	return p.do(input.Timer{Key: DeliveryTimerPrefix + p.agent(id).Turn[0]})
}

// TestASwallowedMessage: it is noticed at the deadline, written once more under the same id, which the CLI
// ignores if it has the message after all, and then given to another process.
func TestASwallowedMessage(t *testing.T) {
	p := begin(t, nil)
	first := p.sends("arbiter")[0]
	testkit.Same(t, "its proof is awaited", ProofWait, timer(p.out, DeliveryTimerPrefix+first.MessageID))
	out := p.overdue("arbiter")
	again := p.sends("arbiter")
	testkit.Need(t, len(again) == 2 && again[1].MessageID == first.MessageID && again[1].Content == first.Content &&
		timer(out, DeliveryTimerPrefix+first.MessageID) == ProofWait, "written again: %+v", again)
	testkit.Same(t, fmt.Sprintf("notices %v", told[contract.Notice](p)), 1, p.notices("not received within 30s"))
	p.overdue("arbiter")
	k := effects[input.Kill](p)
	testkit.Need(t, len(k) == 1 && len(p.sends("arbiter")) == 2 && p.notices("sent twice and not received") == 1,
		"kills %v, %d sends", k, len(p.sends("arbiter")))
	p.happen("arbiter", bridge.Turn{MessageIDs: p.agent("arbiter").Turn, Outcome: bridge.TurnLost})
	p.happen("arbiter", bridge.Done{Exit: bridge.Exit{Code: -1, Signal: "killed"}})
	p.comes("arbiter", p.remembers("arbiter", bridge.DeliveryAbsent))
	third := p.sends("arbiter")[2]
	testkit.Check(t, third.MessageID != first.MessageID && third.Content == first.Content && third.Generation == 2,
		"to the next process: %+v", third)
	testkit.Same(t, "delivered was said of a swallowed message", 0, len(p.saidDelivered()))
	p.proven("arbiter")
	want := ConversationLedger{Posted: 1, Sent: 3, Seen: 1, Resent: 1, Swallowed: 1, Requeued: 1}
	testkit.Same(t, "ledger", want, p.s.Conversation.Ledger)
	testkit.Same(t, "crashes", 0, p.s.Lifecycle.Crashes)
}

// TestAProofThatComesLate: a late proof, for either of the two writes, settles it.
func TestAProofThatComesLate(t *testing.T) {
	p := begin(t, nil)
	p.overdue("arbiter")
	wire := p.agent("arbiter").Turn[0]
	p.proven("arbiter")
	p.proven("arbiter") // of the second one
	p.speaks("arbiter")
	testkit.Same(t, "its proof is still awaited", 0, timer(p.out, DeliveryTimerPrefix+wire))
	p.do(input.Timer{Key: DeliveryTimerPrefix + wire}) // it had rung already
	testkit.Check(t, len(effects[input.Kill](p)) == 0 && len(p.sends("arbiter")) == 2 &&
		len(told[contract.Delivered](p)) == 1, "kills %v, %d sends, delivered %v", effects[input.Kill](p),
		len(p.sends("arbiter")), told[contract.Delivered](p))
}

// TestSilenceWithAReason: a missing proof is not a loss while the CLI retries the API, or while its process is
// stopped.
func TestSilenceWithAReason(t *testing.T) {
	for name, c := range map[string]struct{ begins, ends func(p *play) }{
		"retries": {
			func(p *play) { p.happen("arbiter", bridge.Retry{Attempt: 1, DelayMS: 1000}) },
			func(p *play) { p.happen("arbiter", bridge.Context{Tokens: 10, Window: 100, Pct: 10}) },
		},
		"stopped": {
			func(p *play) {
				p.do(input.Probed{Agent: p.agent("arbiter").AgentRef, Result: bridge.ProbeResult{Stopped: true}})
			},
			func(p *play) {
				p.do(input.Probed{Agent: p.agent("arbiter").AgentRef, Result: bridge.ProbeResult{Answered: true}})
			},
		},
	} {
		p := begin(t, nil)
		c.begins(p)
		for range 100 {
			testkit.Same(t, fmt.Sprintf("%s: no timer checks it again", name), ProofWait,
				timer(p.overdue("arbiter"), DeliveryTimerPrefix+p.agent("arbiter").Turn[0]))
		}
		testkit.Check(t, len(p.sends("arbiter")) == 1 && len(effects[input.Kill](p)) == 0, "%s: %d sends, kills %v",
			name, len(p.sends("arbiter")), effects[input.Kill](p))
		c.ends(p)
		p.overdue("arbiter")
		testkit.Same(t, fmt.Sprintf("%s: afterwards it was not written again", name), 2, len(p.sends("arbiter")))
	}
}

// TestSteeredMessageWaitsForItsTurn: the CLI processes it after the current tool, or in a turn of its own; only
// then can its proof be overdue.
func TestSteeredMessageWaitsForItsTurn(t *testing.T) {
	p, id := oneWorks(t, nil)
	p.proven(id)
	p.say("mind the tests", contract.Steer, id)
	turn := p.agent(id).Turn
	testkit.Need(t, len(turn) == 2 && timer(p.out, DeliveryTimerPrefix+turn[1]) == 0,
		"turn %v, its proof is awaited for %s", turn, timer(p.out, DeliveryTimerPrefix+turn[1]))
	out := p.happen(id, bridge.Turn{MessageIDs: turn[:1], Outcome: bridge.TurnDone,
		Verdict: []byte(`{"expects_response":false,"message":"m","kind":"progress"}`)})
	testkit.Check(t, timer(out, DeliveryTimerPrefix+turn[1]) == ProofWait && p.agent(id).Status == AgentBusy,
		"after the turn its proof is awaited for %s, and it is %s", timer(out, DeliveryTimerPrefix+turn[1]),
		p.agent(id).Status)
	p.overdue(id)
	s := p.sends(id)
	testkit.Check(t, s[len(s)-1].MessageID == turn[1], "written again: %+v", s[len(s)-1])
	p.proven(id)
}

// TestEverySwallowedMessageIsNoticed: 10,000 messages are each noticed within the deadline.
func TestEverySwallowedMessageIsNoticed(t *testing.T) {
	messages := often(1000, 10_000)
	at := time.Unix(1_800_000_000, 0)
	s, _ := Apply(State{}, input.Input{At: at,
		Body: input.Began{Options: runconfig.Options{Run: testRun, Delimiter: "d", HumanPresent: true}.WithDefaults()}})
	do := func(f input.Body) (out []input.Effect) {
		s, out = Apply(s, input.Input{At: at, Body: f})
		return out
	}
	do(input.Spawned{Agent: s.Agents[0].AgentRef})
	noticed := 0
	for range messages {
		out := do(byHuman(input.ChannelStdin, contract.Say{Text: "x"}))
		wire := s.Agents[0].Turn[0]
		wait := timer(out, DeliveryTimerPrefix+wire)
		testkit.Need(t, wait > 0 && wait <= 30*time.Second, "its proof is awaited for %s", wait)
		at = at.Add(wait)
		for _, n := range said[contract.Notice](do(input.Timer{Key: DeliveryTimerPrefix + wire})) {
			if strings.Contains(n.Text, "not received within") {
				noticed++
			}
		}
		do(byBridge(s.Agents[0].AgentRef, bridge.Delivered{MessageID: wire}))
		do(byBridge(s.Agents[0].AgentRef, bridge.Turn{MessageIDs: []string{wire}, Outcome: bridge.TurnDone,
			Verdict: []byte(`{"decision":"ADDRESS_HUMAN","message":"m","reason":"r"}`)}))
	}
	want := ConversationLedger{Posted: messages, Sent: 2 * messages, Seen: messages, Resent: messages}
	testkit.Same(t, "noticed", messages, noticed)
	testkit.Same(t, "s.Conversation.Ledger", want, s.Conversation.Ledger)
}

// TestDeliveredMeansRead: the CLI accepts a message before hooks and the API may refuse it. It is delivered when a
// model has answered a request that contains it, and then once, whatever happened in between.
func TestDeliveredMeansRead(t *testing.T) {
	failed := func(c bridge.Category) bridge.Turn {
		return bridge.Turn{Outcome: bridge.TurnFailed, Category: c, Error: "refused"}
	}
	for name, c := range map[string]struct {
		before, then func(p *play, id string) // before and after the model has read it
	}{
		"an answer that is measured": {nil, (*play).speaks},
		"an answer of which only the end is": {nil,
			func(p *play, id string) { p.verdict(id, report("progress", "half", false)) }},
		"what the journal may drop is not enough": {func(p *play, id string) {
			p.happen(id, bridge.Delta{Text: "I"})
			p.happen(id, bridge.Assistant{Text: "I look"})
			p.happen(id, bridge.ToolUse{Tool: "Read", ToolUse: "t", Input: []byte(`{}`)})
		}, (*play).speaks},
		"what others say is no answer": {func(p *play, id string) {
			p.happen(id, bridge.Context{Tokens: 1000, Window: 200_000, Source: "cli"})
			p.speaks(contract.Arbiter)
		}, (*play).speaks},
		"the API refuses the turn": {func(p *play, id string) {
			p.turn(id, failed(bridge.CatUsageLimit))
			p.do(input.Timer{Key: RetryPrefix + RunOf(p.agent(id).AgentRef)})
			p.proven(id)
		}, (*play).speaks},
		"the API refuses the history": {func(p *play, id string) {
			p.afresh(id, bridge.CatInvalidRequest)
			p.proven(id)
		}, (*play).speaks},
		"a hook refuses it": {func(p *play, id string) {
			a := p.agent(id)
			p.proven(id)
			refused := failed(bridge.CatHook)
			refused.MessageIDs, refused.Unread = a.Turn, a.Turn
			p.happen(id, refused)
		}, nil},
		"its process ends before an answer": {func(p *play, id string) {
			p.rebirth(id, bridge.DeliverySeen)
			p.proven(id)
		}, (*play).speaks},
		"the run is resumed before an answer": {func(p *play, id string) {
			p.resume("")
			p.back(bridge.DeliverySeen)
			p.proven(id)
		}, (*play).speaks},
		"its process ends, and had begun to answer": {nil, func(p *play, id string) {
			p.rebirth(id, bridge.DeliveryBegun)
		}},
		"its process ends, and had ruled": {nil, func(p *play, id string) {
			p.hadRuled(id, report("progress", "half", false))
		}},
		"its session does not have it": {func(p *play, id string) {
			p.rebirth(id, bridge.DeliveryAbsent)
			p.speaks(id) // of what was there before
		}, func(p *play, id string) { p.proven(id); p.speaks(id) }},
		"its reader is released": {func(p *play, id string) {
			p.say("let it go")
			p.call(contract.Arbiter, "release_orchestrator", `{"id":"`+id+`","reason":"enough"}`)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p, id, m := openTurn(t, RoleOrchestrator)
			p.proven(id)
			if c.before != nil {
				c.before(p, id)
			}
			testkit.Same(t, "delivered times before a model has read it", 0, p.saidDelivered()[m.MessageID])
			if c.then == nil {
				return
			}
			c.then(p, id)
			p.speaks(id)
			testkit.Same(t, "delivered times", 1, p.saidDelivered()[m.MessageID])
			if len(p.s.Conversation.Accepted) > 1 { // what follows a resume may not be read yet
				t.Errorf("kept: %v", p.s.Conversation.Accepted)
			}
		})
	}
}

// TestSteeredIsDeliveredWhenRead: a message into a running turn is not read by what the model says before the CLI has
// accepted it, nor by a turn that fails after that.
func TestSteeredIsDeliveredWhenRead(t *testing.T) {
	p, id, _ := openTurn(t, RoleOrchestrator)
	p.proven(id)
	p.speaks(id)
	p.say("mind the tests", contract.Steer, id)
	word := last[contract.Message](p).MessageID
	p.speaks(id)
	p.turn(id, bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatServer, Error: "500"})
	testkit.Same(t, "delivered times, and the request that contained it failed", 0, p.saidDelivered()[word])
	p.do(input.Timer{Key: RetryPrefix + RunOf(p.agent(id).AgentRef)})
	p.proven(id)
	p.speaks(id)
	testkit.Same(t, "delivered times", 1, p.saidDelivered()[word])
}

// TestUnansweredMessageGoesToTheArbiter: an Orchestrator ends before a model has answered what the human said to it: it
// was starting, or the API refused the turn. The Arbiter gets the message, and cannot complete the task before it has
// read it; the human is notified.
func TestUnansweredMessageGoesToTheArbiter(t *testing.T) {
	const word = "turn left"
	refused := bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatUsageLimit, Error: "You've hit your limit"}
	again := func(p *play, id string) { p.do(input.Timer{Key: RetryPrefix + RunOf(p.agent(id).AgentRef)}) }
	for _, tt := range []struct {
		name   string
		before func(p *play, id string) // the end of the Orchestrator
		passed bool
	}{
		{"its brief waits for an answer", func(*play, string) {}, true},
		{"released while the limit is waited for", func(p *play, id string) { p.turn(id, refused) }, true},
		{"released while the turn is tried again", func(p *play, id string) { p.turn(id, refused); again(p, id) }, true},
		{"refused twice", func(p *play, id string) { p.turn(id, refused); again(p, id); p.turn(id, refused) }, true},
		{"answered at the second try", func(p *play, id string) {
			p.turn(id, refused)
			again(p, id)
			p.verdict(id, report("question", "I turned left. And now?", true))
		}, false},
		{"answered", func(p *play, id string) {
			p.turn(id, bridge.Turn{Usage: bridge.Usage{Output: 9}, Outcome: bridge.TurnInterrupted})
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, id := oneWorks(t, nil)
			p.say(word, contract.Steer, id)
			tt.before(p, id)
			p.say("let it go")
			p.call("arbiter", "release_orchestrator", `{"id":"orch-1","reason":"enough"}`)
			record, said := p.ledger()[word], 0
			for _, n := range told[contract.Notice](p) {
				if strings.Contains(n.Text, record.ID) && strings.Contains(n.Text, word) &&
					strings.Contains(n.Text, "Orchestrator I") {
					said++
				}
			}
			if !tt.passed {
				testkit.Check(t, record.Status == MessageDelivered && said == 0, "%s, %d notices", record.Status, said)
				return
			}
			testkit.Check(t, record.Status == MessageWaiting && said == 1, "%s, %d notices", record.Status, said)
			p.verdict("arbiter", ruling("COMPLETE", "Done."))
			for range 3 {
				if !strings.Contains(p.lastSent("arbiter"), word) {
					p.verdict("arbiter", ruling("COMPLETE", "Done."))
				}
			}
			p.contains("the Arbiter", p.lastSent("arbiter"), word, "said this to Orchestrator I (orch-1)")
			testkit.Check(t, p.s.Ending == nil, "the task is complete before the message is read")
			p.rebirth("arbiter", bridge.DeliverySeen)
			p.speaks("arbiter")
			testkit.Same(t, "after the Arbiter's answer", MessageDelivered, p.ledger()[word].Status)
		})
	}
}

// ledger returns the message records of a play's history, by their text.
func (p *play) ledger() map[string]MessageRecord {
	p.t.Helper()
	var fold Replayer
	var m Messages
	for _, r := range records(p.t, p.in) {
		step := testkit.Must(fold.Replay(r))(p.t)
		notes(&m, step, &fold.State)
	}
	m.Close(&fold.State.Conversation)
	list := map[string]MessageRecord{}
	for _, r := range m.List {
		list[r.Text] = r
	}
	return list
}

// TestTheLedgerOfMessages: the ledger reports the delivery status of each message, even if the processes that
// should read it end.
func TestTheLedgerOfMessages(t *testing.T) {
	p, one, two := twoWork(t, nil)
	p.rebirth(one, bridge.DeliveryAbsent) // unproven, and sent again
	p.verdict(one, report("progress", "left: half is there", false))
	p.proven(two)
	p.rebirth(two, bridge.DeliveryAbsent) // proven, and its history is lost with the process
	p.verdict(two, report("question", "May I?", true))
	atIt := ruling("ADDRESS_HUMAN", "They are at it.")
	atIt["report"] = true
	p.verdict("arbiter", atIt)
	p.say("for the other", contract.Note, two)
	p.say("one more word", contract.Note, one)
	p.say("and another", contract.Note, one)
	p.call("arbiter", "release_orchestrator", `{"id":"orch-2","reason":"enough"}`)
	p.verdict(one, report("progress", "left: more is there", false))

	got := map[string]string{}
	sent := map[string]int{}
	for text, r := range p.ledger() {
		got[text], sent[text] = r.Status, r.Sent
	}
	company := "right half" + (&Roster{Agents: p.s.Agents[:2]}).SharingText("orch-2")
	p.contains("the second brief", company, "You are not alone", "Orchestrator I (orch-1)")
	want := map[string]string{
		"Build it": MessageDelivered, "left half": MessageDelivered, company: MessageDelivered,
		"left: half is there": MessageDelivered, "May I?": MessageDelivered, "They are at it.": MessageReported,
		"for the other": MessageSent, "one more word": MessageSent, "and another": MessageWaiting,
		"left: more is there": MessageWaiting, "Your report is in the work log. Continue.": MessageDelivered,
	}
	testkit.Same(t, "statuses", want, got)
	testkit.Check(t, sent["left half"] == 2 && sent[company] == 2 && sent["Build it"] == 1 &&
		sent["and another"] == 0 && sent["They are at it."] == 0, "how often they were written: %v", sent)
}

// TestTheLedgerAddsUp: in any run, every message to an agent was seen, waits, or was returned.
func TestTheLedgerAddsUp(t *testing.T) {
	for seed := range uint64(often(100, 300)) {
		r := rand.New(rand.NewPCG(seed, 11))
		var s State
		at := time.Unix(1_800_000_000, 0)
		body := input.Body(input.Began{Options: runconfig.Options{Run: testRun, Delimiter: "d", HumanPresent: true,
			Task: "t", MaxExchanges: 8, MaxOrchestrators: 3}.WithDefaults()})
		for range 300 {
			at = at.Add(time.Second)
			s, _ = Apply(s, input.Input{At: at, Body: body})
			checkInvariants(t, &s)
			body = randomInput(r, &s)
		}
	}
}

// TestAMessageIsCountedOnce: a message that was seen, lost with its process and then returned with its reader
// counts as seen if a model has answered it, else as returned.
func TestAMessageIsCountedOnce(t *testing.T) {
	for _, answered := range []bool{false, true} {
		p := begin(t, nil)
		id := p.spawn("work")
		p.proven(id)
		if answered {
			p.speaks(id)
		}
		p.rebirth(id, bridge.DeliveryAbsent)
		p.call("arbiter", "release_orchestrator", `{"id":"orch-1","reason":"enough"}`)
		want := ConversationLedger{Posted: 2, Sent: 3, Returned: 1, Requeued: 1} // the task is still unproven
		status := MessageReturned
		if answered {
			want.Seen, want.Returned, status = 1, 0, MessageDelivered
		}
		testkit.Same(t, fmt.Sprintf("answered %v: ledger", answered), want, p.s.Conversation.Ledger)
		r := p.ledger()["work"]
		testkit.Check(t, r.Status == status && r.Sent == 2, "answered %v: %+v", answered, r)
	}
}

// TestShelvedIsNotWaiting: a verdict that was ruled on without the Arbiter does not wait for a reader.
func TestShelvedIsNotWaiting(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.Decider = runconfig.DeciderRules })
	p.decides(decider.Rules{})
	id := p.working()
	p.verdict(id, report("done", "the plan is done", true))
	p.decides(decider.Rules{})
	testkit.Need(t, p.s.Conversation.Ledger.Demoted != 0, "nothing was shelved")
	list := p.ledger()
	for text, r := range list {
		testkit.Check(t, r.To != contract.Arbiter || r.Status != MessageWaiting, "%.40q is listed as waiting", text)
	}
	testkit.Same(t, "the task is listed as", MessageDemoted, list["Build it"].Status)
}

// TestWhoIsAlive: a refusal lists the agents that can receive messages, and does not list an agent called "none".
func TestWhoIsAlive(t *testing.T) {
	p := begin(t, nil)
	for _, b := range []contract.CommandBody{
		contract.Say{Text: "x", To: "orch-9"}, contract.Kill{ID: "orch-9"}, contract.Configure{ID: "orch-9", Model: "m"},
		contract.Attach{ID: "orch-9"},
	} {
		ok, why := p.command(b)
		testkit.Check(t, !ok && strings.HasSuffix(why, "alive: arbiter"), "%s: %q", b.CommandType(), why)
	}
	p.spawn("build it")
	ok, why := p.command(contract.Kill{ID: "orch-9"})
	testkit.Check(t, !ok && strings.HasSuffix(why, "alive: arbiter, orch-1 working"), "%v", why)
}

// notes applies a step as the records of the event log describe it.
func notes(m *Messages, r Replayed, after *State) {
	for _, e := range after.Conversation.WorkLog {
		if e.Demoted {
			m.Demoted(e.ID)
		}
	}
	for _, e := range r.Effects {
		switch e := e.(type) {
		case input.Emit:
			switch b := e.Event.Body.(type) {
			case contract.Message:
				m.AddMessage(r.Input.At, b)
			case contract.Delivered:
				m.Delivered(b.MessageID, "")
			}
		case input.Send:
			if sent, ok := after.Conversation.SentAs(e.Params.MessageID); ok {
				m.Sent(sent.ID)
			}
		}
	}
}

// sent is a state with one message on its way to an agent.
func sent(m Mail) ConversationState {
	m.Sent, m.Wire = true, m.ID
	return ConversationState{Mail: []Mail{m}, Ledger: ConversationLedger{Posted: 1, Sent: 1}}
}

// TestCopiesAreIndependent: a change of one copy of the state is not visible in another.
func TestCopiesAreIndependent(t *testing.T) {
	before := sent(Mail{ID: "m1", To: "orch-1", Kind: KindBrief, Content: "begin"})
	before.WorkLog = []ConversationEntry{{ID: "e1", Carrier: "m1"}}
	after := before
	after.Post(Mail{ID: "m2", To: "orch-1"})
	after.Ahead(Mail{ID: "m0", To: "orch-1"})
	after.Unsend("m1")
	after.AddEntry(ConversationEntry{ID: "e2"})
	testkit.Check(t, len(before.Mail) == 1 && before.Mail[0].Sent && before.Mail[0].Content == "begin" &&
		before.WorkLog[0].Carrier == "m1" && len(before.WorkLog) == 1, "the copy before was written to: %+v", before)
	order := testkit.Each(after.Mail, func(m Mail) string { return m.ID })
	testkit.Same(t, "the queue", []string{"m1", "m0", "m2"}, order) // m1 was on its way when m0 came
	testkit.Same(t, "the report still travels with a message that was not sent", "", after.WorkLog[0].Carrier)
}

// TestDeliverAndRequeue: a delivered message is kept while its turn runs, and is sent under another id if the
// process ends.
func TestDeliverAndRequeue(t *testing.T) {
	s := sent(Mail{ID: "m1", To: "orch-1"})
	if _, ok := s.Deliver("other", true); ok {
		t.Error("a message that is not there was delivered")
	}
	m, ok := s.Deliver("m1", true)
	testkit.Need(t, ok && m.ID == "m1" && len(s.Mail) == 0 && onWire(s.InTurn, "m1") >= 0 && s.Ledger.Seen == 1,
		"after delivery: %+v, %v, %+v", m, ok, s)
	_, ok = s.Requeue("m1", "w2")
	testkit.Need(t, ok && len(s.Mail) == 1 && s.Mail[0].Wire == "w2" && !s.Mail[0].Sent && onWire(s.InTurn, "m1") < 0,
		"after the process died: %+v", s)
	s.Mail[0].Sent = true
	m, _ = s.Deliver("w2", false)
	testkit.Check(t, m.Reported && s.Ledger.Seen == 1, "the second delivery counted again: %+v, %+v", m, s.Ledger)
}

// TestRecentMessagesAreBounded: the conversation keeps the last messages, and corrects them only in its own
// copy.
func TestRecentMessagesAreBounded(t *testing.T) {
	var s ConversationState
	for i := range RecentMessagesKept + 5 {
		s.Remember(&contract.Message{MessageID: fmt.Sprint(i), Text: "as said"})
	}
	if n := len(s.RecentMessages); n != RecentMessagesKept || s.RecentMessages[0].MessageID != "5" {
		t.Fatalf("%d are remembered, from %s", n, s.RecentMessages[0].MessageID)
	}
	other := s
	other.Correct("7", func(m *contract.Message) { m.Text = "corrected" })
	testkit.Check(t, s.RecentMessages[2].Text == "as said" && other.RecentMessages[2].Text == "corrected", "%q, %q",
		s.RecentMessages[2].Text, other.RecentMessages[2].Text)
}

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
			testkit.Check(t, !strings.Contains(first, "END") && strings.Contains(first, "BEGINNING") == c.cut &&
				len(first) <= 100_000, "the successor was sent %d bytes: %.3000s", len(first), first)
			e := last[contract.Error](p)
			testkit.Check(t, e.Category == bridge.CatPromptTooLong &&
				strings.Contains(e.Message, "too large to be read") && len(e.RecoveryOptions) == 1,
				"the human is given %+v", e)
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
		testkit.Need(t, p.s.Question.Open != nil &&
			strings.Contains(p.s.Question.Text(), "more than the model can read"), "asked %+v", p.s.Question.Open)
		p.succeeds()
		p.say("Build a bridge.")
		first := p.lastSent("arbiter")
		p.contains("the successor", first, "kind: task", "Build a bridge.")
		testkit.Check(t, !strings.Contains(first, "TASK") && p.s.Task.Text == "Build a bridge.",
			"the task is %.60q, and it was sent %.3000s", p.s.Task.Text, first)
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
			testkit.Check(t, p.s.Reached(), "it cannot be taken up")
		})
	}
}
