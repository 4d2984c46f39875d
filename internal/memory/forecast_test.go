package memory

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
)

// TestForecasts: a step costs what the steps of a mode cost in the middle one of its runs. What is not known is
// missing.
func TestForecasts(t *testing.T) {
	if got := Forecasts(nil); len(got) != 0 {
		t.Errorf("invented %v", got)
	}
	got := Forecasts([]Outcome{
		{Agents: []AgentOutcome{{Name: "tester", Succeeded: 1, Failed: 1, CostUSD: 1, Tokens: 2000, Minutes: 8},
			{Name: "idle"}}},
		{Agents: []AgentOutcome{{Name: "tester", Succeeded: 1, CostUSD: 90, Tokens: 90000, Minutes: 900}}},
		{Agents: []AgentOutcome{{Name: "tester", Succeeded: 2, CostUSD: 0.8, Tokens: 1600, Minutes: 6}}},
		{Agents: []AgentOutcome{{Name: "tester", Succeeded: 3}}}, // by a version that kept no figures
	})
	want := map[string]contract.Forecast{"tester": {Mode: "tester", USD: 0.5, Tokens: 1000, Minutes: 4, From: 3}}
	testkit.Same(t, "", want, got)
}

// TestForecastsComeTrue: of 50 runs with steps of three modes, whose costs vary and now and then are far off, each run
// after the tenth is forecast from those before it: half of the forecasts are wrong by less than 30 %.
func TestForecastsComeTrue(t *testing.T) {
	kinds := []struct {
		mode         string
		usd, minutes float64
		tokens       int
	}{{"planner", 0.15, 3, 60_000}, {"developer", 1.2, 18, 700_000}, {"tester", 0.4, 6, 150_000}}
	r := rand.New(rand.NewPCG(1, 2))
	var outcomes []Outcome
	wrong := map[string][]float64{}
	for n := range 50 {
		known := Forecasts(outcomes)
		var h decider.DecisionHistory
		var uses []AgentOutcome
		for _, k := range kinds {
			for range 1 + r.IntN(4) {
				// The costs of a step vary with its size; one of ten takes three times as much.
				size := math.Exp(0.35 * r.NormFloat64())
				if r.IntN(10) == 0 {
					size *= 3
				}
				took := time.Duration(k.minutes * size * float64(time.Minute))
				h = h.Add(decider.DecisionExecution{Agent: k.mode, Status: decider.StatusSuccess, StartedAt: now,
					CompletedAt: now.Add(took), Tokens: decider.Tokens{Total: int(float64(k.tokens) * size)}})
				uses = append(uses, AgentOutcome{Name: k.mode, CostUSD: k.usd * size})
			}
		}
		o := Outcome{Run: fmt.Sprint(n), Agents: Tally(h.Counts(), uses)}
		if outcomes = append(outcomes, o); n < 10 {
			continue
		}
		for _, a := range o.Agents {
			steps, f := float64(a.Succeeded), known[a.Name]
			testkit.Need(t, f.From == min(n, forecastRuns), "run %d: %+v", n, f)
			off := func(what string, said, was float64) { wrong[what] = append(wrong[what], math.Abs(said-was)/was) }
			off("dollars", f.USD, a.CostUSD/steps)
			off("tokens", float64(f.Tokens), float64(a.Tokens)/steps)
			off("minutes", f.Minutes, a.Minutes/steps)
		}
	}
	for what, list := range wrong {
		slices.Sort(list)
		median := list[len(list)/2]
		t.Logf("%s: median error %.0f %% of %d forecasts", what, 100*median, len(list))
		testkit.Check(t, median <= 0.3, "%s are wrong by %.0f %%", what, 100*median)
	}
}
