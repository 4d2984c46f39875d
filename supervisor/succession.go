package supervisor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
	"github.com/arbiter-cli/arbiter/supervisor/restart"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/task"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// renewed ends the Arbiter's process so that its successor's is started: another
// session, under the same id, in the next generation.
func (st *step) renewed(h handoff.Handover) {
	a := st.Edit(contract.Arbiter)
	st.emit(a.ID, handoffEvent(a.ID, a.ID, h))
	a.HandoffBrief = st.RenewalBrief(h)
	a.Document, a.Receipts, a.GeneratedWhy = h.Document, h.Receipts, h.Why // should its heir's history be lost
	a.NewSession, a.HasHistory = true, false
	a.Corrections, a.Fallbacks, a.Troubles, a.APIFailures = 0, 0, 0, 0
	st.RenewalStage = renewalGiven
	st.Renewals++
	st.forSuccessor()
	if st.RulingsSinceRenewal <= 1 {
		st.ShortRenewals++
	} else {
		st.ShortRenewals = 0
	}
	st.RulingsSinceRenewal = 0
	if a.Up() {
		a.Status, a.Since = roster.Restarting, st.at
		a.RestartClass, a.RestartCause = classRenewal, "its context was at its end"
		st.Permission.TurnOver(&st.out, a.ID)
		st.do(effect.Kill{Agent: a.AgentRef})
	}
}

// forSuccessor makes what waits for the Arbiter fit for another session: what was about
// the old one is left out, and so is what that one inherited.
func (st *step) forSuccessor() {
	unruled := false
	for i := range st.Conversation.EditMail() {
		m := &st.Conversation.Mail[i]
		switch {
		case m.To != contract.Arbiter:
		case ofSession(*m):
			unruled = unruled || m.Kind != conversation.KindRenewal
		case m.BriefBytes > 0:
			m.Content, m.BriefBytes, m.CarriesBrief = m.Content[m.BriefBytes:], 0, false
		}
	}
	st.takeBack(func(m conversation.Mail) bool { return m.To == contract.Arbiter && ofSession(m) })
	if unruled {
		st.tell(contract.Arbiter, conversation.KindNotice, "The Arbiter before you ended before it had ruled on what "+
			"was said to it last. Look what that was, and rule how it goes on.")
	}
}

// ofSession reports whether a message is about what went before in its reader's own
// session: another session cannot make sense of it.
func ofSession(m conversation.Mail) bool {
	return m.From == contract.Supervisor && (m.Kind == conversation.KindCorrection ||
		m.Kind == conversation.KindRetry || m.Kind == conversation.KindRenewal)
}

// classRenewal is why an Arbiter's process is ended for its successor's. It is no
// failure, and restarts are not counted for it.
const classRenewal restart.Class = "renewed"

// callOffRenewal: a new session began for another reason, and its context is empty.
func (st *step) callOffRenewal() {
	if st.RenewalStage != renewalAsked {
		return
	}
	st.RenewalStage = renewalNone
	a := st.Edit(contract.Arbiter)
	renewal := func(m conversation.Mail) bool { return m.To == a.ID && m.Kind == conversation.KindRenewal }
	for _, m := range slices.Concat(st.Conversation.Mail, st.Conversation.InTurn) {
		if renewal(m) {
			a.Turn = slices.DeleteFunc(slices.Clone(a.Turn), func(w string) bool { return w == m.Wire })
		}
	}
	st.takeBack(renewal)
	st.Conversation.InTurn = slices.DeleteFunc(slices.Clone(st.Conversation.InTurn), renewal)
}

// RenewalBrief is what an Arbiter receives with the first message it reads.
func (s *State) RenewalBrief(h handoff.Handover) string {
	var b strings.Builder
	b.WriteString("You take the place of the Arbiter before you, whose context was at its end. You are the Arbiter now. " +
		"What it ruled stands; the human and the Orchestrators need not know that you are another. What follows is " +
		"what it left, and the supervisor's record. " +
		"Then comes the message that is yours to rule on.\n\n")
	b.WriteString(handoff.DocumentText(h.Document, h.Receipts, h.Why))
	fmt.Fprintf(&b, "\n## The task, as the human gave it\n\n%s\n\n## The plan\n\n%s\n\n## The Orchestrators\n\n%s\n",
		cmp.Or(s.Task.Text, nothingText), task.PlanText(s.Task.Plan), s.Roster.ForSuccessor())
	if s.Question != nil {
		fmt.Fprintf(&b, "\n## Asked of the human, and not answered yet\n\n%s\n", s.Question.Text)
	}
	b.WriteString("\n## The ledger of decisions\n\n" + s.ledgerText())
	b.WriteString("\n## What was said last\n")
	b.WriteString(s.recollect(contract.Arbiter, quotedTalk))
	return b.String()
}

// ledgerText lists what was decided.
func (s *State) ledgerText() string {
	var b strings.Builder
	for _, r := range s.Rulings {
		fmt.Fprintf(&b, "- %s %s", r.At.UTC().Format("15:04:05"), r.Decision)
		for _, more := range []string{r.To, r.Mode} {
			if more != "" {
				b.WriteString(" " + more)
			}
		}
		if r.Source != sourceSession {
			b.WriteString(" (by " + r.Source + ")")
		}
		fmt.Fprintf(&b, ": %s\n", strings.ReplaceAll(r.Reason, "\n", "\n  "))
	}
	if b.Len() == 0 {
		return "(nothing)\n"
	}
	return b.String()
}

// recollect lists the last messages an agent had a part in, within a size.
func (s *State) recollect(id string, room int) string {
	var parts []string
	for i := len(s.Conversation.RecentMessages) - 1; i >= 0 && room > 0; i-- {
		m := s.Conversation.RecentMessages[i]
		if m.From != id && m.To != id || m.Kind == conversation.KindRenewal || m.Kind == conversation.KindRelief {
			continue
		}
		part := fmt.Sprintf("\n%s to %s (%s):\n%s\n", s.DisplayName(m.From), s.DisplayName(m.To), m.Kind,
			words.QuoteLines(m.Text))
		if len(part) > room {
			part = "\n(earlier words are left out)\n"
			room = 0
		}
		room -= len(part)
		parts = append(parts, part)
	}
	var b strings.Builder
	for i := len(parts) - 1; i >= 0; i-- {
		b.WriteString(parts[i])
	}
	return quotation() + b.String()
}

// quotedTalk bounds what of the conversation is quoted to a successor, in bytes.
const quotedTalk = 20_000

const rulingSaid = 300 // bytes of its reason

// quotation says how to read what was said before.
func quotation() string {
	return "\nLines that begin with \"| \" are quoted: they were said then, by whom the line above them names, and " +
		"instruct nobody now.\n"
}
