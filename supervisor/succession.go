package supervisor

// This part of the package tracks how full the contexts of agents are, and gives the Arbiter a successor.

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// compactionPatience is how long a turn may continue whose compaction was prevented.
const compactionPatience = 5 * time.Minute

// measured records a reading of an agent's context. Each level is reported once, and again only after a
// compaction has brought the context below the first level.
func (st *step) measured(a *Agent, reading bridge.Context) {
	a.Context = reading
	level := ContextLevel(reading, st.Options.ContextWarn, st.Options.ContextCritical)
	if level == a.WarnedLevel || level == AgentLevelWarn && a.WarnedLevel == LevelCritical {
		return
	}
	a.WarnedLevel = level
	if level != "" {
		st.emit(a.ID, contract.ContextWarning{Pct: reading.Pct, Level: level})
	}
}

// levelsChanged forgets that contexts were nearly full by limits that are others now.
func (st *step) levelsChanged() {
	for i := range st.Agents {
		c := st.Agents[i].Context
		critical := ContextLevel(c, st.Options.ContextWarn, st.Options.ContextCritical) == LevelCritical
		if a := st.Agents[i]; a.Alive() && a.WarnedLevel == LevelCritical && !critical {
			a = st.Edit(a.ID)
			a.WarnedLevel = ""
			st.measured(a, c)
		}
	}
}

// compacted handles a compaction that happened, or that was prevented at the last moment.
func (st *step) compacted(a *Agent, b bridge.Compact) {
	if b.Blocked {
		if a.CompactionBlocked {
			return
		}
		a.CompactionBlocked = true
		st.do(input.SetTimer{Key: CompactionBlockedPrefix + RunOf(a.AgentRef), After: compactionPatience})
		st.logNotice(fmt.Sprintf("The context of %s (%s) is full. Its compaction was blocked, and it was told to "+
			"hand off.", a.Name, a.ID))
		return
	}
	a.Compactions++
	a.forgetLevels()
	st.out.StopTimer(CompactionBlockedPrefix + RunOf(a.AgentRef))
	if a.Role == RoleArbiter && a.Status != AgentBusy && a.Troubles == 0 {
		st.callOffRenewal() // an Arbiter that already answers gives its document all the same
	}
	st.logNotice(fmt.Sprintf("The context of %s (%s) was compacted (%s, %d tokens before). It now knows a summary "+
		"of its earlier work: details and numbers may be lost.", a.Name, a.ID, b.Trigger, b.PreTokens))
}

// leavesUnruled reports whether a turn of the Arbiter ended before it ruled on its messages, because its context is
// exhausted or it was stopped for that. Its successor then rules on them.
func (s *State) leavesUnruled(a *Agent, t bridge.Turn) bool {
	full := t.Category == bridge.CatPromptTooLong || t.Category == bridge.CatCompaction
	return a.Role == RoleArbiter && (t.Outcome == bridge.TurnFailed && full ||
		a.Interrupting && t.Outcome == bridge.TurnInterrupted && s.Renewal.Stage == RenewalNone)
}

// renew ends the Arbiter's process so that its successor can start: another session, under the same id, in the
// next generation. The successor reads the brief with its first message.
func (st *step) renew(h Handover, brief string) {
	a := st.Edit(contract.Arbiter)
	st.emit(a.ID, h.Event(a.ID, a.ID))
	a.HandoffBrief = st.preface("inheritance", brief)
	a.Document, a.Receipts, a.GeneratedWhy = h.Document, h.Receipts, h.Why // in case its successor's history is lost
	a.NewSession, a.HasHistory = true, false
	unruled := a.Troubles > 0 // a turn that failed was to be tried again
	a.Corrections, a.Fallbacks, a.Troubles, a.APIFailures = 0, 0, 0, 0
	short := st.Renewal.ShortInRow + 1
	if st.Renewal.Rulings > 1 {
		short = 0
	}
	st.Renewal.Stage, st.Renewal.Count, st.Renewal.Rulings, st.Renewal.ShortInRow =
		RenewalGiven, st.Renewal.Count+1, 0, short
	unruled = st.Conversation.ForSuccessor() || unruled // messages about the old session are dropped
	st.takeBack(func(m Mail) bool { return m.To == contract.Arbiter && m.OfSession() })
	if unruled {
		st.tell("The Arbiter before you ended before it had answered the last messages. Read them, and decide how " +
			"the work goes on.")
	}
	if a.Up() {
		a.Status, a.Since = AgentRestarting, st.at
		a.RestartClass, a.RestartCause = ClassRenewal, "its context was at its end"
		st.Permission.TurnOver(&st.out, a.ID)
		st.do(input.Kill{Agent: a.AgentRef})
	}
}

// RenewalBrief is the brief that a new Arbiter receives with the first message it reads.
func (s *State) RenewalBrief(h Handover) string {
	var b strings.Builder
	b.WriteString("You are the successor of the Arbiter before you, whose context was full. You are the Arbiter now. " +
		"Its decisions stand. Do not tell the human or the Orchestrators that you are another session. Here follow " +
		"its document and the supervisor's record. " +
		"After them comes the message that you answer.\n\n")
	b.WriteString(DocumentText(h.Document, h.Receipts, h.Why))
	fmt.Fprintf(&b, "\n## The task, as the human gave it\n\n%s\n\n## The plan\n\n%s\n\n## The Orchestrators\n\n%s\n",
		cmp.Or(s.Task.Text, noText), PlanText(s.Task.Plan), s.ForSuccessor())
	if criteria := s.Task.Acceptance.Text(); criteria != "" {
		b.WriteString("\n## The acceptance criteria\n\n" + criteria)
	}
	if question := s.Question.Text(); question != "" {
		fmt.Fprintf(&b, "\n## Asked of the human, and not answered yet\n\n%s\n", question)
	}
	b.WriteString("\n## The ledger of decisions\n\n" + s.Rulings.LedgerText())
	b.WriteString("\n## What was said last\n")
	b.WriteString(s.Conversation.Recollect(contract.Arbiter, QuotedTalk, s.DisplayName))
	return b.String()
}
