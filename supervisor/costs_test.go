package supervisor

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// twoTurns is a run with two working Orchestrators, whose turns have cost one and two dollars.
func twoTurns(o runconfig.Options) *step {
	st := readyRun(o)
	for _, usd := range []float64{1, 2} {
		a := addOrchestrator(st)
		a.Turn, a.Live.CostUSD = []string{"m"}, usd
	}
	return st
}

// TestLimitSpent: a limit that is reached holds messages back until it is raised.
func TestLimitSpent(t *testing.T) {
	st := twoTurns(runconfig.Options{MaxCostUSD: 2.5})
	if !st.budgetHolds() || st.NoNewSubagent() == "" || !strings.Contains(st.LimitText(), ChooseRaise) {
		t.Errorf("holds %v, subagents: %q, asks %q", st.budgetHolds(), st.NoNewSubagent(), st.LimitText())
	}
	if raised := st.raiseLimits(); st.budgetHolds() || !strings.HasPrefix(raised, "--max-cost $") {
		t.Errorf("raised %q, holds %v", raised, st.budgetHolds())
	}
}
