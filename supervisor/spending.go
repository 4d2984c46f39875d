package supervisor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/budget"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// spending takes what a running turn has cost so far. All agents share the limit of the run.
func (st *step) spending(id string, b bridge.Spent) {
	a := st.Edit(id)
	if len(a.Turn) == 0 {
		return // the end of its turn has told it
	}
	st.observe(a, b.CostUSD)
	a.Live = b
	st.emit(id, contract.Cost{CostUSD: b.CostUSD, Usage: b.Usage, RunCostUSD: st.Spent()})
	st.tellLevels(id)
}

// daySpent takes in what the other runs have cost today.
func (st *step) daySpent(f input.DaySpent) {
	st.Budget.Day.Read(f.Day, f.OthersUSD, f.OwnUSD, st.Spent())
	st.tellSharedLevels()
}

// keepReserve holds messages back while the reserve of a usage window is reached. Running turns finish.
func (st *step) keepReserve() {
	st.Budget.Hold(&st.out, st.Options.QuotaReserve)
	if st.resetIsTooFar() && st.Task.Text != "" && !st.anyBusy() && !st.AnyTakenOver() {
		st.limitReached(st.Budget.ReserveText(st.Options.QuotaReserve) +
			": resume it then, raise --max-wait, or lower --quota-reserve")
	}
}

// keepCostLimits holds the run to the limits of costs that all agents share. Turns for which too little is left are
// stopped; one goes on to its end. When a limit is spent and no turn runs any more, the human is asked, or the run
// ends.
func (st *step) keepCostLimits() {
	st.stopTurns()
	l, spent := st.Budget.Reached(st.limits(), st.Spent())
	switch {
	case !spent:
		st.limitRaised()
	case st.anyBusy() || st.AnyTakenOver() || st.Rulings.DeciderRequest != nil || st.Handoff.IsDue():
		// what is under way finishes
	case !st.HumanPresent:
		st.costLimitReached(l)
	case st.Budget.AskedAt.IsZero():
		st.Budget.AskedAt = st.at
		st.emit(contract.Supervisor, contract.Question{Question: LimitQuestion, Text: st.LimitText(),
			Options: st.LimitOptions()})
	}
}

// LimitQuestion is the id of the question about a limit of costs that is spent.
const LimitQuestion = "limit"

// What can be chosen about a limit of costs that is spent.
const (
	chooseRaise  = "raise"
	chooseFinish = "finish"
)

// LimitOptions are what can be chosen about a limit of costs that is spent; nil: nobody is asked.
func (s *State) LimitOptions() []string {
	if s.Budget.AskedAt.IsZero() || s.Ending != nil {
		return nil
	}
	return []string{chooseRaise, chooseFinish}
}

// LimitText asks what to do about the limits of costs that are spent.
func (s *State) LimitText() string {
	var spent, raise []string
	for _, l := range s.spentLimits() {
		spent = append(spent, l.Text())
		raise = append(raise, fmt.Sprintf("$%.2f (%s)", l.Raised(), l.Flag()))
	}
	return strings.Join(spent, " ") + " Nothing is sent until you choose: " + chooseRaise + " the limit to " +
		strings.Join(raise, " and ") + ", or " + chooseFinish + ": the run ends, and can be resumed."
}

// stopTurns stops the turns for which too little is left, those that have cost least first. Their agents take them up
// again when there is room.
func (st *step) stopTurns() {
	var running []*roster.Agent
	for _, a := range st.Agents {
		if a.Status == roster.Busy && !a.Stopped {
			running = append(running, a)
		}
	}
	room := max(st.Budget.Room(st.limits(), st.Spent()), 1)
	if len(running) <= room {
		return
	}
	slices.SortStableFunc(running, func(a, b *roster.Agent) int { return cmp.Compare(b.Live.CostUSD, a.Live.CostUSD) })
	var names []string
	for _, a := range running[room:] {
		names = append(names, a.ID)
		st.Edit(a.ID).Stopped = true
		st.do(effect.Interrupt{Agent: a.AgentRef})
	}
	st.emit(contract.Supervisor, contract.Notice{Text: fmt.Sprintf("too little is left of the limit of costs for %d "+
		"turns at once: the turn of %s is stopped, and goes on when there is room", len(running),
		strings.Join(names, ", "))})
}

// resumeStopped has an agent take up a turn that was stopped because little was left of a limit.
func (st *step) resumeStopped(id string) {
	st.mail().Tell(id, conversation.KindRetry, "Your turn was stopped, because too little was left of the limit of "+
		"costs for "+
		"several turns at once. Take up the last message again where you left it.")
}

// costLimitReached ends the run at a limit of costs.
func (st *step) costLimitReached(l budget.Limit) {
	what := "the cost reached"
	if l.Scope == contract.ScopeDay {
		what = "the cost of all runs of this day reached"
	}
	st.limitReached(fmt.Sprintf("%s %s of $%.4f: raise %s to go on", what, l.SpentText(), l.LimitUSD, l.Flag()))
}

// limitRaised closes the question about a limit that is not spent any more.
func (st *step) limitRaised() {
	if !st.Budget.AskedAt.IsZero() {
		st.Budget.AskedAt = time.Time{}
		st.emit(contract.Supervisor, contract.Notice{Text: "the run goes on: its limit of costs is no longer spent"})
	}
}

// chooseAboutLimit takes what the human chose about a limit of costs that is spent, and reports whether the option was
// one of these.
func (st *step) chooseAboutLimit(ref, option string) bool {
	if !slices.Contains(st.LimitOptions(), option) {
		return false
	}
	if option == chooseFinish {
		st.out.Accept(ref, "the run ends at its limit")
		l, _ := st.Budget.Reached(st.limits(), st.Spent())
		st.costLimitReached(l)
		return true
	}
	var raised []string
	for _, l := range st.spentLimits() {
		to := l.Raised()
		st.setCostLimit(l.Scope, to)
		raised = append(raised, fmt.Sprintf("%s $%.2f", l.Flag(), to))
	}
	st.out.Accept(ref, "raised to "+strings.Join(raised, " and "))
	return true
}

// setCostLimit changes a limit of costs.
func (st *step) setCostLimit(scope string, usd float64) {
	switch scope {
	case contract.ScopeWholeRun:
		st.Options.MaxCostUSD = usd
	case contract.ScopeDay:
		st.Options.MaxCostPerDay = usd
	case contract.ScopeAgent:
		st.Options.MaxCostPerAgent = usd
	}
	st.tellSharedLevels()
}
