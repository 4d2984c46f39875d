package memory

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
)

// Bounds of outcomes.
const (
	MaxOutcomes = 50
	maxAgents   = 30 // of a run
)

// Outcome is how a run ended, with the results of its agents.
type Outcome struct {
	Run     string         `json:"run"`
	Date    time.Time      `json:"date"`
	Status  string         `json:"status"` // of the result
	CostUSD float64        `json:"cost_usd"`
	Agents  []AgentOutcome `json:"agents"`
}

// AgentOutcome holds the results of the agents of one mode in a run.
type AgentOutcome struct {
	Name           string    `json:"name"`      // of the mode
	Succeeded      int       `json:"succeeded"` // executions
	Failed         int       `json:"failed"`
	TriesToSuccess int       `json:"tries_to_success"` // executions until each success, of all successes
	LastSuccess    time.Time `json:"last_success,omitzero"`
	LastFailure    time.Time `json:"last_failure,omitzero"`
	Restarts       int       `json:"restarts"`
	Handoffs       int       `json:"handoffs"`
	CostUSD        float64   `json:"cost_usd"`
	Tokens         int       `json:"tokens,omitempty"`
	Minutes        float64   `json:"minutes,omitempty"` // that its executions took
}

func (o Outcome) clean(mask func(string) string) Outcome {
	line := func(s string) string { return sanitize.Line(mask(s), maxRun) }
	o.Run, o.Status, o.Date, o.CostUSD = line(o.Run), line(o.Status), o.Date.UTC().Truncate(time.Second),
		finite(o.CostUSD)
	o.Agents = slices.Clone(o.Agents[:min(len(o.Agents), maxAgents)])
	for i := range o.Agents {
		a := &o.Agents[i]
		a.Name, a.CostUSD, a.Minutes, a.Tokens = line(a.Name), finite(a.CostUSD), finite(a.Minutes), max(a.Tokens, 0)
		a.Succeeded, a.Failed, a.TriesToSuccess = max(a.Succeeded, 0), max(a.Failed, 0), max(a.TriesToSuccess, 0)
		a.Restarts, a.Handoffs = max(a.Restarts, 0), max(a.Handoffs, 0)
		a.LastSuccess, a.LastFailure = a.LastSuccess.UTC(), a.LastFailure.UTC()
	}
	return o
}

// finite returns 0 for numbers that JSON cannot represent.
func finite(usd float64) float64 {
	if math.IsNaN(usd) || math.IsInf(usd, 0) || usd < 0 {
		return 0
	}
	return math.Round(usd*1e6) / 1e6
}

// Performance returns the results of each mode in all runs, by its name, in the form in which deciders see
// those of the current run. A mode that never finished an execution is missing.
func Performance(outcomes []Outcome) map[string]decider.DecisionPerformance {
	sums := map[string]AgentOutcome{}
	for _, o := range outcomes {
		for _, a := range o.Agents {
			s := sums[a.Name]
			s.Succeeded, s.Failed, s.TriesToSuccess = s.Succeeded+a.Succeeded, s.Failed+a.Failed,
				s.TriesToSuccess+a.TriesToSuccess
			s.LastSuccess, s.LastFailure = latest(s.LastSuccess, a.LastSuccess), latest(s.LastFailure, a.LastFailure)
			sums[a.Name] = s
		}
	}
	list := map[string]decider.DecisionPerformance{}
	for name, s := range sums {
		if s.Succeeded+s.Failed == 0 {
			continue
		}
		p := decider.DecisionPerformance{
			LastSuccess: stamp(s.LastSuccess), LastFailure: stamp(s.LastFailure),
			SuccessRate: tenth(100 * float64(s.Succeeded) / float64(s.Succeeded+s.Failed)),
		}
		if s.Succeeded > 0 {
			p.IterationAverage = tenth(float64(s.TriesToSuccess) / float64(s.Succeeded))
		}
		list[name] = p
	}
	return list
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// stamp and tenth write times and rates in the format of package decision.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

func tenth(x float64) float64 { return math.Round(x*10) / 10 }

// record adds an outcome. It replaces one of the same run.
func record(kept []Outcome, o Outcome) []Outcome {
	kept = slices.DeleteFunc(slices.Clone(kept), func(k Outcome) bool { return strings.EqualFold(k.Run, o.Run) })
	kept = append(kept, o)
	return kept[max(0, len(kept)-MaxOutcomes):]
}

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

// forecastRuns is how many of the last runs of a mode a forecast is made from: prices and models change.
const forecastRuns = 20

// Forecasts returns what one step of each mode costs, by the mode's name, from what its steps cost in earlier runs. It
// is the median over the runs, so that one run that went wrong changes little. A mode of which nothing is known is
// missing.
func Forecasts(outcomes []Outcome) map[string]contract.Forecast {
	type run struct{ usd, tokens, minutes float64 }
	runs := map[string][]run{}
	for _, o := range outcomes {
		for _, a := range o.Agents {
			if steps := float64(a.Succeeded + a.Failed); steps > 0 && (a.Tokens > 0 || a.CostUSD > 0) {
				runs[a.Name] = append(runs[a.Name], run{a.CostUSD / steps, float64(a.Tokens) / steps, a.Minutes / steps})
			}
		}
	}
	list := map[string]contract.Forecast{}
	for name, all := range runs {
		all = all[max(len(all)-forecastRuns, 0):]
		middle := func(of func(run) float64) float64 {
			var values []float64
			for _, r := range all {
				values = append(values, of(r))
			}
			slices.Sort(values)
			n := len(values)
			return (values[(n-1)/2] + values[n/2]) / 2
		}
		list[name] = contract.Forecast{
			Mode: name, USD: finite(middle(func(r run) float64 { return r.usd })),
			Tokens:  int(math.Round(middle(func(r run) float64 { return r.tokens }))),
			Minutes: tenth(middle(func(r run) float64 { return r.minutes })), From: len(all),
		}
	}
	return list
}
