package supervisor

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// workingRuleCheck is a run with a task, and an Orchestrator that works on it.
func workingRuleCheck() (*step, *Agent) {
	st := readyRun(runconfig.Options{})
	st.Task.Text, st.Task.Phase = "build it", machine.Executing
	a := addOrchestrator(st)
	return st, a
}

func TestRulingIsChecked(t *testing.T) {
	idle := func(a *Agent) { a.Status, a.Standing = AgentReady, AgentFinished }
	gone := func(a *Agent) { a.Status, a.Dismissed = AgentEnded, true }
	for name, c := range map[string]struct {
		decision, to string
		change       func(*Agent)
		want         string // empty: it can be carried out
	}{
		"an instruction":       {decision: verdict.AddressOrchestrator, to: "orch-1"},
		"to nobody":            {decision: verdict.Retry, to: "orch-7", want: "no Orchestrator"},
		"to one that is gone":  {decision: verdict.Retry, to: "orch-1", change: gone, want: "is gone"},
		"waiting for work":     {decision: verdict.Continue},
		"waiting for nobody":   {decision: verdict.Continue, change: idle, want: "none is at work"},
		"complete during work": {decision: verdict.Complete, want: "still work"},
		"complete":             {decision: verdict.Complete, change: idle},
		"a needless hand-off":  {decision: verdict.Handoff, want: "only after a message of kind renewal"},
	} {
		st, a := workingRuleCheck()
		if c.change != nil {
			c.change(a)
		}
		got, unknownMode := st.rulingProblem(verdict.Arbiter{Decision: c.decision, To: c.to})
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || unknownMode {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestUnknownMode: an unknown mode is reported separately, and after other problems.
func TestUnknownMode(t *testing.T) {
	st, _ := workingRuleCheck()
	ruling := verdict.Arbiter{Decision: verdict.SelectMode, Mode: "nobody"}
	if problem, unknown := st.rulingProblem(ruling); !unknown || !strings.Contains(problem, `no mode "nobody"`) {
		t.Errorf("%q, unknown %v", problem, unknown)
	}
	st.Task.Text, st.Task.Phase = "", machine.Idle
	st.Edit("orch-1").Status = AgentEnded
	if problem, unknown := st.rulingProblem(ruling); unknown || !strings.Contains(problem, "There is no task") {
		t.Errorf("without a task: %q, unknown %v", problem, unknown)
	}
}
