package supervisor

import (
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// planned is a run whose Orchestrator works on the first of two steps.
func planned(t *testing.T) *step {
	t.Helper()
	st := readyRun(runconfig.Options{})
	a := addOrchestrator(st)
	st.setPlan([]contract.Step{{Text: "parse", Status: contract.StepPending}, {Text: "print", Status: contract.StepPending}})
	st.Task.BeginWork(a, st.at)
	st.assignPlanStep(&verdict.Arbiter{Decision: verdict.AddressOrchestrator, To: a.ID}, true)
	if st.Task.Plan[0].Agent != a.ID {
		t.Fatalf("nobody works on the first step: %+v", st.Task.Plan)
	}
	return st
}

// TestSet: a new plan goes to the reminder of every agent with a process, and to frontends.
func TestSet(t *testing.T) {
	st := readyRun(runconfig.Options{})
	addOrchestrator(st).Status = AgentDown
	st.setPlan([]contract.Step{{Text: "parse"}})
	reminded := did[input.Configure](st)
	if len(emitted[contract.Plan](st)) != 1 || len(reminded) != 1 || reminded[0].Params.ID != contract.Arbiter {
		t.Errorf("reminded %+v, told %+v", reminded, emitted[contract.Plan](st))
	}
}

// TestSkip: an agent whose step is skipped is notified, and so is the Arbiter.
func TestSkip(t *testing.T) {
	st := planned(t)
	st.skipPlanStep(0)
	to := map[string]bool{}
	for _, m := range st.Conversation.Mail {
		to[m.To] = true
	}
	if st.Task.Plan[0].Status != contract.StepSkipped || !to["orch-1"] || !to[contract.Arbiter] {
		t.Errorf("the step is %s, mail goes to %v", st.Task.Plan[0].Status, to)
	}
}

// TestSettle: the step of an execution whose document is delivered is done.
func TestSettle(t *testing.T) {
	st := planned(t)
	a := st.Edit("orch-1")
	st.Task.CompleteWork(a, "it parses", st.at)
	st.settlePlanStep(Handover{Agent: a.AgentRef, Kind: KindDone, Document: &verdict.Document{}})
	if st.Task.Plan[0].Status != contract.StepDone {
		t.Errorf("the step is %s", st.Task.Plan[0].Status)
	}
}

// TestStumbled: an execution fails with the last tool of its agent; a human is asked if the agent gave no
// verdict.
func TestStumbled(t *testing.T) {
	st := planned(t)
	if st.stumbled(st.Edit("orch-1"), "which way?") {
		t.Error("a question is taken for a failure")
	}
	a := st.Edit("orch-1")
	w := *a.Work
	w.Failed = &bridge.FailedTool{Tool: "Bash", Message: "exit 1"}
	a.Work, a.Fallbacks = &w, 1
	if !st.stumbled(a, "it fails") || st.Task.History.Len() != 1 || st.Task.Failures != 1 {
		t.Errorf("%d executions ended, %d failed", st.Task.History.Len(), st.Task.Failures)
	}
	if e := emitted[contract.Error](st); len(e) != 1 || e[0].Category != bridge.CatTool {
		t.Errorf("the human is given %+v", e)
	}
}
