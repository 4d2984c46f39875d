package supervisor

import (
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// The choices when a cost limit is reached.
const (
	ChooseRaise  = "raise"
	ChooseFinish = "finish"
)

// Account is what a run has spent, and what it may spend.
type Account struct {
	Options *runconfig.Options
	Roster  *Roster
	Budget  *BudgetState
}

// Limits are the limits of the run, as its budget uses them.
func (a Account) Limits() BudgetLimits {
	return BudgetLimits{RunUSD: a.Options.MaxCostUSD, DayUSD: a.Options.MaxCostPerDay,
		ReservePct: a.Options.QuotaReserve, Simulated: a.Options.Rehearsal}
}

// Spent returns what the run has cost, including running turns.
func (a Account) Spent() float64 { return a.Roster.SpentWith(a.Budget.CostUSD) }

// Used returns what the run has used, including running turns.
func (a Account) Used() bridge.Usage {
	all := a.Budget.Usage
	for _, agent := range a.Roster.Agents {
		all = BudgetSum(all, agent.Live.Usage)
	}
	return all
}

// Reached returns a cost limit that all agents share and that is reached, and whether there is one.
func (a Account) Reached() (BudgetLimit, bool) { return a.Budget.Reached(a.Limits(), a.Spent()) }

// Remaining is how many turns may run at once.
func (a Account) Remaining() int { return a.Budget.Remaining(a.Limits(), a.Spent()) }

// Holds reports whether messages are held back because of a usage window's reserve or a cost limit.
func (a Account) Holds() bool {
	_, spent := a.Reached()
	return spent || a.Budget.Holds()
}

// NoNewSubagent says why no agent may start another subagent; empty: it may. Running turns continue to their
// end without new ones.
func (a Account) NoNewSubagent() string {
	if l, spent := a.Reached(); spent {
		return l.Text() + " No further subagent starts: end your turn"
	}
	if a.Budget.Holds() {
		return a.Budget.ReserveText(a.Options.QuotaReserve) + ": no further subagent starts; end your turn"
	}
	return ""
}

// spentLimits are the cost limits that all agents share and that are reached.
func (a Account) spentLimits() (list []BudgetLimit) {
	for _, l := range a.Budget.Shared(a.Limits(), a.Spent()) {
		if l.Level() == LevelLimit {
			list = append(list, l)
		}
	}
	return list
}

// Question asks what to do about the cost limits that are reached.
func (a Account) Question() string {
	var spent, raise []string
	for _, l := range a.spentLimits() {
		spent = append(spent, l.Text())
		raise = append(raise, fmt.Sprintf("$%.2f (%s)", l.Raised(), l.Flag()))
	}
	return strings.Join(spent, " ") + " Nothing is sent until you choose: " + ChooseRaise + " the limit to " +
		strings.Join(raise, " and ") + ", or " + ChooseFinish + ": the run ends, and can be resumed."
}

// ReachedText says which cost limit ended a run.
func ReachedText(l BudgetLimit) string {
	what := "the cost reached"
	if l.Scope == contract.ScopeDay {
		what = "the cost of all runs of this day reached"
	}
	return fmt.Sprintf("%s %s of $%.4f: raise %s to go on", what, l.SpentText(), l.LimitUSD, l.Flag())
}

// ofAgent is what an agent may cost, in dollars; 0: no limit.
func (a Account) ofAgent(agent *Agent) float64 {
	if agent.Role != RoleOrchestrator {
		return 0
	}
	mode, _ := a.Options.ModeNamed(agent.Mode)
	limit, own := a.Options.MaxCostPerAgent, mode.Limits.MaxCostUSD
	if limit <= 0 || own > 0 && own < limit {
		return own
	}
	return limit
}

// ChargeLost charges what the turn of a process had cost that ended without reporting it.
func (a Account) ChargeLost(agent *Agent) {
	live := agent.Live
	agent.Live = bridge.Spent{}
	agent.CostUSD += live.CostUSD
	a.Budget.Charge(live.Usage, live.CostUSD)
}

// charge charges what a turn that ended has cost.
func (a Account) charge(agent *Agent, t bridge.Turn) {
	a.observe(agent, t.CostUSD)
	agent.Live = bridge.Spent{}
	agent.CostUSD += t.CostUSD
	a.Budget.Charge(t.Usage, t.CostUSD)
}

// observe records what the running turn of an agent has cost so far.
func (a Account) observe(agent *Agent, usd float64) {
	if agent.Role == RoleOrchestrator {
		a.Budget.Observe(usd - agent.Live.CostUSD)
	}
}
