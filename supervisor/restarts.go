package supervisor

import (
	"cmp"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
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
	st.do(effect.SetTimer{Key: RestartKey(a.AgentRef), After: d.Delay})
}

// unpark restarts a parked agent because a human asked for it.
func (st *step) unpark(a *Agent) {
	a.Status, a.Since, a.Dismissed = AgentDown, st.at, false
	st.renewFuse(a)
	st.cancelSuccession(a.ID)
	if a.Role == RoleArbiter {
		st.Rulings.LeaveFallback(&st.out)
		if st.Conversation.Held && !st.Question.Undecided() { // the human who restarts it has given an answer
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
		st.fire(machine.AgentError, occasion{agent: a.ID, recoverable: true})
	}
	if a.Status == AgentReady { // not after its process has ended
		st.backOff(a, t.Category, d.Attempt, d.Delay)
	}
	st.do(effect.SetTimer{Key: RetryKey(a.AgentRef), After: max(d.Delay, time.Millisecond)})
}
