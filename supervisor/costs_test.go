package supervisor

import (
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
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

// TestChargeTurn: the cost of a running turn counts until it ends, and once after that.
func TestChargeTurn(t *testing.T) {
	st := twoTurns(runconfig.Options{})
	if got := st.Spent(); got != 3 {
		t.Errorf("spent $%g while turns run, want 3", got)
	}
	st.chargeTurn(st.Edit("orch-1"), bridge.Turn{CostUSD: 1.5})
	st.chargeLost(st.Edit("orch-2"))
	if got := st.Spent(); got != 3.5 || st.Budget.CostUSD != 3.5 {
		t.Errorf("spent $%g, of turns that ended $%g, want 3.5", got, st.Budget.CostUSD)
	}
}

// TestLevelsOfAnAgent: a level is reported once, and the Arbiter reads about the first.
func TestLevelsOfAnAgent(t *testing.T) {
	st := twoTurns(runconfig.Options{MaxCostPerAgent: 2.2})
	for range 2 {
		st.reportCostLevels(st.Edit("orch-2"))
	}
	var levels []string
	for _, b := range emitted[contract.Budget](st) {
		levels = append(levels, b.Scope+" "+b.Level)
	}
	log := st.Conversation.WorkLog
	if !slices.Equal(levels, []string{"agent warn"}) || len(log) != 1 ||
		!strings.Contains(log[0].Text, "has cost $2.0000") {
		t.Errorf("told %v, logged %+v", levels, log)
	}
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

// TestStopTurns: of the turns for which too little is left, the one that has cost most continues.
func TestStopTurns(t *testing.T) {
	st := twoTurns(runconfig.Options{MaxCostUSD: 3.1})
	st.Budget.StepUSD = 1
	st.stopTurns()
	first, _ := st.Agent("orch-1")
	second, _ := st.Agent("orch-2")
	if !first.Stopped || second.Stopped {
		t.Errorf("stopped: orch-1 %v, orch-2 %v", first.Stopped, second.Stopped)
	}
}

// TestCountTurn: after the last turn that its mode allows, an agent has to hand off.
func TestCountTurn(t *testing.T) {
	st := twoTurns(runconfig.Options{MaxCostPerAgent: 1})
	st.Edit("orch-1").CostUSD = 1
	st.countTurn(st.Edit("orch-1"))
	st.countTurn(st.Edit("orch-2"))
	first, _ := st.Agent("orch-1")
	second, _ := st.Agent("orch-2")
	if first.ReachedLimit == "" || second.ReachedLimit != "" || first.Turns != 1 {
		t.Errorf("limits %q and %q after %d turns", first.ReachedLimit, second.ReachedLimit, first.Turns)
	}
}
