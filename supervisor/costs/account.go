package costs

import (
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/budget"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// What can be chosen about a limit of costs that is spent.
const (
	ChooseRaise  = "raise"
	ChooseFinish = "finish"
)

// Account is what a run has spent, and what it may spend.
type Account struct {
	Options *runconfig.Options
	Roster  *roster.Roster
	Budget  *budget.State
}

// Limits are the limits of the run, as its budget is judged by.
func (a Account) Limits() budget.Limits {
	return budget.Limits{RunUSD: a.Options.MaxCostUSD, DayUSD: a.Options.MaxCostPerDay,
		ReservePct: a.Options.QuotaReserve, Simulated: a.Options.Rehearsal}
}

// Spent returns what the run has cost, the turns under way included.
func (a Account) Spent() float64 { return a.Roster.SpentWith(a.Budget.CostUSD) }

// Used returns what the run has used, the turns under way included.
func (a Account) Used() bridge.Usage {
	all := a.Budget.Usage
	for _, agent := range a.Roster.Agents {
		all = budget.Sum(all, agent.Live.Usage)
	}
	return all
}

// Reached returns a limit of costs that all agents share and have spent, and whether there is one.
func (a Account) Reached() (budget.Limit, bool) { return a.Budget.Reached(a.Limits(), a.Spent()) }

// Room is how many turns may run at once.
func (a Account) Room() int { return a.Budget.Room(a.Limits(), a.Spent()) }

// Holds reports whether nothing is sent, because of a usage window's reserve or a limit of costs.
func (a Account) Holds() bool {
	_, spent := a.Reached()
	return spent || a.Budget.Holds()
}

// NoNewSubagent says why no agent may start another subagent; empty: it may. Running turns continue to their end
// without.
func (a Account) NoNewSubagent() string {
	if l, spent := a.Reached(); spent {
		return l.Text() + " No further subagent starts: end your turn"
	}
	if a.Budget.Holds() {
		return a.Budget.ReserveText(a.Options.QuotaReserve) + ": no further subagent starts; end your turn"
	}
	return ""
}

// spentLimits are the limits of costs that all agents share and have spent.
func (a Account) spentLimits() (list []budget.Limit) {
	for _, l := range a.Budget.Shared(a.Limits(), a.Spent()) {
		if l.Level() == budget.LevelLimit {
			list = append(list, l)
		}
	}
	return list
}

// Question asks what to do about the limits of costs that are spent.
func (a Account) Question() string {
	var spent, raise []string
	for _, l := range a.spentLimits() {
		spent = append(spent, l.Text())
		raise = append(raise, fmt.Sprintf("$%.2f (%s)", l.Raised(), l.Flag()))
	}
	return strings.Join(spent, " ") + " Nothing is sent until you choose: " + ChooseRaise + " the limit to " +
		strings.Join(raise, " and ") + ", or " + ChooseFinish + ": the run ends, and can be resumed."
}

// ReachedText says at which limit of costs a run ends.
func ReachedText(l budget.Limit) string {
	what := "the cost reached"
	if l.Scope == contract.ScopeDay {
		what = "the cost of all runs of this day reached"
	}
	return fmt.Sprintf("%s %s of $%.4f: raise %s to go on", what, l.SpentText(), l.LimitUSD, l.Flag())
}

// ofAgent is what an agent may cost, in dollars; 0: there is no limit.
func (a Account) ofAgent(agent *roster.Agent) float64 {
	if agent.Role != roster.RoleOrchestrator {
		return 0
	}
	mode, _ := a.Options.ModeNamed(agent.Mode)
	limit, own := a.Options.MaxCostPerAgent, mode.Limits.MaxCostUSD
	if limit <= 0 || own > 0 && own < limit {
		return own
	}
	return limit
}

// ChargeLost charges what the turn of a process had cost that ended without telling it.
func (a Account) ChargeLost(agent *roster.Agent) {
	live := agent.Live
	agent.Live = bridge.Spent{}
	agent.CostUSD += live.CostUSD
	a.Budget.Charge(live.Usage, live.CostUSD)
}

// charge charges what a turn that ended has cost.
func (a Account) charge(agent *roster.Agent, t bridge.Turn) {
	a.observe(agent, t.CostUSD)
	agent.Live = bridge.Spent{}
	agent.CostUSD += t.CostUSD
	a.Budget.Charge(t.Usage, t.CostUSD)
}

// observe takes in that the turn of an agent has cost so much by now.
func (a Account) observe(agent *roster.Agent, usd float64) {
	if agent.Role == roster.RoleOrchestrator {
		a.Budget.Observe(usd - agent.Live.CostUSD)
	}
}
