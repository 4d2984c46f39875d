package supervisor

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/delivery"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// unreadable reports whether a turn failed because its message was too large: the model said
// nothing before the prompt was too long, and there had been room in its context.
func unreadable(a *roster.Agent, t bridge.Turn, m conversation.Mail) bool {
	ours := m.From == contract.Supervisor && m.OfSession() || m.Kind == conversation.KindTask &&
		len(m.Content) < delivery.BeginningKept
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
	cut := len(m.Content) > 2*delivery.BeginningKept
	what := "was set aside"
	if cut {
		what = "was cut: its beginning goes to the next Arbiter"
	}
	st.fail(contract.Arbiter, bridge.CatPromptTooLong,
		fmt.Sprintf("the %s of %s (message %s, %s) was too large to be read and %s", m.Kind, whose, m.ID, size, what),
		[]string{"say it in fewer words, or " + contract.SmallerText})
	if !cut {
		st.Conversation.EndTurn(m.Wire)
		st.mail().Quote(m.ID, "(set aside: the model refused it as too long)")
		st.mail().Tell(contract.Arbiter, conversation.KindNotice, fmt.Sprintf("The %s of %s could not be read: the model "+
			"refused it as too long. It was set aside, and the human was told. "+
			"Judge without it, or ask for it in fewer words.", m.Kind, whose))
		return
	}
	st.mail().Shorten(m)
}

// dropTask gives a task up that no Arbiter can read, and asks for another.
func (st *step) dropTask(m conversation.Mail) {
	text := fmt.Sprintf("The task has %s, more than the model can read at once: %s.", words.Size(int64(len(m.Text))),
		contract.SmallerText)
	st.fail(contract.Arbiter, bridge.CatPromptTooLong, text, []string{contract.SmallerText})
	st.Conversation.EndTurn(m.Wire)
	st.mail().Quote(m.ID, "(set aside: the task was too large to be read)")
	st.fire(machine.Reset, occasion{})
	st.Task.Text, st.Question.Open = "", nil
	if !st.HumanPresent {
		st.end(contract.StatusNeedsInput, text, contract.ExitNeedsInput, machine.GiveUp)
		return
	}
	st.ask(text)
}
