package supervisor

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/takeover"
	"github.com/arbiter-cli/arbiter/supervisor/task"
)

// revive starts another process for an agent: the next incarnation, on the session
// of the last one, or on a new session if that one is lost.
func (st *step) revive(id string) {
	a := st.Edit(id)
	if a == nil || a.Status != roster.Down || !st.BridgeUp || st.Ending != nil || st.Halted || st.TrustQuestion != nil {
		return
	}
	a.Generation++
	a.Status, a.Since, a.CurrentTool, a.EndReason = roster.Starting, st.at, "", ""
	a.Watch, a.Backoff, a.NotifyingLevel, a.Interrupting = roster.Watch{}, nil, "", false
	if a.NewSession {
		a.SessionID = st.sessionID(a.ID, a.Generation)
		st.emptied(a)
		a = st.Edit(id)
	}
	c := st.config(a)
	c.Resume = !a.NewSession
	st.emit(id, contract.Spawn{
		Name: a.Name, Mode: a.Mode, SessionID: a.SessionID, Generation: a.Generation,
		SuccessorOf: a.Predecessor, Resumed: !a.NewSession,
	})
	p := bridge.SpawnParams{AgentRef: a.AgentRef, Config: c}
	if !a.NewSession {
		p.Pending = a.Turn
	}
	st.do(effect.Spawn{Params: p})
}

// emptied begins the account of a context that is new.
func (st *step) emptied(a *roster.Agent) {
	a.Context, a.WarnedLevel, a.NotifiedLevel, a.NotifyingLevel, a.CompactionBlocked, a.HandoffDemands = bridge.Context{}, "", "", "", false, 0
	if a.Role == roster.RoleArbiter {
		st.callOffRenewal()
		st.RenewalStage = renewalNone
		st.Readings = nil // another session has read nothing
	}
}

// refusedByNobody takes back what the CLI tells a model when the pipe to us breaks before
// its process ends: a permission stream that closed, and from then on for every tool that
// "the user doesn't want to take this action" (observed with CLI 2.1.329).
const refusedByNobody = "If your history ends in calls that failed because a permission stream closed, or that the user is said not to want: nobody refused them, " +
	"your process had lost its supervisor. Make such a call again if it is still needed; whoever has to allow it is asked then. "

// What a message's fate means for the talk, the strongest last.
const (
	heard = iota // nothing to take up
	unanswered
	cutOff
)

// reconcile settles what an earlier process left open, by what its session's
// history says: no message is lost, and none is given twice.
func (st *step) reconcile(id string, r bridge.SpawnResult) {
	a := st.Edit(id)
	turn, spoken, lost, returned := a.Turn, a.HasHistory, a.NewSession || a.HasHistory && !r.Resumed, a.ReturnNotice
	a.Turn, a.NewSession = nil, false
	fates := map[string]bridge.DeliveryStatus{}
	if !lost {
		for _, f := range r.Deliveries {
			fates[f.MessageID] = f
		}
	}
	state, open, over := heard, []string(nil), []string(nil)
	var ruled *bridge.DeliveryStatus
	for _, wire := range turn {
		f := fates[wire]
		switch f.Status {
		case bridge.DeliverySeen:
			state = max(state, unanswered)
		case bridge.DeliveryBegun, bridge.DeliveryEnded:
			state = max(state, cutOff)
		case bridge.DeliveryRuled:
			ruled = &f
			state = heard
		default: // absent, or its history is lost
			open = append(open, wire)
			continue
		}
		over = append(over, wire)
	}
	ids := st.Conversation.PublicIDs(over)
	for _, wire := range over {
		st.delivered(wire)
		st.Conversation.EndTurn(wire)
	}
	for i := len(open) - 1; i >= 0; i-- { // each goes to the front
		st.requeue(open[i])
	}
	if lost && spoken {
		st.recall(id)
	}
	back := returned != ""
	st.Edit(id).ReturnNotice = returned // it is yet to be told
	switch {
	case ruled != nil:
		st.emit(id, contract.Turn{Outcome: bridge.TurnDone, MessageIDs: ids})
		st.ruled(id, bridge.Turn{Verdict: ruled.Verdict, Outcome: bridge.TurnDone, MessageIDs: over})
		if state == heard {
			break
		}
		// Something was said to it after that verdict, and began another turn.
		fallthrough
	case state == cutOff || state == unanswered && ruled != nil:
		st.Edit(id).InterruptedTurn = over
		if back {
			st.tell(id, conversation.KindRetry, takeover.TurnCutOff)
			break
		}
		st.tell(id, conversation.KindRetry, "Your process ended in the middle of your last turn, and was started again. What you were doing last may or may not have happened: look before you do it again. "+
			refusedByNobody+"Then go on with the last message and end the turn with your verdict.")
	case state == unanswered && back:
		st.tell(id, conversation.KindRetry, takeover.TurnCutOff)
	case state == unanswered:
		st.tell(id, conversation.KindRetry, "Your process ended before you could answer the last message. It stands in your history: take it up now.")
	case st.Edit(id).Troubles > 0 && !st.pendingFor(id):
		st.tell(id, conversation.KindRetry, brokenWay)
	case back && st.Edit(id).Works() && !st.pendingFor(id):
		st.tell(id, conversation.KindRetry, "Look what was said and changed while the human had your session, and go on with your work.")
	}
}

// recallChars bounds what a new session is told of the one that was lost.
const recallChars = 60_000

// recall tells an agent whose history is lost what the supervisor knows of it.
func (st *step) recall(id string) {
	a := st.Edit(id)
	a.HasHistory = false
	var b strings.Builder
	b.WriteString("Your session's history is lost, and you begin anew. This is the supervisor's record of what went before.\n")
	if a.Role == roster.RoleArbiter {
		fmt.Fprintf(&b, "\n## The task\n\n%s\n\n## The plan\n\n%s\n\n## Who lives\n\n%s\n", cmp.Or(st.Task.Text, nothing), task.PlanText(st.Task.Plan), st.LivingText())
		if a.Document != nil {
			fmt.Fprintf(&b, "\n## What the Arbiter before you left, whose place you took\n\n%s", handoff.DocumentText(a.Document, a.Receipts, a.GeneratedWhy))
		}
		b.WriteString("\n## The ledger of decisions\n\n" + st.ledgerText())
	} else {
		fmt.Fprintf(&b, "\n## Your brief\n\n%s\n\n## The plan\n\n%s\n", cmp.Or(a.Brief, nothing), task.PlanText(st.Task.Plan))
	}
	b.WriteString("\n## What was said to and by you, as far as it is kept\n")
	b.WriteString(st.recollect(id, max(recallChars-b.Len(), quotedTalk)))
	b.WriteString("\nFiles in the workspace are as you left them: look before you build on anything. If no message follows this one, say where you stand.")
	st.tell(id, conversation.KindRetry, b.String())
}

// recollect lists the last messages an agent had a part in, within a size.
func (s *State) recollect(id string, room int) string {
	var parts []string
	for i := len(s.Conversation.RecentMessages) - 1; i >= 0 && room > 0; i-- {
		m := s.Conversation.RecentMessages[i]
		if m.From != id && m.To != id || m.Kind == conversation.KindRenewal || m.Kind == conversation.KindRelief {
			continue
		}
		part := fmt.Sprintf("\n%s to %s (%s):\n%s\n", s.displayName(m.From), s.displayName(m.To), m.Kind, quoteLines(m.Text))
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
