package supervisor

import (
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// keepReserve holds messages back while the reserve of a usage window is reached. Running turns finish.
func (st *step) keepReserve() {
	st.Budget.Hold(&st.out, st.Options.QuotaReserve)
	if st.Budget.ResetIsTooFar(st.at, st.Options.MaxWait) && st.Task.Text != "" && st.busyCount() == 0 &&
		!st.AnyTakenOver() {
		st.limitReached(st.Budget.ReserveText(st.Options.QuotaReserve) +
			": resume it then, raise --max-wait, or lower --quota-reserve")
	}
}

// keepCostLimits enforces the cost limits that all agents share. Turns for which too little is left are
// stopped; one turn runs to its end. When a limit is reached and no turn runs any more, the human is asked, or
// the run ends.
func (st *step) keepCostLimits() {
	st.stopTurns()
	spent := st.spentLimits()
	switch {
	case len(spent) == 0 && st.Budget.AskedAt.IsZero():
	case len(spent) == 0:
		st.Budget.AskedAt = time.Time{}
		st.notice(contract.Supervisor, "the run continues: its cost limit is no longer reached")
	case st.busyCount() > 0 || st.AnyTakenOver() || st.Rulings.DeciderRequest != nil || st.Handoff.IsDue():
		// running turns finish
	case !st.HumanPresent:
		st.limitReached(ReachedText(spent[0]))
	case st.Budget.AskedAt.IsZero():
		st.Budget.AskedAt = st.at
		st.emit(contract.Supervisor, contract.Question{Question: LimitQuestion, Text: st.LimitText(),
			Options: st.LimitOptions()})
	}
}

// chooseAboutLimit takes the human's choice about a cost limit that is reached, and reports whether the option
// was one of the choices.
func (st *step) chooseAboutLimit(ref, option string) bool {
	if !slices.Contains(st.LimitOptions(), option) {
		return false
	}
	if option == ChooseFinish {
		st.out.Accept(ref, "the run ends at its limit")
		st.limitReached(ReachedText(st.spentLimits()[0]))
		return true
	}
	st.out.Accept(ref, "raised to "+st.raiseLimits())
	return true
}
