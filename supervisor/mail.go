package supervisor

import (
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/restart"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// post queues a message and announces it. A run that is ending, perhaps since a
// moment ago in the same step, takes none.
func (st *step) post(m conversation.Mail) {
	if st.Ending != nil {
		return
	}
	if !st.mayWrite(m.From, m.To) {
		st.emit(contract.Supervisor, contract.Notice{Text: "a message is not passed on: " + m.From + " may not write to " + m.To})
		return
	}
	m.ID, m.At = st.newMessageID(), st.at
	st.speak(m.From, contract.Message{MessageID: m.ID, From: m.From, To: m.To, Kind: m.Kind, Text: m.Whole()})
	if m.Strength == contract.Stop || m.From == contract.Supervisor && (m.Kind == conversation.KindRetry || m.Kind == conversation.KindRenewal) {
		// It goes first: the turn it interrupts, or takes up again, must not be
		// followed by another.
		st.Conversation.PostAhead(m)
		return
	}
	st.Conversation.Post(m)
}

// speak announces a message and remembers it as part of the conversation.
func (st *step) speak(from string, m contract.Message) {
	m = st.signed(m)
	st.emit(from, m)
	st.Conversation.Said(&m)
}

// tell posts the supervisor's own word to an agent.
func (st *step) tell(to, kind, text string) {
	st.post(conversation.Mail{From: contract.Supervisor, To: to, Kind: kind, Text: text})
}

// toHuman announces a message that no agent receives.
func (st *step) toHuman(kind, text string) {
	st.speak(contract.Arbiter, contract.Message{
		MessageID: st.newMessageID(), From: contract.Arbiter, To: contract.Human, Kind: kind, Text: text,
	})
}

// pump sends what can be sent: one message a turn, oldest first, to each agent
// that has no turn running; and a word that steers to one that has.
func (st *step) pump() {
	st.Conversation.CatchUp()
	if st.Paused {
		return
	}
	for i := range st.Conversation.Mail {
		m := &st.Conversation.Mail[i]
		if m.Sent || st.Conversation.Held && conversation.BetweenAgents(m.From, m.Kind) || st.withheld(m) {
			continue
		}
		a, ok := st.Agent(m.To)
		if !ok || a.Role == roster.RoleArbiter && st.renewing(m.Kind) {
			continue
		}
		steer := m.Strength == contract.Steer && a.Status == roster.Busy
		if a.Status == roster.Ready || steer {
			st.send(i, steer)
		}
	}
}

// send writes one message to its agent. The work log travels with the first
// message to the Arbiter that can carry it.
func (st *step) send(i int, steer bool) {
	m := &st.Conversation.EditMail()[i]
	m.Sent = true
	if m.Wire == "" {
		m.Wire = m.ID
	}
	if m.Content == "" {
		m.Carries = nil
	}
	if m.Content == "" && m.To == contract.Arbiter && m.Kind != conversation.KindCorrection {
		st.Conversation.Attach(m)
	}
	a := st.Edit(m.To)
	if a.Role == roster.RoleOrchestrator && a.ContextLow() && m.Content == "" {
		a.HandoffDemands++ // render says it
	}
	if !steer {
		a.Status, a.Since, a.Turn, a.Backoff = roster.Busy, st.at, nil, nil
	}
	a.Turn = append(slices.Clip(a.Turn), m.Wire)
	if m.Content == "" {
		st.noteArbiterRequest(a, *m)
		m.Content = st.render(*m)
	}
	if a.HandoffBrief != "" && !m.CarriesBrief && !st.Conversation.CarriesBriefTo(m.To) {
		brief := st.handoffBrief(a.HandoffBrief) + "\n"
		m.CarriesBrief, m.BriefBytes, m.Content = true, len(brief), brief+m.Content
	}
	st.Conversation.Ledger.Sent++
	st.do(effect.Send{Params: bridge.MessageParams{AgentRef: a.AgentRef, MessageID: m.Wire, Content: m.Content, Steer: steer}})
	if !steer {
		st.awaitProof(*m)
	}
}

// delivered takes a message off the queue, with the reports it carried.
func (st *step) delivered(wire string) {
	sent, ok := st.Conversation.SentAs(wire)
	if !ok {
		return
	}
	a := st.Edit(sent.To)
	m, _ := st.Conversation.Deliver(wire, a != nil && slices.Contains(a.Turn, wire))
	st.out.StopTimer(proofKey(wire))
	st.read(m)
	if a != nil {
		a.HasHistory, a.ReturnNotice = true, ""
		if m.CarriesBrief {
			a.HandoffBrief = ""
		}
	}
	if m.Told {
		return
	}
	st.handed(m.To, m.From, m.ID)
	if len(m.Carries) == 0 {
		return
	}
	for _, e := range st.Conversation.TakeCarried(m.ID) {
		if !e.Quiet {
			st.handed(m.To, e.From, e.ID)
		}
	}
}

// requeue puts back a message that was lost with a process.
func (st *step) requeue(wire string) {
	if _, queued := st.Conversation.SentAs(wire); queued {
		st.out.StopTimer(proofKey(wire))
	} else if !st.Conversation.IsInTurn(wire) {
		return
	}
	m, _ := st.Conversation.Requeue(wire, st.newMessageID())
	if m.Told {
		st.forgetReading(m.ID)
	}
}

// drop takes all mail to an agent that can no longer read it, and returns it.
func (st *step) drop(to string) []conversation.Mail {
	st.putAsked(to)
	lost, refused := st.Conversation.Release(to)
	for _, m := range lost {
		if m.Sent {
			st.out.StopTimer(proofKey(m.Wire))
		}
	}
	for _, m := range refused {
		if m.From == contract.Human {
			st.emit(to, contract.Notice{Text: "message " + m.ID + " was not answered: the API refused the turn, and " +
				st.displayName(to) + " was let go before another"})
		}
	}
	return append(lost, refused...)
}

// takeBack takes mail off the queue that nobody is to read any more.
func (st *step) takeBack(unwanted func(conversation.Mail) bool) {
	for _, m := range st.Conversation.TakeBack(unwanted) {
		if m.Sent {
			st.out.StopTimer(proofKey(m.Wire))
		}
	}
}

// maxSends is how often a message is written to one process before it counts as one that cannot be written to.
const maxSends = 3

// notSent handles a message the bridge could not write. If the CLI has proven
// meanwhile that it has the message, the failure was one of the answer only.
func (st *step) notSent(f input.NotSent) {
	a := st.Edit(f.Agent.ID)
	_, sent := st.Conversation.SentAs(f.MessageID)
	if a == nil || a.Generation != f.Agent.Generation || !sent || !a.Up() {
		return
	}
	exhausted := st.Conversation.SendFailed(f.MessageID, maxSends)
	st.out.StopTimer(proofKey(f.MessageID))
	a.Turn = slices.DeleteFunc(slices.Clone(a.Turn), func(id string) bool { return id == f.MessageID })
	if a.Status == roster.Busy && len(a.Turn) == 0 {
		a.Status, a.Since = roster.Ready, st.at
	}
	if !exhausted {
		return // pump sends it again
	}
	// Its stdin is stuck or closed: the message stays, and another process reads it.
	st.relaunch(a.ID, restart.Hung, "a message could not be written: "+f.Message)
}

// log queues a report that expects no answer.
func (st *step) log(from, kind, text string) {
	e := conversation.Entry{ID: st.newMessageID(), From: from, Kind: kind, Text: text, At: st.at}
	st.speak(from, contract.Message{MessageID: e.ID, From: from, To: contract.Arbiter, Kind: kind, Text: text})
	st.Conversation.AddEntry(e)
	st.boundLog()
}
