package supervisor

import (
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/restart"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// proofWait is how long a message may go without proof that the agent took it up.
// The CLI proves it at once (observed with CLI 2.1.329: 0.0 s), so that this is
// generous; while it retries the API, or is stopped, it is no sign of anything.
const proofWait = 30 * time.Second

// awaitProof looks at a message again when its proof is overdue.
func (st *step) awaitProof(m conversation.Mail) {
	st.do(effect.SetTimer{Key: proofKey(m.Wire), After: st.Options.Scaled(proofWait)})
}

const saidEarlier = "Said before the word that you read last, which stopped you before you had this one:\n"

// unread queues a message again that an interrupt overtook: it was delivered, but the
// session does not have it. Behind a word that the human stopped the turn with it goes into
// that one's turn, and says that it is older.
func (st *step) unread(id, wire string) {
	public := st.Conversation.PublicIDs([]string{wire})[0]
	st.requeue(wire)
	st.emit(id, contract.Notice{Text: "message " + public + " was interrupted before it was read; it is sent again"})
	st.Conversation.Overtake(public, saidEarlier)
}

// provenLater starts the wait for words that were sent into a turn and did not end
// with it: the CLI makes them its next turn.
func (st *step) provenLater(a *roster.Agent) {
	for _, wire := range a.Turn {
		if m, ok := st.Conversation.SentAs(wire); ok {
			st.awaitProof(m)
		}
	}
}

// proofOverdue deals with a message nobody proved to have: it is written once more
// under the same id, which the CLI drops if it has it, and then to another process,
// whose history tells.
func (st *step) proofOverdue(wire string) {
	sent, ok := st.Conversation.SentAs(wire)
	if !ok {
		return
	}
	a := st.Edit(sent.To)
	if a == nil || a.Status != roster.Busy || !slices.Contains(a.Turn, wire) {
		return
	}
	if a.Backoff != nil || a.Watch.Stopped {
		st.awaitProof(sent)
		return
	}
	m, again := st.Conversation.Resend(wire)
	if !again {
		st.emit(a.ID, contract.Notice{Text: "message " + m.ID + " was swallowed twice; " + a.Name +
			" is started again"})
		st.relaunch(a.ID, restart.Hung, "swallows its messages")
		return
	}
	st.emit(a.ID, contract.Notice{Text: "message " + m.ID + " was not taken up within " +
		st.Options.Scaled(proofWait).String() +
		"; it is sent again"})
	st.do(effect.Send{Params: bridge.MessageParams{AgentRef: a.AgentRef, MessageID: m.Wire, Content: m.Content,
		Steer: len(a.Turn) > 1}})
	st.awaitProof(m)
}

// modelAnswered reports whether a model answered in a turn: then it has read what was delivered
// before.
func modelAnswered(t bridge.Turn) bool {
	return t.Outcome == bridge.TurnDone || t.Usage != (bridge.Usage{})
}

// maybeUnanswered reports whether a model may never have read a message of a turn that ended: none answered
// in the turn, or the message went into a running one, of which a later request may have failed.
func maybeUnanswered(a *roster.Agent, t bridge.Turn, m conversation.Mail) bool {
	return a.Role == roster.RoleOrchestrator && t.Outcome == bridge.TurnFailed && t.Category != bridge.CatVerdict &&
		(!modelAnswered(t) || m.Strength == contract.Steer)
}

// pump sends what can be sent: one message a turn, oldest first, to each agent
// that has no turn running; and a word that steers to one that has.
func (st *step) pump() {
	st.Conversation.CatchUp()
	if st.Paused || st.budgetHolds() {
		return
	}
	room := st.Budget.Room(st.limits(), st.Spent()) - st.busyCount()
	for i := range st.Conversation.Mail {
		m := &st.Conversation.Mail[i]
		if m.Sent || st.Conversation.Held && conversation.BetweenAgents(m.From, m.Kind) ||
			st.Rulings.Withholds(&st.Options, &st.Task, m) {
			continue
		}
		a, ok := st.Agent(m.To)
		if !ok || a.Role == roster.RoleArbiter && st.Renewal.Withholds(m.Kind) {
			continue
		}
		steer := m.Strength == contract.Steer && a.Status == roster.Busy
		switch {
		case steer:
			st.send(i, true)
		case a.Status == roster.Ready && room > 0:
			st.send(i, false)
			room--
		}
	}
}

// reading is what a message is rendered with.
func (st *step) reading(m *conversation.Mail) conversation.Reading {
	to, _ := st.Agent(m.To)
	r := conversation.Reading{Delimiter: st.Options.Delimiter, Sender: st.DisplayName(m.From),
		Untrusted: st.IsOrchestrator(m.From), Returned: to.ReturnNotice}
	switch {
	case m.To == contract.Arbiter:
		r.Standing = st.Rulings.ArbiterRequest.Text(st.Options.Templates)
	case to.Role == roster.RoleOrchestrator && to.ContextLow():
		r.Demand = to.HandoffDemand()
	}
	return r
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
		a.Status, a.Since, a.Turn, a.Backoff, a.Stopped = roster.Busy, st.at, nil, nil, false
	}
	a.Turn = append(slices.Clip(a.Turn), m.Wire)
	if m.Content == "" {
		if a.Role == roster.RoleArbiter {
			st.Rulings.ShowArbiter(st.standing(), *m)
		}
		m.Content = st.Conversation.Render(*m, st.reading(m))
	}
	if a.HandoffBrief != "" && !m.CarriesBrief && !st.Conversation.CarriesBriefTo(m.To) {
		brief := conversation.HandoffBrief(st.Options.Delimiter, st.DisplayName(contract.Supervisor), a.HandoffBrief) + "\n"
		m.CarriesBrief, m.BriefBytes, m.Content = true, len(brief), brief+m.Content
	}
	st.Conversation.Ledger.Sent++
	st.do(effect.Send{Params: bridge.MessageParams{AgentRef: a.AgentRef, MessageID: m.Wire, Content: m.Content,
		Steer: steer}})
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
	st.Rulings.Read(m)
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
		st.Rulings.ForgetReading(m.ID)
	}
}

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

// maxSends is how often a message is written to one process before it counts as one that cannot be written to.
const maxSends = 3
