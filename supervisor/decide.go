package supervisor

import (
	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
)

// runDueDecisions has each due point of decision decided, unless the Arbiter decides it in its own turn.
func (st *step) runDueDecisions() {
	if st.Rulings.FallbackReason == "" && !st.asksOther() {
		return
	}
	// The rules decide at once, and may then be asked again: each decision spawns, addresses or ends. The
	// bound only guards against a bug.
	for range 8 {
		if st.Ending != nil || st.Paused || st.budgetHolds() || st.Conversation.Held || st.Rulings.DeciderRequest != nil {
			return
		}
		why := st.Rulings.FallbackReason
		if why != "" && st.answerInFallback() {
			continue
		}
		point, about, due := st.dueDecision()
		switch {
		case !due || why == "" && !st.Lifecycle.IsUp(LifecycleHere):
			return // without a bridge, no model answers
		case point == decider.PointEvaluate && st.handedOffUnfinished(about):
			st.takenUp(about, why)
		case why != "":
			st.byRules(point, about, why)
		default:
			st.askDecider(point, about)
			return
		}
	}
}

// askDecider asks the run's decider. Notices for the Arbiter about this point go to its work log, where it
// reads them with the decision: only one of the two may rule on it.
func (st *step) askDecider(point decider.DecisionPoint, about string) {
	if point == decider.PointSelect {
		st.moveToWorkLog(func(m *Mail) bool {
			return m.To == contract.Arbiter && m.From == contract.Supervisor && m.Kind == KindNotice &&
				!m.Sent
		})
	}
	st.Rulings.Ask(&st.out, st.rulingRequest(point, about))
}

// answered records a decision: what a model's answer has cost, whether it was used or not; or that a decision
// made here is on disk.
func (st *step) answered(f input.Decided) {
	if f.Serial == 0 {
		st.Rulings.Noted(f.Number)
		return
	}
	u := f.Decision.Usage
	st.Budget.Charge(bridge.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead,
		CacheCreation: u.CacheCreation},
		u.CostUSD)
}

// decided takes the answer of the run's decider. An answer that is only recorded, or that a ruling has
// overtaken, decides nothing.
func (st *step) decided(f input.Decided) {
	st.answered(f)
	st.reportSharedLevels()
	p := st.Rulings.DeciderRequest
	if p == nil || f.Serial != p.Serial {
		return
	}
	st.Rulings.DeciderRequest = nil
	why := ""
	switch unfit := Unfit(&st.Options, f.Decision); {
	case f.Deferred:
		st.yield()
		return
	case f.Failed != "":
		why = "the decider failed: " + f.Failed
	case unfit != "":
		why = "the decider gave no decision that can be acted on: " + unfit
	}
	if why != "" || f.Decision.Source == decider.ByFallback {
		st.fire(machine.ArbiterError, occasion{})
	}
	if why != "" {
		st.byRules(p.Point, p.About, why)
		return
	}
	st.carryOut(p, f.Decision)
}
