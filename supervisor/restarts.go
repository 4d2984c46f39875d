package supervisor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// lost handles a process that ended unexpectedly: it is started again with its session, or its agent is parked.
func (st *step) lost(a *Agent, class runconfig.RestartClass, reason string) {
	switch class {
	case AttachClass:
		st.stoppedForTakeover(a)
		return
	case ClassHalt:
		a.CurrentTool, a.Backoff = "", nil
		fallthrough
	case ClassRenewal:
		a.Status, a.Since, a.Watch = AgentDown, st.at, AgentWatch{}
		st.restart(a.ID) // if it may start again already
		return
	}
	d := st.decideRestart(a.ID, a.Generation, class, reason, time.Time{})
	a.Since, a.CurrentTool, a.Watch, a.Backoff = st.at, "", AgentWatch{}, nil
	if !d.Starts() {
		st.park(a, class, d.Reason)
		return
	}
	a.Status = AgentDown
	if d.Action == runconfig.RestartFresh {
		a.NewSession = true
	}
	st.emit(a.ID, contract.Restart{Attempt: d.Attempt, DelayMS: d.Delay.Milliseconds(), Reason: d.Reason})
	if d.Delay <= 0 {
		st.restart(a.ID)
		return
	}
	st.backOff(a, cmp.Or(Categories[class], bridge.CatCrash), d.Attempt, d.Delay)
	st.do(input.SetTimer{Key: RestartPrefix + RunOf(a.AgentRef), After: d.Delay})
}

// unpark restarts a parked agent because a human asked for it.
func (st *step) unpark(a *Agent) {
	if a.Leaving() { // the end of its process will come too late
		st.left(a)
	}
	a.Status, a.Since, a.Dismissed = AgentDown, st.at, false
	if st.Question.Recovery.Agent == a.ID {
		st.Question.Recovery = QuestionRecovery{}
	}
	st.renewFuse(a)
	st.removeDocuments("", func(h *Handover) bool { return h.Agent.ID == a.ID && h.Kind == KindGone })
	st.Handoff.LeaveSuccessorQueue(a.Predecessor) // it continues that work itself
	if a.Role == RoleArbiter {
		st.Rulings.LeaveFallback(&st.out)
		undecided := slices.ContainsFunc(st.Question.Open,
			func(p QuestionPart) bool { return p.Kind == KindAcceptance })
		if st.Conversation.Held && !undecided { // the human who restarts it has given an answer
			st.Conversation.Exchanges, st.Conversation.ExchangeLimitHits, st.Conversation.Held = 0, 0, false
			st.Question.Drop(func(p QuestionPart) bool { return !p.Arbiter })
		}
	}
	st.Lifecycle.Waking = st.Lifecycle.Waking || a.Role == RoleArbiter
	st.restart(a.ID)
}

// limited handles a usage limit of a plan: the run waits for it, and does not count it as a failure.
func (st *step) limited(a *Agent, t bridge.Turn) {
	var resets time.Time
	if t.ResetsAt > 0 {
		resets = time.Unix(t.ResetsAt, 0)
	}
	d := st.decideRestart(a.ID, a.Generation, runconfig.UsageLimit, "", resets)
	if !d.Starts() {
		st.fail(a.ID, bridge.CatUsageLimit, a.Name+" "+d.Reason,
			[]string{"resume later: arbiter --resume", "wait longer: --max-wait"})
		st.limitReached(d.Reason)
		return
	}
	st.retryAfter(a, d, t)
}

// apiFailed handles API errors that the CLI has given up on after its own retries.
func (st *step) apiFailed(a *Agent, t bridge.Turn) {
	if st.Options.MaxWait > 0 && (t.Category == bridge.CatOverloaded || t.Category == bridge.CatRateLimit) {
		// Waiting helps here, and costs nothing.
		if d := st.decideRestart(a.ID, a.Generation, runconfig.RestartOverload, "", time.Time{}); d.Starts() {
			st.retryAfter(a, d, t)
			return
		}
	}
	a.APIFailures++ // an error that was waited for above does not count
	if a.APIFailures >= st.Options.MaxFailures {
		a.Troubles, a.APIFailures = a.Troubles+1, 0
		st.broken(a, t.Category, t.Error)
		return
	}
	delay := RetryDelay(a.APIFailures, st.Options.RetryBase, st.Options.RestartPolicy().Cap)
	st.retryAfter(a, runconfig.RestartDecision{Delay: delay, Attempt: a.APIFailures}, t)
}

// retryAfter makes an agent resume its turn after a wait.
func (st *step) retryAfter(a *Agent, d runconfig.RestartDecision, t bridge.Turn) {
	a.Troubles++
	reason := string(t.Category)
	for _, more := range []string{t.Error, d.Reason} {
		if more != "" {
			reason += ": " + more
		}
	}
	st.emit(a.ID, contract.Retry{Attempt: d.Attempt, DelayMS: d.Delay.Milliseconds(), Reason: reason})
	if a.Role == RoleOrchestrator {
		st.fire(machine.AgentError, triggerData{agent: a.ID, recoverable: true})
	}
	if a.Status == AgentReady { // not after its process has ended
		st.backOff(a, t.Category, d.Attempt, d.Delay)
	}
	st.do(input.SetTimer{Key: RetryPrefix + RunOf(a.AgentRef), After: max(d.Delay, time.Millisecond)})
}

// halt stops every agent at once, and holds everything until `continue`. An agent that was working then
// continues its own session, and learns that its turn was cut off.
func (st *step) halt(ref string) {
	st.Halts++
	st.allMoved()
	if st.Halted {
		st.out.Accept(ref, "halted already; continue starts the agents again")
		return
	}
	n := st.holdAll()
	st.out.Accept(ref, fmt.Sprintf("halted: %d stopped; continue starts them again", n))
	st.emit(contract.Human, contract.Halted{By: cmp.Or(st.channel, input.ChannelStdin)})
}

// holdAll ends every process, and returns how many there were.
func (st *step) holdAll() int {
	st.Halted, st.Paused = true, true
	st.loseChecksWhere(anyDocument) // they are run again
	st.Rulings.DeciderRequest = nil // and the decider is asked again
	st.do(input.Drop{})
	st.Permission.DenyAll(&st.out, contract.ByHalt, "the human stopped everything")
	n := 0
	for i := range st.Agents {
		a := st.Edit(st.Agents[i].ID)
		switch {
		case a.Status == InHand:
			n += st.haltTakeover(a)
		case a.Up():
			a.Status, a.Since = AgentRestarting, st.at
			a.RestartClass, a.RestartCause = ClassHalt, "the human stopped everything"
			fallthrough
		case a.Leaving(), a.Status == AgentRestarting:
			st.do(input.Kill{Agent: a.AgentRef, Now: true})
			n++
		}
	}
	return n
}

// carryOn lets messages be sent again, and starts what was halted.
func (st *step) carryOn(ref string) {
	text := "the thread continues"
	if options := st.LimitOptions(); options != nil {
		text += ", but a limit of costs is spent: choose " + strings.Join(options, " or ")
	}
	st.out.Accept(ref, text)
	st.Paused = false
	st.Budget.LiftReserve(&st.out, st.Options.QuotaReserve)
	if !st.Halted {
		return
	}
	st.Halted = false
	for i := range st.Agents {
		st.restart(st.Agents[i].ID) // if its process is down
	}
	st.goOn(anyDocument)
}
