package supervisor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
	"github.com/arbiter-cli/arbiter/supervisor/restart"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/task"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// SuccessionState follows the renewal of the Arbiter.
type SuccessionState struct {
	RenewalStage        string // stage of the Arbiter's renewal
	Renewals            int    // of the Arbiter so far
	GeneratedInRow      int    // of them, in a row, those without a document of its own
	RulingsSinceRenewal int    // rulings since the last renewal
	ShortRenewals       int    // renewals in a row that were due again at once
}

// classRenewal is why an Arbiter's process is ended for its successor's. It is no
// failure, and restarts are not counted for it.
const classRenewal restart.Class = "renewed"

// maxRecords is how often in a row an Arbiter may be renewed without a word of its
// own. One that never rules, however fresh, would go on for ever.
const maxRecords = 2

// maxShort is how often in a row a renewal may be due again after a single ruling. Where
// what an Arbiter inherits, or is made to read, fills its window, another is no help.
const maxShort = 3

const (
	RulingsKept = 200
	rulingSaid  = 300 // bytes of its reason
)

// enter puts a decision into the ledger.
func (st *step) enter(v verdict.Arbiter, source string) {
	keep := st.Rulings
	if len(keep) >= RulingsKept {
		keep = keep[len(keep)-RulingsKept+1:]
	}
	if v.Decision != verdict.Handoff {
		st.RulingsSinceRenewal++
	}
	st.Rulings = append(slices.Clone(keep), Ruling{
		At: st.at, Decision: v.Decision, To: v.To, Mode: v.Mode, Reason: words.Head(v.Reason, rulingSaid), Source: source,
	})
}

// askRenewal asks the Arbiter for its document when its context is at its end, at
// the boundary between two turns. What waits for it waits for its successor.
func (st *step) askRenewal() {
	if st.RenewalStage == renewalAsked && !st.renewalOpen() {
		st.RenewalStage = renewalNone // its turn ended with the run, or came to nothing
	}
	if st.RenewalStage != renewalNone || st.Paused || st.Conversation.Held || len(st.Agents) == 0 {
		return
	}
	if st.FallbackReason != "" {
		return // it is not spoken to, and its context stands
	}
	a := st.Agents[0]
	if a.Role != roster.RoleArbiter || a.Status != roster.Ready || !a.HasHistory || !a.ContextLow() || a.Troubles > 0 {
		return
	}
	if slices.ContainsFunc(st.Conversation.Mail, func(m conversation.Mail) bool { return m.To == a.ID && ofSession(m) }) {
		return // a turn that was cut off, or is to be mended, comes first
	}
	if st.ShortRenewals >= maxShort {
		st.giveUp(bridge.CatCompaction, fmt.Sprintf("the Arbiter's context is full as soon as it is renewed (%.0f%% of %d tokens): "+
			"raise --context-tokens or --context-critical, or use a model with a larger window, and resume", a.Context.Pct, a.Context.Window))
		return
	}
	st.RenewalStage = renewalAsked
	st.tell(a.ID, conversation.KindRenewal, fmt.Sprintf("Your context is at its end (%.0f%% of %d tokens). Another takes your place, and knows nothing but what you leave. "+
		"Rule HANDOFF now, with your document: the vision, what was decided and rejected and why, what the human said that still binds, where each Orchestrator stands, "+
		"what you were about to do. Nothing else; what waits is ruled on by your successor.", a.Context.Pct, a.Context.Window))
}

// renewalOpen reports whether the Arbiter may still answer that it was asked to be renewed.
func (s *State) renewalOpen() bool {
	a, _ := s.Agent(contract.Arbiter)
	return a.Status != roster.Ready || a.Troubles > 0 || slices.ContainsFunc(slices.Concat(s.Conversation.Mail, s.Conversation.InTurn), func(m conversation.Mail) bool {
		return m.To == a.ID && !s.renewing(m.Kind)
	})
}

