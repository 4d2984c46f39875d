package supervisor

import (
	"fmt"
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/budget"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// resetGrace is how long after the reset of a usage window the run goes on: clocks differ.
const resetGrace = 2 * time.Second

// quotaRead takes in how much of a usage window is used. All agents use the same account.
func (st *step) quotaRead(b bridge.Quota) {
	resets := time.Time{}
	if b.ResetsAt > 0 {
		resets = time.Unix(b.ResetsAt, 0).UTC()
	}
	w, news := st.Budget.Read(b.Window, b.UsedPct, resets, st.at)
	if !news {
		return
	}
	e := contract.Quota{Window: w.Name, UsedPct: w.UsedPct}
	if !w.ResetsAt.IsZero() {
		e.ResetsAt = w.ResetsAt.Format(time.RFC3339)
	}
	if left, ok := w.Forecast(); ok {
		e.LeftSeconds = max(int(left.Seconds()), 1)
	}
	st.emit(contract.Supervisor, e)
	if st.Budget.Warn(w.Name) {
		st.emit(contract.Supervisor, contract.Notice{Text: "the " + st.usedText(w)})
	}
}

// usedText says how much of a window is used, when it resets, and how long it lasts.
func (st *step) usedText(w budget.Window) string {
	text := fmt.Sprintf("%s of your plan is used to %.0f %%", w.Words(), w.UsedPct)
	if !w.ResetsAt.IsZero() {
		text += fmt.Sprintf(", and resets in %s (%s)", span(w.ResetsAt.Sub(st.at)), w.ResetsAt.Format(time.RFC3339))
	}
	if left, ok := w.Forecast(); ok {
		text += "; at this rate it is used up in " + span(left)
	}
	return text
}

// span is a time as people say it, to the minute.
func span(d time.Duration) string { return max(d.Round(time.Minute), time.Minute).String() }

// keepReserve holds messages back while the reserve of a usage window is reached. Running turns finish.
func (st *step) keepReserve() {
	w, past := st.Budget.Past(st.Options.QuotaReserve, st.at.Add(-resetGrace))
	switch {
	case !past && st.Budget.Holds():
		st.Budget.HeldUntil = time.Time{}
		st.do(effect.SetTimer{Key: resetKey}) // none any more
		st.emit(contract.Supervisor, contract.Notice{Text: "the run goes on: its reserve is no longer reached"})
	case past && !st.Budget.HeldUntil.Equal(w.ResetsAt):
		if !st.Budget.Holds() {
			st.emit(contract.Supervisor, contract.Notice{Text: fmt.Sprintf("the %s. Its last %g %% are left for you: "+
				"running turns end, nothing more is sent before the reset. `continue` goes on all the same",
				st.usedText(w), st.Options.QuotaReserve)})
		}
		st.Budget.HeldUntil = w.ResetsAt
		st.awaitReset()
	}
	if st.resetIsTooFar() && st.Task.Text != "" && !st.anyBusy() && !st.AnyTakenOver() {
		st.limitReached(st.reserveText() + ": resume it then, raise --max-wait, or lower --quota-reserve")
	}
}

// awaitReset wakes the run when the window that it waits for has been reset.
func (st *step) awaitReset() {
	if st.Budget.Holds() {
		after := st.Budget.HeldUntil.Sub(st.at) + resetGrace
		st.do(effect.SetTimer{Key: resetKey, After: max(after, time.Millisecond)})
	}
}

// stillHeld says in another process that the run waits for a reset.
func (st *step) stillHeld() {
	if _, past := st.Budget.Past(st.Options.QuotaReserve, st.at); past && st.Budget.Holds() {
		st.emit(contract.Supervisor, contract.Notice{Text: st.reserveText() + ": nothing is sent before"})
	}
	st.awaitReset()
}

// resetIsTooFar reports whether the run waits for a reset, and may not wait so long.
func (st *step) resetIsTooFar() bool {
	return st.Budget.Holds() && st.Budget.HeldUntil.Sub(st.at) > max(st.Options.MaxWait, 0)+resetGrace
}

func (st *step) reserveText() string {
	return fmt.Sprintf("the reserve of --quota-reserve %g is reached until %s", st.Options.QuotaReserve,
		st.Budget.HeldUntil.Format(time.RFC3339))
}

// liftReserve lets the run go on past its reserve, on the human's word.
func (st *step) liftReserve() {
	if st.Budget.Lift(st.Options.QuotaReserve, st.at) {
		st.emit(contract.Supervisor, contract.Notice{
			Text: "the reserve of your plan is used, too, until the next reset"})
	}
}

// noNewAgent says why no further agent may start now; empty: it may.
func (st *step) noNewAgent() string {
	for _, l := range st.sharedLimits() {
		if l.level() != "" {
			return l.text() + " No further Orchestrator starts: let those that there are finish, or end the task."
		}
	}
	w, past := st.Budget.Past(st.Options.QuotaReserve, st.at)
	if !past {
		return ""
	}
	return fmt.Sprintf("No further Orchestrator starts before %s: the %s.", w.ResetsAt.Format(time.RFC3339),
		st.usedText(w))
}

// anyBusy reports whether a turn runs.
func (s *State) anyBusy() bool {
	return slices.ContainsFunc(s.Agents, func(a *roster.Agent) bool { return a.Status == roster.Busy })
}
