package supervisor

import (
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/restart"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// post queues a message and announces it. A run that is ending, perhaps since a
// moment ago in the same step, takes none.
func (st *step) post(m Mail) {
	if st.Ending != nil {
		return
	}
	if !st.mayWrite(m.From, m.To) {
		st.emit(contract.Supervisor, contract.Notice{Text: "a message is not passed on: " + m.From + " may not write to " + m.To})
		return
	}
	m.ID, m.At = st.newMessageID(), st.at
	st.speak(m.From, contract.Message{MessageID: m.ID, From: m.From, To: m.To, Kind: m.Kind, Text: m.whole()})
	st.Ledger.Posted++
	if m.Strength == contract.Stop || m.From == contract.Supervisor && (m.Kind == KindRetry || m.Kind == KindRenewal) {
		// It goes first: the turn it interrupts, or takes up again, must not be
		// followed by another.
		st.ahead(m)
		return
	}
	if !st.fallBehind(m) {
		st.Mail = append(st.mail(), m)
	}
}

// ahead puts a message before all that wait for the same agent.
func (st *step) ahead(m Mail) {
	at := slices.IndexFunc(st.Mail, func(x Mail) bool { return x.To == m.To && !x.Sent })
	if at < 0 {
		at = len(st.Mail)
	}
	st.Mail, st.ownMail = slices.Insert(slices.Clone(st.Mail), at, m), true
}

// speak announces a message and remembers it as part of the conversation.
func (st *step) speak(from string, m contract.Message) {
	m = st.signed(m)
	st.emit(from, m)
	keep := st.RecentMessages
	if len(keep) >= RecentMessagesKept {
		keep = keep[len(keep)-RecentMessagesKept+1:]
	}
	st.RecentMessages = append(slices.Clip(keep), &m)
}

// tell posts the supervisor's own word to an agent.
func (st *step) tell(to, kind, text string) {
	st.post(Mail{From: contract.Supervisor, To: to, Kind: kind, Text: text})
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
	st.catchUp()
	if st.Paused {
		return
	}
	for i := range st.Mail {
		m := &st.Mail[i]
		if m.Sent || st.Held && betweenAgents(m.From, m.Kind) || st.withheld(m) {
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
	m := &st.mail()[i]
	m.Sent = true
	if m.Wire == "" {
		m.Wire = m.ID
	}
	if m.Content == "" {
		m.Carries = nil
	}
	if m.Content == "" && m.To == contract.Arbiter && m.Kind != KindCorrection {
		log := st.workLog()
		for k := range log {
			if log[k].Carrier == "" {
				log[k].Carrier = m.ID
				m.Carries = append(m.Carries, log[k].ID)
			}
		}
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
	if a.HandoffBrief != "" && !m.CarriesBrief && !st.carriesBrief(m.To) {
		brief := st.handoffBrief(a.HandoffBrief) + "\n"
		m.CarriesBrief, m.BriefBytes, m.Content = true, len(brief), brief+m.Content
	}
	st.Ledger.Sent++
	st.do(effect.Send{Params: bridge.MessageParams{AgentRef: a.AgentRef, MessageID: m.Wire, Content: m.Content, Steer: steer}})
	if !steer {
		st.awaitProof(*m)
	}
}

// carriesBrief reports whether a message with the hand-off brief is on its way to an agent. A word that
// steers overtakes the proof that it arrived.
func (s *State) carriesBrief(id string) bool {
	return slices.ContainsFunc(s.Mail, func(m Mail) bool { return m.To == id && m.Sent && m.CarriesBrief })
}

// SentAs is the message that went out under an id and is not delivered yet; false: none.
func (s *State) SentAs(wire string) (Mail, bool) {
	i := onWire(s.Mail, wire)
	if i < 0 {
		return Mail{}, false
	}
	return s.Mail[i], true
}

// delivered takes a message off the queue, with the reports it carried. It is
// kept until its turn is over: if the process dies at once, its session may not
// know of it.
func (st *step) delivered(wire string) {
	i := onWire(st.Mail, wire)
	if i < 0 {
		return
	}
	m := st.Mail[i]
	st.Mail = slices.Delete(st.mail(), i, i+1)
	st.do(effect.SetTimer{Key: proofKey(wire)})
	st.read(m)
	if a := st.Edit(m.To); a != nil {
		a.HasHistory, a.ReturnNotice = true, ""
		if m.CarriesBrief {
			a.HandoffBrief = ""
		}
		if slices.Contains(a.Turn, wire) {
			kept := m
			kept.Told, kept.Carries, kept.CarriesBrief = true, nil, false
			st.InTurn = append(slices.Clip(st.InTurn), kept)
		}
	}
	if m.Told {
		return
	}
	st.Ledger.Seen++
	st.handed(m.To, m.From, m.ID)
	if len(m.Carries) == 0 {
		return
	}
	kept := st.WorkLog[:0:0]
	for _, e := range st.WorkLog {
		if e.Carrier != m.ID {
			kept = append(kept, e)
			continue
		}
		if !e.Quiet {
			st.handed(m.To, e.From, e.ID)
		}
	}
	st.WorkLog, st.ownLog = kept, true
}

// overWith forgets a message whose turn is over.
func (st *step) overWith(wire string) {
	if i := onWire(st.InTurn, wire); i >= 0 {
		st.InTurn = slices.Delete(slices.Clone(st.InTurn), i, i+1)
	}
}

// unsent puts a message back: the agent did not take it up.
func (st *step) unsent(wire string) {
	i := onWire(st.Mail, wire)
	if i < 0 {
		return
	}
	st.do(effect.SetTimer{Key: proofKey(wire)})
	m := &st.mail()[i]
	m.Sent, m.Resent = false, false
	if m.Told {
		return // it carries nothing any more, and goes out as it was
	}
	m.Carries, m.Content, m.CarriesBrief, m.BriefBytes = nil, "", false, 0
	log := st.workLog()
	for k := range log {
		if log[k].Carrier == m.ID {
			log[k].Carrier = ""
		}
	}
}

// requeue puts back a message that died with a process. It goes out under
// another id: the session may drop the old one as a repeat.
func (st *step) requeue(wire string) {
	if i := onWire(st.InTurn, wire); i >= 0 {
		m := st.InTurn[i]
		st.overWith(wire)
		st.forgetReading(m.ID)
		m.Sent, m.Resent = false, false
		m.Wire = st.newMessageID()
		st.Ledger.Requeued++
		st.ahead(m)
		return
	}
	i := onWire(st.Mail, wire)
	if i < 0 {
		return
	}
	st.unsent(wire)
	st.mail()[i].Wire = st.newMessageID()
	st.Ledger.Requeued++
}

// drop takes all mail to an agent that can no longer read it, and returns it.
func (st *step) drop(to string) []Mail {
	st.putAsked(to)
	st.bringUp(to, -1)
	lost := append(st.takeBack(func(m Mail) bool { return m.To == to }), st.returnRefused(to)...)
	st.InTurn = slices.DeleteFunc(slices.Clone(st.InTurn), func(m Mail) bool { return m.To == to })
	return lost
}

// takeBack takes mail off the queue that nobody is to read any more, and returns it. What
// it carried waits for another message.
func (st *step) takeBack(unwanted func(Mail) bool) []Mail {
	var lost []Mail
	for _, m := range st.Mail {
		if !unwanted(m) {
			continue
		}
		if m.Sent {
			st.unsent(m.Wire)
		}
		lost = append(lost, m)
		if !m.Told {
			st.Ledger.Returned++
		}
	}
	if len(lost) > 0 {
		st.Mail = slices.DeleteFunc(st.mail(), unwanted)
	}
	return lost
}

// notSent handles a message the bridge could not write. If the CLI has proven
// meanwhile that it has the message, the failure was one of the answer only.
func (st *step) notSent(f input.NotSent) {
	a := st.Edit(f.Agent.ID)
	i := onWire(st.Mail, f.MessageID)
	if a == nil || a.Generation != f.Agent.Generation || i < 0 || !a.Up() {
		return
	}
	st.unsent(f.MessageID)
	a.Turn = slices.DeleteFunc(slices.Clone(a.Turn), func(id string) bool { return id == f.MessageID })
	if a.Status == roster.Busy && len(a.Turn) == 0 {
		a.Status, a.Since = roster.Ready, st.at
	}
	m := &st.mail()[i]
	m.Tries++
	if m.Tries < 3 {
		return // pump sends it again
	}
	// Its stdin is stuck or closed: the message stays, and another process reads it.
	m.Tries = 0
	st.relaunch(a.ID, restart.Hung, "a message could not be written: "+f.Message)
}

// betweenAgents reports whether a message is part of the agents' own talk, which
// the ceiling of exchanges counts and may hold.
func betweenAgents(from, kind string) bool {
	return from != contract.Human && from != contract.Supervisor || kind == KindContinue
}

// log queues a report that expects no answer.
func (st *step) log(from, kind, text string) {
	e := Entry{ID: st.newMessageID(), From: from, Kind: kind, Text: text, At: st.at}
	st.speak(from, contract.Message{MessageID: e.ID, From: from, To: contract.Arbiter, Kind: kind, Text: text})
	st.WorkLog = append(st.workLog(), e)
	st.boundLog()
}