// ofSession reports whether a message is about what went before in its reader's own
// session: another session cannot make sense of it.
func ofSession(m conversation.Mail) bool {
	return m.From == contract.Supervisor && (m.Kind == conversation.KindCorrection || m.Kind == conversation.KindRetry || m.Kind == conversation.KindRenewal)
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
		st.tell(contract.Arbiter, conversation.KindNotice, "The Arbiter before you ended before it had ruled on what was said to it last. Look what that was, and rule how it goes on.")
	}
}

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

// checkRenewal tests a ruling against a renewal that was asked for. The task's end
// needs no successor.
func (st *step) checkRenewal(v verdict.Arbiter) string {
	switch {
	case v.Decision == verdict.Handoff && st.RenewalStage != renewalAsked:
		return "HANDOFF is given only when the supervisor asks you to be renewed, and it has not."
	case v.Decision != verdict.Handoff && v.Decision != verdict.Complete && st.RenewalStage == renewalAsked:
		return "Your context is at its end: nothing but HANDOFF, with your document, is taken now."
	}
	return ""
}

// renewByRecord gives the Arbiter a successor though it left no document.
func (st *step) renewByRecord(why string) {
	st.GeneratedInRow++
	if st.GeneratedInRow > maxRecords {
		st.fail(contract.Arbiter, bridge.CatCompaction, "the Arbiter cannot go on: "+why, []string{})
		st.giveUp(bridge.CatCompaction, "the Arbiter cannot go on, however often it is renewed: "+why)
		return
	}
	st.callOffRenewal()
	st.RenewalStage = renewalGiven
	a, _ := st.Agent(contract.Arbiter)
	st.handOver(handoff.Handover{Agent: a.AgentRef, Kind: handoff.KindRenewal, Why: why, Document: handoff.ArbiterRecord(why, st.Task.Plan, st.asked())})
}

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
		a.Status, a.Since, a.RestartClass, a.RestartCause = roster.Restarting, st.at, classRenewal, "its context was at its end"
		st.Permission.TurnOver(&st.out, a.ID)
		st.do(effect.Kill{Agent: a.AgentRef})
	}
}

// RenewalBrief is what an Arbiter receives with the first message it reads.
func (s *State) RenewalBrief(h handoff.Handover) string {
	var b strings.Builder
	b.WriteString("You take the place of the Arbiter before you, whose context was at its end. You are the Arbiter now. " +
		"What it ruled stands; the human and the Orchestrators need not know that you are another. What follows is what it left, and the supervisor's record. " +
		"Then comes the message that is yours to rule on.\n\n")
	b.WriteString(handoff.DocumentText(h.Document, h.Receipts, h.Why))
	fmt.Fprintf(&b, "\n## The task, as the human gave it\n\n%s\n\n## The plan\n\n%s\n\n## The Orchestrators\n\n%s\n", cmp.Or(s.Task.Text, nothing), task.PlanText(s.Task.Plan), s.muster())
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

// muster lists the Orchestrators for one who has never met them.
func (s *State) muster() string {
	var b strings.Builder
	list, others := s.Shown()
	b.WriteString(roster.OthersText(others))
	for _, a := range list {
		where := string(a.Standing)
		if !a.Alive() {
			where += ", gone"
		}
		fmt.Fprintf(&b, "- %s, %s: %s", a.ID, a.Name, where)
		if a.Mode != "" {
			fmt.Fprintf(&b, ", as %s", a.Mode)
		}
		if a.Predecessor != "" {
			fmt.Fprintf(&b, ", successor of %s", a.Predecessor)
		}
		if a.Alive() {
			fmt.Fprintf(&b, ". Its brief: %s", strings.ReplaceAll(words.Head(a.Brief, 1500), "\n", "\n  "))
		}
		b.WriteString("\n")
	}
	if b.Len() == 0 {
		return "(none was summoned)"
	}
	return b.String()
}
