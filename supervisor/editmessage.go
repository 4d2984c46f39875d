package supervisor

import (
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// editMessage changes a word of the human's that no agent was given yet.
func (st *step) editMessage(ref string, c contract.EditMessage) {
	i, why := st.unspoken(c.MessageID)
	if why != "" {
		st.reject(ref, "%s", why)
		return
	}
	m := &st.Conversation.EditMail()[i]
	if m.Kind == conversation.KindTask && st.Task.Text == m.Text {
		st.Task.Text = c.Text
		st.DeciderRequest = nil // what is asked is about other words: it is asked again
	}
	if a := st.Edit(m.To); m.Kind == conversation.KindBrief && a != nil {
		a.Brief = c.Text
	}
	m.Text = c.Text
	said := contract.Message{MessageID: m.ID, From: m.From, To: m.To, Kind: m.Kind, Text: m.Text, Edited: true}
	st.accept(ref, "message "+m.ID+" says something else now")
	st.emit(m.From, said)
	st.Conversation.Correct(m.ID, func(x *contract.Message) { *x = said })
}

// withdrawMessage takes one back, unless something waits for it.
func (st *step) withdrawMessage(ref string, c contract.WithdrawMessage) {
	i, why := st.unspoken(c.MessageID)
	if why == "" {
		why = st.awaited(st.Conversation.Mail[i])
	}
	if why != "" {
		st.reject(ref, "%s", why)
		return
	}
	m := st.Conversation.Mail[i]
	st.accept(ref, "message "+m.ID+" is taken back")
	st.takeBack(func(x conversation.Mail) bool { return x.ID == m.ID })
	st.emit(m.From, contract.Withdrawn{MessageID: m.ID})
	st.Conversation.Unsay(m.ID)
}

// unspoken finds a message of the human's that was never sent, or says why there is none.
// One that was sent and came back may have been read.
func (st *step) unspoken(id string) (at int, why string) {
	at = st.Conversation.Waiting(id)
	switch {
	case at < 0:
		return at, "no message " + id + " waits: it was delivered, or never said"
	case st.Conversation.Mail[at].From != contract.Human:
		return at, "message " + id + " is " + st.displayName(st.Conversation.Mail[at].From) + "'s, not yours"
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
	return s.Task.Text == "" || s.Question != nil || s.AnyWorks() || s.Handoff.IsDue() ||
		slices.ContainsFunc(s.Conversation.Mail, func(x conversation.Mail) bool { return x.ID != m.ID && x.To == m.To })
}
