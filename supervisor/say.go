package supervisor

import (
	"cmp"
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// say routes a human's word.
func (st *step) say(ref string, c contract.Say) {
	to := cmp.Or(c.To, contract.Arbiter)
	a, ok := st.Agent(to)
	if !ok || !a.Alive() {
		if a.Status == roster.Parked {
			st.out.Reject(ref, "there is no living agent %q: it is parked; choose retry first", to)
			return
		}
		st.out.Reject(ref, "there is no living agent %q; alive: %s", to, st.AddresseesText())
		return
	}
	st.out.Accept(ref, "message to "+to)
	st.word(c)
}

// word carries a human's word to a living agent.
func (st *step) word(c contract.Say) {
	to := cmp.Or(c.To, contract.Arbiter)
	a, _ := st.Agent(to)
	st.HumanSpoke = true
	st.Task.Acceptance.Answered()
	if to == contract.Arbiter {
		st.Rulings.LeaveFallback(&st.out)
	}
	st.Conversation.Exchanges, st.Conversation.ExchangeLimitHits, st.Conversation.Held = 0, 0, false
	if to == contract.Arbiter { // which is to know what it is about
		st.moveAllToWorkLog(func(m *conversation.Mail) bool {
			return st.Rulings.Withholds(&st.Options, &st.Task, m) &&
				m.Kind == conversation.KindTask
		})
	}
	if to == contract.Arbiter && st.Task.Text == "" && st.Rulings.AsksOther(&st.Options) {
		st.Question.Open = nil
		st.giveTask(c.Text) // it is for the decider, and not to be talked over first
		return
	}
	m := conversation.Mail{From: contract.Human, To: to, Kind: conversation.KindMessage, Text: c.Text,
		Strength: c.Strength}
	switch {
	case to != contract.Arbiter:
		m.Kind = conversation.KindInstruction
		st.Question.Recovery.Overcome(&st.Roster, to)
		e := st.Edit(to)
		e.Standing = roster.Working
		st.executing()
		st.Task.BeginWork(st.Edit(to), st.at)
	case st.Task.Text == "" && !st.AnyWorks(): // also if it answers what is wanted
		m.Kind = conversation.KindTask
		st.Task.Text, st.Question.Open = c.Text, nil
	case st.Question.Open != nil:
		m.Kind = conversation.KindAnswer
		st.Question.Open = nil
		if st.Task.Text == "" {
			st.Task.Text = c.Text // asked what is wanted, after a reset
		}
	case st.AnyWorks():
		m.Kind = conversation.KindInterjection
	case st.Task.Text == "":
		m.Kind = conversation.KindTask
		st.Task.Text = c.Text
	}
	if m.Kind == conversation.KindTask {
		m.Attached = st.withTask()
	}
	st.post(m)
	if c.Strength == contract.Stop && a.Status == roster.Busy {
		st.do(effect.Interrupt{Agent: a.AgentRef})
	}
}

// editMessage changes a word of the human's that no agent was given yet.
func (st *step) editMessage(ref string, c contract.EditMessage) {
	i, why := st.findUnsent(c.MessageID)
	if why != "" {
		st.out.Reject(ref, "%s", why)
		return
	}
	m := &st.Conversation.EditMail()[i]
	if m.Kind == conversation.KindTask && st.Task.Text == m.Text {
		st.Task.Text = c.Text
		st.Rulings.DeciderRequest = nil // what is asked is about other words: it is asked again
	}
	if a := st.Edit(m.To); m.Kind == conversation.KindBrief && a != nil {
		a.Brief = c.Text
	}
	m.Text = c.Text
	said := contract.Message{MessageID: m.ID, From: m.From, To: m.To, Kind: m.Kind, Text: m.Text, Edited: true}
	st.out.Accept(ref, "message "+m.ID+" says something else now")
	st.emit(m.From, said)
	st.Conversation.Correct(m.ID, func(x *contract.Message) { *x = said })
}

// withdrawMessage takes one back, unless something waits for it.
func (st *step) withdrawMessage(ref string, c contract.WithdrawMessage) {
	i, why := st.findUnsent(c.MessageID)
	if why == "" {
		why = st.awaited(st.Conversation.Mail[i])
	}
	if why != "" {
		st.out.Reject(ref, "%s", why)
		return
	}
	m := st.Conversation.Mail[i]
	st.out.Accept(ref, "message "+m.ID+" is taken back")
	st.takeBack(func(x conversation.Mail) bool { return x.ID == m.ID })
	st.emit(m.From, contract.Withdrawn{MessageID: m.ID})
	st.Conversation.RemoveSaid(m.ID)
}

// findUnsent finds a message of the human's that was never sent, or says why there is none.
// One that was sent and came back may have been read.
func (st *step) findUnsent(id string) (at int, why string) {
	at = st.Conversation.Waiting(id)
	switch {
	case at < 0:
		return at, "no message " + id + " waits: it was delivered, or never said"
	case st.Conversation.Mail[at].From != contract.Human:
		return at, "message " + id + " is " + st.DisplayName(st.Conversation.Mail[at].From) + "'s, not yours"
	case st.Conversation.Mail[at].Wire != "":
		return at, "message " + id + " was sent already: say another, or interrupt"
	}
	return at, ""
}

// awaited says why a message cannot be taken back: the talk would stand still without it.
func (st *step) awaited(m conversation.Mail) string {
	a, _ := st.Agent(m.To)
	switch {
	case m.Kind == conversation.KindTask:
		return "it is the task: edit it, or reset"
	case m.Kind == conversation.KindAnswer:
		return "the Arbiter waits for this answer: edit it"
	case m.To != contract.Arbiter && a.Status != roster.Busy:
		return a.Name + " was brought to work by it: edit it, or kill " + a.ID
	case m.To == contract.Arbiter && a.Status != roster.Busy && !st.goesOnWithout(m):
		return "the Arbiter was left with nothing else to go on with: edit it"
	}
	return ""
}

// goesOnWithout reports whether somebody goes on, or waits for the human, without a message to
// the Arbiter.
func (s *State) goesOnWithout(m conversation.Mail) bool {
	return s.Task.Text == "" || s.Question.Open != nil || s.AnyWorks() || s.Handoff.IsDue() ||
		slices.ContainsFunc(s.Conversation.Mail, func(x conversation.Mail) bool { return x.ID != m.ID && x.To == m.To })
}
