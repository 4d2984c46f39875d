package supervisor

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/lifecycle"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// The task machine asks at two points: in selecting (and when an agent broke, or stopped at
// a failed tool) which agent works next, in evaluating what follows from what was done. Who
// answers is the run's decider: the Arbiter in its conversation, or another, whose decisions
// the Arbiter then reads in its work log. Where the Arbiter cannot rule, the rules do.
// decisionpoints.go says where the task stands, carryout.go does what was decided.

// runDueDecisions sees that each point of decision finds its decider, where that is not the
// Arbiter in its own turn.
func (st *step) runDueDecisions() {
	if st.FallbackReason == "" && !st.asksOther() {
		return
	}
	// The rules decide at once, and may then be asked again: each decision summons,
	// addresses or ends. The bound only guards against a bug.
	for range 8 {
		if st.Ending != nil || st.Paused || st.Budget.Holds() || st.Conversation.Held || st.DeciderRequest != nil {
			return
		}
		if st.FallbackReason != "" && st.answerInFallback() {
			continue
		}
		point, about, due := st.due()
		switch a, _ := st.Agent(about); {
		case !due || st.FallbackReason == "" && !st.Lifecycle.IsUp(lifecycle.Here):
			return // without a bridge no model answers
		case point == decision.PointEvaluate && st.leftUndone(&a):
			st.takenUp(about, st.FallbackReason)
			continue
		}
		if st.FallbackReason == "" {
			st.put(point, about)
			return
		}
		st.byRules(point, about, st.FallbackReason)
	}
}

// put asks the run's decider. What the Arbiter would have been told at this point it
// reads with what was decided: two must not rule on the same.
func (st *step) put(point decision.Point, about string) {
	if point == decision.PointSelect {
		st.moveAllToWorkLog(func(m *conversation.Mail) bool {
			return m.To == contract.Arbiter && m.From == contract.Supervisor && m.Kind == conversation.KindNotice &&
				!m.Sent
		})
	}
	st.DeciderRequests++
	p := st.requestDecision(point, about)
	p.Serial = st.DeciderRequests
	st.DeciderRequest = p
	st.do(effect.Decide{Question: decider.Record{Serial: p.Serial, Number: st.Decisions + 1, Point: point, About: about,
		Input: p.Input}})
}

// answered keeps the books of a decision: what a model's answer has cost, used or not, and
// that one made here is recorded.
func (st *step) answered(f input.Decided) {
	if f.Serial == 0 {
		st.noted(f.Number)
		return
	}
	u := f.Decision.Usage
	st.Budget.Charge(bridge.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead,
		CacheCreation: u.CacheCreation},
		u.CostUSD)
}

// decided takes the answer of the run's decider. One that is only recorded, or was
// overtaken by a ruling, decides nothing.
func (st *step) decided(f input.Decided) {
	st.answered(f)
	if f.Serial > 0 && st.checkBudget() {
		return
	}
	p := st.DeciderRequest
	if p == nil || f.Serial != p.Serial {
		return
	}
	st.DeciderRequest = nil
	switch {
	case f.Deferred:
		st.yield()
	case f.Failed != "":
		st.fire(machine.ArbiterError, occasion{})
		st.byRules(p.Point, p.About, "the decider failed: "+f.Failed)
	case st.unfit(f.Decision) != "":
		st.fire(machine.ArbiterError, occasion{})
		st.byRules(p.Point, p.About, "the decider gave no decision that can be acted on: "+st.unfit(f.Decision))
	default:
		if f.Decision.Source == decider.ByFallback {
			st.fire(machine.ArbiterError, occasion{})
		}
		st.carryOut(p, f.Decision)
	}
}

// unfit says why a decision cannot be acted on. Deciders see to that themselves; this
// holds where one does not.
func (st *step) unfit(d decider.Decision) string {
	switch d.Decision {
	case verdict.SelectMode:
		if _, ok := st.Options.ModeNamed(d.Mode); !ok {
			return fmt.Sprintf("there is no mode %q", d.Mode)
		}
	case verdict.Continue, verdict.Retry, verdict.Complete:
	default:
		return fmt.Sprintf("there is no decision %q", d.Decision)
	}
	return ""
}
