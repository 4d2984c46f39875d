package memory

import (
	"math"
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

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
