package supervisor

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// unreadable reports whether a turn failed because its message was too large: the model said
// nothing before the prompt was too long, and there had been room in its context.
func unreadable(a *roster.Agent, t bridge.Turn, m conversation.Mail) bool {
	ours := m.From == contract.Supervisor && m.OfSession() || m.Kind == conversation.KindTask &&
		len(m.Content) < beginningKept
	return a.Role == roster.RoleArbiter && exhausts(t) && t.Category == bridge.CatPromptTooLong &&
		t.Usage == (bridge.Usage{}) && t.Tools == 0 && !a.ContextLow() && !ours
}

// setAside keeps a message that the Arbiter could not read from its successors, which could
// not either. Of a large one they receive the beginning. The human is notified.
func (st *step) setAside(m conversation.Mail) {
	size, whose := words.Size(int64(len(m.Text))), st.DisplayName(m.From)
	st.Renewal.GeneratedInRow = 0 // the next one has something else to read
	if m.Kind == conversation.KindTask {
		st.dropTask(m)
		return
	}
	cut := len(m.Content) > 2*beginningKept
	what := "was set aside"
	if cut {
		what = "was cut: its beginning goes to the next Arbiter"
	}
	st.fail(contract.Arbiter, bridge.CatPromptTooLong,
		fmt.Sprintf("the %s of %s (message %s, %s) was too large to be read and %s", m.Kind, whose, m.ID, size, what),
		[]string{"say it in fewer words, or " + contract.SmallerText})
	if !cut {
		st.Conversation.EndTurn(m.Wire)
		st.quoteInstead(m.ID, "(set aside: the model refused it as too long)")
		st.tell(contract.Arbiter, conversation.KindNotice, fmt.Sprintf("The %s of %s could not be read: the model "+
			"refused it as too long. It was set aside, and the human was told. "+
			"Judge without it, or ask for it in fewer words.", m.Kind, whose))
		return
	}
	st.requeue(m.Wire)
	st.quoteInstead(m.ID, words.Head(m.Text, beginningKept))
	for i := range st.Conversation.EditMail() {
		if x := &st.Conversation.Mail[i]; x.ID == m.ID {
			st.shorten(x)
		}
	}
}

// shorten leaves the beginnings of what a message says.
func (st *step) shorten(m *conversation.Mail) {
	attached := m.Attached
	left := len(m.Content)
	m.Text, m.Attached = words.Head(m.Text, beginningKept), nil
	for _, a := range attached {
		a.Text = words.Head(a.Text, beginningKept/4)
		m.Attached = append(m.Attached, a)
	}
	m.Carries, m.CarriesBrief, m.BriefBytes = nil, false, 0
	m.Content = st.Conversation.Render(*m, st.reading(m))
	m.Attached = append(m.Attached, conversation.Attached{Title: "cut", From: contract.Supervisor, Trusted: true,
		Text: fmt.Sprintf(
			"This message, with what came with it, had %s and was too large to be read. What you see is its beginning; "+
				"%s were left out, and the human was told. "+
				"If you need the rest, ask for it in a file.", words.Size(int64(left)), words.Size(int64(left-len(m.Content))))})
	m.Content = st.Conversation.Render(*m, st.reading(m))
}

// dropTask gives a task up that no Arbiter can read, and asks for another.
func (st *step) dropTask(m conversation.Mail) {
	text := fmt.Sprintf("The task has %s, more than the model can read at once: %s.", words.Size(int64(len(m.Text))),
		contract.SmallerText)
	st.fail(contract.Arbiter, bridge.CatPromptTooLong, text, []string{contract.SmallerText})
	st.Conversation.EndTurn(m.Wire)
	st.quoteInstead(m.ID, "(set aside: the task was too large to be read)")
	st.fire(machine.Reset, occasion{})
	st.Task.Text, st.Question.Open = "", nil
	if !st.HumanPresent {
		st.end(contract.StatusNeedsInput, text, contract.ExitNeedsInput, machine.GiveUp)
		return
	}
	st.ask(text)
}

const (
	// beginningKept is what is kept of a text that was too large to be read.
	beginningKept = 16 << 10
)

// quoteInstead changes what is remembered of a message: a successor is quoted what was said
// last, and must not choke on it again.
func (st *step) quoteInstead(id, text string) {
	st.Conversation.Correct(id, func(m *contract.Message) { m.Text = text })
}
