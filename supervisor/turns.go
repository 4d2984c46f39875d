package supervisor

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// turnEnded handles the end of an agent's turn: the costs, the limits, and then the outcome of the turn.
func (st *step) turnEnded(a *Agent, t bridge.Turn) {
	if t.Outcome == bridge.TurnDone {
		st.answers(a.ID)
	}
	st.chargeTurn(a, t)
	Worked(a, t)
	if len(t.Files) > 0 || t.Outcome == bridge.TurnInterrupted || t.Tools > 0 && !st.seesChanges(a) {
		st.moved(a.ID)
	}
	switch {
	case t.Outcome == bridge.TurnLost:
		return // the process is gone; its `done` follows, and its transcript reports what it had seen
	case t.Outcome == bridge.TurnFailed && t.Category == bridge.CatProtocol:
		// The CLI did not report how the turn ended. The transcript contains it, and the next process reads it.
		st.relaunch(a.ID, runconfig.RestartCrash, t.Error)
		return
	case a.Status == AgentRestarting && t.Outcome != bridge.TurnDone:
		return // we ended the turn; the next process learns from its history what the agent had seen
	}
	for _, m := range t.MessageIDs {
		if slices.Contains(t.Unread, m) {
			st.requeueUnread(a.ID, m)
			continue
		}
		st.delivered(m)
		if i := onWire(st.Conversation.InTurn, m); i >= 0 {
			read := st.Conversation.InTurn[i]
			if Unreadable(a, t, read) {
				st.setAside(read)
				continue
			}
			st.interjected = st.interjected || read.Kind == KindInterjection
		}
		if st.leavesUnruled(a, t) {
			st.requeue(m) // the successor rules on it
			continue
		}
		st.Conversation.EndTurn(m)
	}
	if t.Outcome == bridge.TurnDone {
		st.answers(a.ID) // also what the CLI had not reported as accepted
	}
	a.Turn = slices.DeleteFunc(slices.Clone(a.Turn), func(m string) bool { return slices.Contains(t.MessageIDs, m) })
	stopped := a.Stopped
	a.CurrentTool, a.ToolCall, a.InterruptedTurn, a.Interrupting, a.Stopped = "", nil, nil, false, false
	if a.NotifyingLevel != "" {
		a.NotifiedLevel, a.NotifyingLevel = a.NotifyingLevel, ""
	}
	if a.Status == AgentBusy && len(a.Turn) == 0 {
		a.Status, a.Since = AgentReady, st.at
	}
	for _, wire := range a.Turn { // the CLI puts what did not end with this turn into its next one
		if m, ok := st.Conversation.SentAs(wire); ok {
			st.awaitProof(m)
		}
	}
	st.Permission.TurnOver(&st.out, a.ID)
	st.reportCostLevels(a)
	if !a.Alive() {
		return // it is being released; nothing reads its last message
	}
	switch t.Outcome {
	case bridge.TurnDone:
		if n := len(t.MessageIDs); n > 0 {
			a.LastAnswered = t.MessageIDs[n-1]
		}
		a.Troubles, a.APIFailures, a.Refused = 0, 0, ""
		st.Lifecycle.Restarts = st.Lifecycle.Restarts.Answered(a.ID)
		if st.Question.Recovery.Agent == a.ID { // it works again
			st.Question.Recovery = QuestionRecovery{}
		}
		a.Turns++
		st.keepLimits(a)
		st.routeVerdict(a, t)
	case bridge.TurnInterrupted:
		if stopped {
			st.notify(a.ID, KindRetry, "Your turn was stopped, because too little was left of the limit of costs "+
				"for several turns at once. Go on with the last message where you stopped.")
			return
		}
		st.interrupted(a)
	case bridge.TurnFailed:
		st.turnFailed(a, t)
	}
}

// routeVerdict routes the verdict that a turn ended with, or asks for it again.
func (st *step) routeVerdict(a *Agent, t bridge.Turn) {
	if a.Role == RoleArbiter {
		v, err := verdict.ParseArbiter(verdictOf(t))
		v.To = st.idOf(v.To)
		if err = cmp.Or(oversizeVerdict(t.Oversize), err, MayRule(a, OfVerdict, v.Decision)); err == nil {
			err = st.checkRuling(v)
		}
		if err != nil {
			st.correct(a, err, t)
			return
		}
		a.Corrections, a.Fallbacks, st.Renewal.GeneratedInRow = 0, 0, 0
		if v.Decision == verdict.Complete && st.readFirst() {
			return
		}
		st.rule(v, decider.BySession)
		st.succession(v)
		return
	}
	v, err := verdict.ParseOrchestrator(verdictOf(t))
	if err = cmp.Or(oversizeVerdict(t.Oversize), err, MayRule(a, OfWord, v.Kind)); err != nil {
		st.correct(a, err, t)
		return
	}
	a.Corrections, a.Fallbacks = 0, 0
	st.routeOrchestrator(a, v)
}

// verdictOf is the verdict that a turn ended with. Some models write it as text instead of calling the tool.
func verdictOf(t bridge.Turn) json.RawMessage {
	if t.Verdict == nil {
		return verdict.FromText(t.Text)
	}
	return t.Verdict
}

