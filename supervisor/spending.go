package supervisor

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// keepReserve holds messages back while the reserve of a usage window is reached. Running turns finish.
func (st *step) keepReserve() {
	st.Budget.Hold(&st.out, st.Options.QuotaReserve)
	if st.resetIsTooFar() && st.Task.Text != "" && !st.anyBusy() && !st.AnyTakenOver() {
		st.limitReached(st.Budget.ReserveText(st.Options.QuotaReserve) +
			": resume it then, raise --max-wait, or lower --quota-reserve")
	}
}

// checkBudget ends the run once it has cost what it may, and reports whether it did.
func (st *step) checkBudget() bool {
	l, reached := st.Budget.Reached(st.limits(), st.Spent())
	if reached {
		what := "the cost reached"
		if l.Scope == contract.ScopeDay {
			what = "the cost of all runs of this day reached"
		}
		st.limitReached(fmt.Sprintf("%s $%.4f of $%.4f", what, l.SpentUSD, l.LimitUSD))
	}
	return reached
}

// spending takes what a running turn has cost so far. All agents share the limit of the run.
func (st *step) spending(id string, b bridge.Spent) {
	a := st.Edit(id)
	if len(a.Turn) == 0 {
		return // the end of its turn has told it
	}
	a.Live = b
	st.emit(id, contract.Cost{CostUSD: b.CostUSD, Usage: b.Usage, RunCostUSD: st.Spent()})
	st.tellLevels(id)
	st.checkBudget()
}

// daySpent takes in what the other runs have cost today.
func (st *step) daySpent(f input.DaySpent) {
	st.Budget.Day.Read(f.Day, f.OthersUSD, f.OwnUSD, st.Spent())
	st.tellSharedLevels()
	st.checkBudget()
}
