package supervisor

// This part of the package holds the messages of a run: those on their way to agents, and those of the past.
//
// A message waits in [ConversationState.Mail] until it is sent, and stays there until its delivery is proven. Then it
// is kept in InTurn until the turn is over, because a process that ends at once may not have recorded it. A
// human's messages above a bound wait in the backlog. A report expects no answer: it waits in the work log, and
// is sent with the next message to the Arbiter. [ConversationLedger] counts messages by their delivery status:
// delivered, returned, or waiting.
//
// Package supervisor decides who may write to whom and when a message is sent, and sets the timers. This package emits
// nothing.

import (
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// InReach is how many messages may wait for an agent in [ConversationState.Mail], which is searched at every step.
// Beyond that a human's messages wait in the backlog, which is not searched. So the cost of a message does not depend
// on how many wait.
const InReach = 64

// with returns the backlog with one more message.
func (b Backlog) with(m Mail) Backlog {
	b.Parts = slices.Clone(b.Parts)
	last := len(b.Parts) - 1
	if last < 0 || len(b.Parts[last]) == InReach {
		b.Parts = append(b.Parts, []Mail{m})
		return b
	}
	b.Parts[last] = append(slices.Clip(b.Parts[last]), m)
	return b
}

// Queue returns all messages on their way to agents, those of the backlog last.
func (s *ConversationState) Queue() []Mail {
	list := slices.Clip(s.Mail)
	for _, b := range s.Backlog {
		for _, part := range b.Parts {
			list = append(list, part...)
		}
	}
	return list
}

// behind returns the index of an agent's backlog; -1: it has none.
func (s *ConversationState) behind(to string) int {
	return slices.IndexFunc(s.Backlog, func(b Backlog) bool { return b.To == to })
}

// inLine counts the messages in Mail that wait for an agent.
func (s *ConversationState) inLine(to string) int {
	n := 0
	for i := range s.Mail {
		if m := &s.Mail[i]; m.To == to && !m.Sent {
			n++
		}
	}
	return n
}

// fallBehind puts a human's message into the backlog if enough messages wait before it, and reports whether it
// did. Messages that something waits for, or that do not wait for their turn, stay in Mail.
func (s *ConversationState) fallBehind(m Mail) bool {
	plain := m.Kind == KindMessage || m.Kind == KindInterjection || m.Kind == KindInstruction || m.Kind == KindAnswer
	if m.From != contract.Human || !plain || m.Strength != "" && m.Strength != contract.Note {
		return false
	}
	i := s.behind(m.To)
	if i < 0 && s.inLine(m.To) < InReach {
		return false
	}
	s.Backlog = slices.Clone(s.Backlog)
	if i < 0 {
		i, s.Backlog = len(s.Backlog), append(s.Backlog, Backlog{To: m.To})
	}
	s.Backlog[i] = s.Backlog[i].with(m)
	return true
}

// CatchUp moves the oldest messages of the backlog to Mail where there is space again.
func (s *ConversationState) CatchUp() {
	for i := 0; i < len(s.Backlog); {
		if to := s.Backlog[i].To; s.inLine(to) < InReach/2 && s.bringUp(to, 1) {
			continue // it had no more
		}
		i++
	}
}

// bringUp moves so many parts of an agent's backlog to Mail (-1: all), and reports whether nothing is left of
// the backlog.
func (s *ConversationState) bringUp(to string, parts int) bool {
	i := s.behind(to)
	if i < 0 {
		return false
	}
	b := s.Backlog[i]
	if parts < 0 || parts > len(b.Parts) {
		parts = len(b.Parts)
	}
	for _, part := range b.Parts[:parts] {
		s.Mail = append(s.EditMail(), part...)
	}
	s.Backlog = slices.Clone(s.Backlog)
	if s.Backlog[i].Parts = b.Parts[parts:]; len(b.Parts) > parts {
		return false
	}
	s.Backlog = slices.Delete(s.Backlog, i, i+1)
	return true
}

// onWire finds the message that was sent under an id.
func onWire(list []Mail, wire string) int {
	return slices.IndexFunc(list, func(m Mail) bool { return m.Sent && m.Wire == wire })
}

// PublicIDs are the ids under which the messages were announced.
func (s *ConversationState) PublicIDs(wires []string) []string {
	ids := make([]string, 0, len(wires))
	for _, w := range wires {
		if i := onWire(s.Mail, w); i >= 0 {
			w = s.Mail[i].ID
		} else if i := onWire(s.InTurn, w); i >= 0 {
			w = s.InTurn[i].ID
		}
		ids = append(ids, w)
	}
	return ids
}

// Ahead puts a message before all that wait for the same agent.
func (s *ConversationState) Ahead(m Mail) {
	at := slices.IndexFunc(s.Mail, func(x Mail) bool { return x.To == m.To && !x.Sent })
	if at < 0 {
		at = len(s.Mail)
	}
	s.Mail, s.own.mail = slices.Insert(slices.Clone(s.Mail), at, m), true
}

// CarriesBriefTo reports whether a message with the hand-off brief is on its way to an agent. A steering
// message overtakes the proof that it arrived.
func (s *ConversationState) CarriesBriefTo(id string) bool {
	return slices.ContainsFunc(s.Mail, func(m Mail) bool { return m.To == id && m.Sent && m.CarriesBrief })
}

// SentAs is the message that was sent under an id and is not delivered yet; false: none.
func (s *ConversationState) SentAs(wire string) (Mail, bool) {
	i := onWire(s.Mail, wire)
	if i < 0 {
		return Mail{}, false
	}
	return s.Mail[i], true
}

// EndTurn forgets a message whose turn is over.
func (s *ConversationState) EndTurn(wire string) {
	if i := onWire(s.InTurn, wire); i >= 0 {
		s.InTurn = slices.Delete(slices.Clone(s.InTurn), i, i+1)
	}
}

// Unsend puts a message back that the agent did not process, and reports whether it was on its way. Then
// nothing waits for a proof of its delivery any more.
func (s *ConversationState) Unsend(wire string) bool {
	i := onWire(s.Mail, wire)
	if i < 0 {
		return false
	}
	m := &s.EditMail()[i]
	m.Sent, m.Resent = false, false
	if m.Reported {
		return true // it carries nothing any more, and is sent as it was
	}
	m.Carries, m.Content, m.CarriesBrief, m.BriefBytes = nil, "", false, 0
	log := s.EditLog()
	for k := range log {
		if log[k].Carrier == m.ID {
			log[k].Carrier = ""
		}
	}
	return true
}

// SendFailed puts a message back that could not be written, and reports whether that has happened as often as
// allowed. The message must be on its way.
func (s *ConversationState) SendFailed(wire string, allowed int) bool {
	i := onWire(s.Mail, wire)
	s.Unsend(wire)
	m := &s.EditMail()[i]
	m.Tries++
	if m.Tries < allowed {
		return false
	}
	m.Tries = 0
	return true
}

// Requeue puts back a message that was lost with a process, to be sent under another id: the session may ignore
// the old id as a duplicate. It returns the message as it was; false: no such message was on its way.
func (s *ConversationState) Requeue(wire, another string) (was Mail, ok bool) {
	if i := onWire(s.InTurn, wire); i >= 0 {
		was = s.InTurn[i]
		s.EndTurn(wire)
		m := was
		m.Sent, m.Resent = false, false
		m.Wire = another
		s.Ledger.Requeued++
		s.Ahead(m)
		return was, true
	}
	i := onWire(s.Mail, wire)
	if i < 0 {
		return was, false
	}
	was = s.Mail[i]
	s.Unsend(wire)
	s.EditMail()[i].Wire = another
	s.Ledger.Requeued++
	return was, true
}

// Deliver removes a message from the queue that an agent has proven to have; false: it is not there. open says
// that its turn runs: until the turn ends the message is kept, because a process that ends at once may not have
// recorded it.
func (s *ConversationState) Deliver(wire string, open bool) (Mail, bool) {
	i := onWire(s.Mail, wire)
	if i < 0 {
		return Mail{}, false
	}
	m := s.Mail[i]
	s.Mail = slices.Delete(s.EditMail(), i, i+1)
	if open {
		kept := m
		kept.Reported, kept.Carries, kept.CarriesBrief = true, nil, false
		s.InTurn = append(slices.Clip(s.InTurn), kept)
	}
	if !m.Reported {
		s.Ledger.Seen++
	}
	return m, true
}

// Resend returns a message on its way, to be written once more under the same id; false: it was written twice
// already, and counts as swallowed. The message must be on its way.
func (s *ConversationState) Resend(wire string) (Mail, bool) {
	i := onWire(s.Mail, wire)
	if s.Mail[i].Resent {
		s.Ledger.Swallowed++
		return s.Mail[i], false
	}
	m := &s.EditMail()[i]
	m.Resent = true
	s.Ledger.Resent++
	s.Ledger.Sent++
	return *m, true
}

// Overtake makes a message steer the turn of the stop message that interrupted it, with a note before its text,
// if that stop message still waits. A message without content stays in its place.
func (s *ConversationState) Overtake(id, note string) {
	mail := s.EditMail()
	at := slices.IndexFunc(mail, func(m Mail) bool { return m.ID == id })
	if at < 0 {
		return
	}
	stop := slices.IndexFunc(mail, func(m Mail) bool {
		return m.To == mail[at].To && !m.Sent && m.Strength == contract.Stop && m.ID != id
	})
	if stop < at || mail[at].Content == "" {
		return
	}
	m := mail[at]
	m.Strength, m.Content = contract.Steer, note+m.Content
	s.Mail = slices.Insert(slices.Delete(mail, at, at+1), stop, m)
}

// Release takes back all mail to an agent that is released: what it did not get, and what it got in turns that
// the API refused.
func (s *ConversationState) Release(to string) (lost, refused []Mail) {
	s.bringUp(to, -1)
	lost, refused = s.TakeBack(func(m Mail) bool { return m.To == to }), s.returnRefused(to)
	s.InTurn = slices.DeleteFunc(slices.Clone(s.InTurn), func(m Mail) bool { return m.To == to })
	return lost, refused
}

// IsInTurn reports whether a message was delivered under an id, and its turn is not over.
func (s *ConversationState) IsInTurn(wire string) bool { return onWire(s.InTurn, wire) >= 0 }

// InTurnAs is the message that was delivered under an id, and whose turn is not over; false: none.
func (s *ConversationState) InTurnAs(wire string) (Mail, bool) {
	i := onWire(s.InTurn, wire)
	if i < 0 {
		return Mail{}, false
	}
	return s.InTurn[i], true
}

// Post queues a message behind those that wait for the same agent.
func (s *ConversationState) Post(m Mail) {
	s.Ledger.Posted++
	if !s.fallBehind(m) {
		s.Mail = append(s.EditMail(), m)
	}
}

// PostAhead queues a message before those that wait for the same agent.
func (s *ConversationState) PostAhead(m Mail) {
	s.Ledger.Posted++
	s.Ahead(m)
}

// Waiting returns the index in Mail of a waiting message; -1: it does not wait. A message in the backlog is
// moved to Mail.
func (s *ConversationState) Waiting(id string) int {
	for _, m := range s.Queue()[len(s.Mail):] {
		if m.ID == id {
			s.bringUp(m.To, -1)
			break
		}
	}
	return slices.IndexFunc(s.Mail, func(m Mail) bool { return m.ID == id })
}

// TakeBack removes unwanted mail from the queue, and returns it as it was. Reports that it carried wait for
// another message.
func (s *ConversationState) TakeBack(unwanted func(Mail) bool) []Mail {
	var lost []Mail
	for _, m := range s.Mail {
		if !unwanted(m) {
			continue
		}
		if m.Sent {
			s.Unsend(m.Wire)
		}
		lost = append(lost, m)
		if !m.Reported {
			s.Ledger.Returned++
		}
	}
	if len(lost) > 0 {
		s.Mail = slices.DeleteFunc(s.EditMail(), unwanted)
	}
	return lost
}

// BetweenAgents reports whether a message belongs to the agents' own dialogue, which the limit of exchanges
// counts and may stop.
func BetweenAgents(from, kind string) bool {
	return from != contract.Human && from != contract.Supervisor || kind == KindContinue
}

// AsksArbiter reports whether a message other than the task asks for an answer of the Arbiter: from the human,
// from an Orchestrator, or a correction.
func (s *ConversationState) AsksArbiter() bool {
	return slices.ContainsFunc(slices.Concat(s.Mail, s.InTurn), func(m Mail) bool {
		return m.To == contract.Arbiter && m.Kind != KindTask && m.Kind != KindNotice && m.Kind != KindRenewal
	})
}
