package supervisor

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// forecasts are the forecasts that were told, with whom they are about.
func (p *play) forecasts() (list []contract.Forecast, about []string) {
	for _, e := range effects[input.Emit](p) {
		if f, ok := e.Event.Body.(contract.Forecast); ok {
			list, about = append(list, f), append(about, e.Event.ID)
		}
	}
	return list, about
}

// TestForecast: with another plan, and before a summons, the run says what it will cost by earlier runs. Marking a step
// makes no other plan.
func TestForecast(t *testing.T) {
	known := contract.Forecast{USD: 0.5, Tokens: 1000, Minutes: 4, From: 12}
	p := begin(t, func(o *runconfig.Options) { o.Expected = map[string]contract.Forecast{AnyMode: known} })
	answer := p.call("arbiter", "set_plan", `{"steps":[{"text":"spin"},{"text":"ask","mode":"reviewer"},{"text":"weave"}]}`)
	p.contains("the Arbiter", answer.Text, "The open steps cost about $1.00, 8 min")
	p.call("arbiter", "set_plan",
		`{"steps":[{"text":"spin","status":"done"},{"text":"ask","mode":"reviewer"},{"text":"weave"}]}`)
	p.spawn("weave")
	first, third, all, summons := known, known, known, known
	first.Step, third.Step, summons.Step = 1, 3, 2
	all.USD, all.Tokens, all.Minutes, all.Unknown = 1, 2000, 8, 1
	got, about := p.forecasts()
	if diff := cmp.Diff([]contract.Forecast{all, first, third, summons}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{contract.Supervisor, contract.Supervisor, contract.Supervisor, "orch-1"}, about); diff != "" {
		t.Error(diff)
	}
}

// TestNothingIsInvented: without earlier runs the plan has no price, and that is said; nobody says it where nobody has
// looked, as in a rehearsal.
func TestNothingIsInvented(t *testing.T) {
	for said, expected := range map[int]map[string]contract.Forecast{0: nil, 1: {}} {
		p := begin(t, func(o *runconfig.Options) { o.Expected = expected })
		p.call("arbiter", "set_plan", `{"steps":[{"text":"spin"}]}`)
		p.spawn("spin")
		if got, _ := p.forecasts(); len(got) != said || said == 1 && got[0] != (contract.Forecast{Unknown: 1}) {
			t.Errorf("told %+v", got)
		}
		var replayed runconfig.Options
		raw, err := json.Marshal(runconfig.Options{Expected: expected})
		if err == nil {
			err = json.Unmarshal(raw, &replayed)
		}
		if err != nil || (replayed.Expected == nil) != (expected == nil) {
			t.Errorf("a replay of the journal tells something else: %s %v", raw, err)
		}
	}
}
