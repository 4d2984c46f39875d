package memory

import (
	"cmp"
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/decider"
)

// AgentUse is what one agent of a run used.
type AgentUse struct {
	Mode     string
	Restarts int
	Handoffs int
	CostUSD  float64
}

// Tally returns the results of the modes of a run, by name: their executions according to the history of
// the run, with the usage of their agents.
func Tally(counts []decider.DecisionCount, uses []AgentUse) []AgentOutcome {
	sums := map[string]*AgentOutcome{}
	of := func(name string) *AgentOutcome {
		if sums[name] == nil {
			sums[name] = &AgentOutcome{Name: name}
		}
		return sums[name]
	}
	for _, c := range counts {
		o := of(c.Agent)
		o.Succeeded, o.Failed, o.TriesToSuccess = c.Succeeded, c.Failed, c.TriesToSuccess
		o.LastSuccess, o.LastFailure = c.LastSuccess, c.LastFailure
		o.Tokens, o.Minutes = c.Tokens, c.Worked.Minutes()
	}
	for _, u := range uses {
		o := of(u.Mode)
		o.Restarts, o.Handoffs, o.CostUSD = o.Restarts+u.Restarts, o.Handoffs+u.Handoffs, o.CostUSD+u.CostUSD
	}
	var list []AgentOutcome
	for _, o := range sums {
		list = append(list, *o)
	}
	slices.SortFunc(list, func(a, b AgentOutcome) int { return cmp.Compare(a.Name, b.Name) })
	return list
}