// oversizeVerdict is the correction for an agent whose verdict was too large to be passed on; nil: it was not.
func oversizeVerdict(size int) error {
	if size <= 0 {
		return nil
	}
	return &verdict.Problem{Text: fmt.Sprintf("Your verdict had %s, and at most %s are taken. Give it again in fewer "+
		"words. Write what is long into files, and name them.",
		words.Size(int64(size)), words.Size(bridge.MaxVerdict))}
}

// correct asks for the verdict again, while that costs three requests at most; then the fallback decides. A turn that
// ended without a verdict has cost two: the CLI itself has asked again.
func (st *step) correct(a *Agent, err error, t bridge.Turn) {
	if st.pendingFor(a.ID) {
		return // a newer message waits for this agent; its verdict will follow that
	}
	a.Corrections++
	if t.Verdict == nil && t.Oversize == 0 {
		a.Corrections++
	}
	if a.Corrections > maxCorrections {
		st.fallback(a, err, t)
		return
	}
	text := err.Error()
	var p *verdict.Problem
	if errors.As(err, &p) {
		text = p.Text
	}
	st.notify(a.ID, KindCorrection, text)
}

// interrupted handles a turn that was stopped before its verdict. The sender of the stop has usually left a
// message, which pump sends now; without one the dialogue must not stall silently.
func (st *step) interrupted(a *Agent) {
	if st.pendingFor(a.ID) {
		return
	}
	switch {
	case a.Role == RoleArbiter && st.Renewal.Stage == RenewalAsked:
		st.Renewal.Stage = RenewalNone
		if !a.ContextLow() && st.Question.Open == nil && !st.pendingFor(a.ID) {
			st.ask("The Arbiter was interrupted. Tell it how to go on, or end the run.")
		}
		return // if necessary, it is asked again at once
	case a.Role == RoleArbiter:
		st.ask("The Arbiter was interrupted. Tell it how to go on, or end the run.")
		return
	case a.CompactionBlocked:
		st.notify(a.ID, KindRelief, "You were stopped, because your context is full and you went on. Hand "+
			"off now, with kind handoff and its document.")
		return
	case a.ReachedLimit != "" && a.Standing == AgentWorking:
		st.notify(a.ID, KindRelief, "You were stopped, because "+a.ReachedLimit+". Hand off now, with kind handoff and "+
			"its document.")
		return
	}
	a.Standing = AgentWaiting
	st.tell(a.Name + " (" + a.ID + ") was interrupted and waits for your message.")
}

// turnFailed handles API errors and refusals.
func (st *step) turnFailed(a *Agent, t bridge.Turn) {
	switch t.Category {
	case bridge.CatVerdict:
		st.correct(a, &verdict.Problem{Text: refusedText(t.Error)}, t)
	case bridge.CatBudget:
		st.overspent(a, t)
	case bridge.CatUsageLimit:
		st.limited(a, t)
	case bridge.CatOverloaded, bridge.CatRateLimit, bridge.CatServer, bridge.CatTimeout:
		st.apiFailed(a, t)
	case bridge.CatPromptTooLong, bridge.CatCompaction:
		st.exhausted(a, t)
	case bridge.CatHook:
		st.relaunch(a.ID, runconfig.HookRefused, t.Error)
	case bridge.CatInvalidRequest, bridge.CatRefusal:
		st.requestRefused(a, t)
	case bridge.CatResume:
		// The API refuses the session's history, and will refuse it each time.
		st.relaunch(a.ID, runconfig.InvalidResume, t.Error)
	default:
		st.broken(a, t.Category, t.Error)
	}
}

// refusedText is the correction of a verdict that the CLI has refused, with the reason that it gave.
func refusedText(reason string) string {
	if _, after, found := strings.Cut(reason, "error: "); found {
		reason = after
	}
	return "Your verdict was refused: " + words.Head(words.FirstLine(reason), 500) +
		". Call StructuredOutput once more with that corrected, and change nothing else."
}

// requestRefused handles a request that the API refuses, or the model declines, for what it contains. Each request of a
// session contains the session's whole history: if the session is refused once more, another begins, with the
// supervisor's record.
func (st *step) requestRefused(a *Agent, t bridge.Turn) {
	if a.Refused == a.SessionID {
		st.relaunch(a.ID, runconfig.InvalidResume, t.Error)
		return
	}
	a.Refused = a.SessionID
	st.notice(a.ID, a.Name+": the request was refused, and is tried once more: "+words.Cite(t.Error))
	st.notify(a.ID, KindRetry, brokenWay)
}

// overspent handles a process that its CLI has stopped at the cost limit it was started with. The process
// answers nothing more, so another one replaces it.
func (st *step) overspent(a *Agent, t bridge.Turn) {
	if a.Fuse.Level == LevelLimit {
		return // it is parked for that
	}
	if st.Options.MaxCostUSD <= 0 && a.Fuse.USD <= 0 {
		st.broken(a, t.Category, t.Error) // not a limit that the options set
		return
	}
	st.relaunch(a.ID, runconfig.RestartResource, "the limit of costs that its process was started with is spent")
	st.notify(a.ID, KindRetry, brokenWay)
}
