package supervisor

import (
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// planned is a run whose Orchestrator works on the first of two steps.
func planned(t *testing.T) *step {
	t.Helper()
	c := readyRun(runconfig.Options{})
	a := addOrchestrator(c)
	c.setPlan([]contract.Step{{Text: "parse", Status: contract.StepPending}, {Text: "print", Status: contract.StepPending}})
	c.Task.BeginWork(a, c.at)
	c.assignPlanStep(&verdict.Arbiter{Decision: verdict.AddressOrchestrator, To: a.ID}, true)
	if c.Task.Plan[0].Agent != a.ID {
		t.Fatalf("nobody works on the first step: %+v", c.Task.Plan)
	}
	return c
}

// TestSet: a new plan goes to the reminder of every agent with a process, and to frontends.
func TestSet(t *testing.T) {
	c := readyRun(runconfig.Options{})
	addOrchestrator(c).Status = AgentDown
	c.setPlan([]contract.Step{{Text: "parse"}})
	reminded := did[effect.Configure](c)
	if len(emitted[contract.Plan](c)) != 1 || len(reminded) != 1 || reminded[0].Params.ID != contract.Arbiter {
		t.Errorf("reminded %+v, told %+v", reminded, emitted[contract.Plan](c))
	}
}

// TestSkip: an agent whose step is skipped is notified, and so is the Arbiter.
func TestSkip(t *testing.T) {
	c := planned(t)
	c.skipPlanStep(0)
	to := map[string]bool{}
	for _, m := range c.Conversation.Mail {
		to[m.To] = true
	}
	if c.Task.Plan[0].Status != contract.StepSkipped || !to["orch-1"] || !to[contract.Arbiter] {
		t.Errorf("the step is %s, mail goes to %v", c.Task.Plan[0].Status, to)
	}
}

// TestSettle: the step of an execution whose document is delivered is done.
func TestSettle(t *testing.T) {
	c := planned(t)
	a := c.Edit("orch-1")
	c.Task.CompleteWork(a, "it parses", c.at)
	c.settlePlanStep(Handover{Agent: a.AgentRef, Kind: KindDone, Document: &verdict.Document{}})
	if c.Task.Plan[0].Status != contract.StepDone {
		t.Errorf("the step is %s", c.Task.Plan[0].Status)
	}
}

// TestStumbled: an execution fails with the last tool of its agent; a human is asked if the agent gave no
// verdict.
func TestStumbled(t *testing.T) {
	c := planned(t)
	if c.stumbled(c.Edit("orch-1"), "which way?") {
		t.Error("a question is taken for a failure")
	}
	a := c.Edit("orch-1")
	w := *a.Work
	w.Failed = &bridge.FailedTool{Tool: "Bash", Message: "exit 1"}
	a.Work, a.Fallbacks = &w, 1
	if !c.stumbled(a, "it fails") || c.Task.History.Len() != 1 || c.Task.Failures != 1 {
		t.Errorf("%d executions ended, %d failed", c.Task.History.Len(), c.Task.Failures)
	}
	if e := emitted[contract.Error](c); len(e) != 1 || e[0].Category != bridge.CatTool {
		t.Errorf("the human is given %+v", e)
	}
}
