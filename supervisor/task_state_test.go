package supervisor

import (
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
)

var now = time.Unix(1_800_000_000, 0)

func worker(id, mode string) *Agent {
	return &Agent{
		AgentIdentity: AgentIdentity{AgentRef: bridge.AgentRef{ID: id, Generation: 1},
			Role: RoleOrchestrator, Mode: mode},
		AgentProcess: AgentProcess{Status: AgentReady},
		AgentWork:    AgentWork{Standing: AgentWorking},
	}
}

func plan(steps ...contract.Step) TaskState { return TaskState{Plan: steps} }

// TestPlanIsCopied: a change of the plan is not visible in the earlier copy.
func TestPlanIsCopied(t *testing.T) {
	before := plan(contract.Step{Text: "one", Status: contract.StepPending})
	after := before
	if !after.Follow("orch-1", []bridge.Task{{Text: "1. ONE", Status: "in_progress"}, {Text: "mine", Status: "odd"}}) {
		t.Error("the list moves the plan")
	}
	if after.Plan[0].Status != contract.StepActive || after.Plan[0].Agent != "orch-1" || len(after.AgentTasks) != 1 {
		t.Errorf("after: %+v", after)
	}
	if before.Plan[0].Status != contract.StepPending || len(before.AgentTasks) != 0 {
		t.Errorf("before: %+v", before)
	}
	if !after.End(0, "orch-1", contract.StepDone) || after.End(0, "orch-1", contract.StepFailed) {
		t.Error("a step ends once")
	}
	if after.Follow("orch-1", []bridge.Task{{Text: "one", Status: "in_progress"}}) {
		t.Error("a list does not bring a finished step back")
	}
	after.DropTasks("orch-1")
	if len(after.AgentTasks) != 0 {
		t.Errorf("%+v", after.AgentTasks)
	}
}

// TestExecutions: how each execution ends, and how that changes the counters.
func TestExecutions(t *testing.T) {
	var s TaskState
	a := worker("orch-1", "tester")
	s.BeginWork(a, now)
	Worked(a, bridge.Turn{Usage: bridge.Usage{Input: 10, Output: 5}, Files: []string{"a.go", "a.go"}, Tools: 1})
	if w := a.Work; w.Tokens.Total != 15 || len(w.Files) != 1 {
		t.Fatalf("%+v", w)
	}
	s.Fail(a, &decider.DecisionFailure{Category: decider.TimeoutError}, decider.StatusFailure, now)
	s.Fail(nil, nil, decider.StatusFailure, now)
	if s.Failures != 2 || s.TotalFailures != 2 || a.Work != nil ||
		s.History.Last(1)[0].Status != decider.StatusTimeout {
		t.Fatalf("%+v", s)
	}
	s.CompleteWork(a, "it is done", now)
	s.Succeed(a, now.Add(time.Second))
	if s.Failures != 0 || s.TotalFailures != 2 || s.LastError != nil || s.History.Last(1)[0].Output != "it is done" {
		t.Errorf("%+v", s)
	}
	s.BeginWork(a, now)
	s.Abandon(a, now)
	if last := s.History.Last(1)[0]; last.Status != decider.StatusCancelled || s.History.Len() != 3 {
		t.Errorf("%+v", last)
	}
	if s.Begin(); s.History.Len() != 0 || s.TotalFailures != 0 {
		t.Errorf("another task begins with %+v", s)
	}
}

// TestAgentFailure: what deciders receive about an agent that failed.
func TestAgentFailure(t *testing.T) {
	s := plan(contract.Step{Text: "one", Status: contract.StepPending})
	a := worker("orch-1", "")
	a.Brief = "first line\nsecond"
	r := &Roster{Agents: []*Agent{a}}
	f := s.AgentFailure(r, "orch-1", bridge.CatOverloaded, "529", now)
	if f.Agent != AnyMode || f.Step != 1 || f.Attempted != "first line" || f.Category != decider.ProviderError ||
		!f.Transient {
		t.Errorf("%+v", f)
	}
	if f := s.AgentFailure(r, "gone", bridge.CatCrash, "signal: killed", now); f.Step != 0 || f.Transient ||
		f.Category != decider.AgentError {
		t.Errorf("%+v", f)
	}
}
