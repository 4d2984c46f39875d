package decider

import (
	"fmt"
)

// try renders a template on both samples. An empty result for one sample is allowed, because the template may
// not be meant for such a task. An empty result for both is a mistake, such as a file that is still empty.
func (s *PromptSet) try(name string) error {
	made := map[string]int{}
	for _, in := range []SelectAgentInput{begins(), sampleInput()} {
		for part, data := range s.parts(name, in) {
			text, err := s.execute(name, part, data)
			if err != nil {
				return err
			}
			made[part] += len(text)
		}
	}
	for part, n := range made {
		if n == 0 && part == name {
			return fmt.Errorf("%s renders nothing (remove the file, and the built-in template counts)", name)
		}
		if n == 0 {
			return fmt.Errorf("the block %q of %s renders nothing (remove it, and the built-in one counts)", part, name)
		}
	}
	return nil
}

// parts are the parts of a file to execute, with their data.
func (s *PromptSet) parts(name string, in SelectAgentInput) map[string]any {
	parts := map[string]any{}
	step := in.Plan.Current()
	switch name {
	case selectFile:
		parts[name] = selectData(in)
	case evaluateFile:
		parts[name] = evaluateData{
			Task: in.Task, Plan: in.Plan, LastExecution: executed(), History: in.History, OpenPoints: in.OpenPoints,
			FailedChecks: in.FailedChecks, AvailableAgents: in.AvailableAgents, Constraints: in.Constraints,
		}
	case briefFile:
		parts[name] = briefData{selectData: selectData(in), Step: step, Mode: "developer", Reason: "It is next."}
	case stateFile:
		data := stateData{selectData: selectData(in), Point: PointSelect, Step: step}
		if len(in.History) > 0 {
			data.Last, data.Failures = &in.History[0], in.History
		}
		parts[name] = data
	}
	if s.templates[name].Lookup(system) != nil {
		parts[system] = parts[name]
	}
	return parts
}

// begins is the sample of a task that begins: nothing exists yet.
func begins() SelectAgentInput {
	return SelectAgentInput{
		Task:    "A task.",
		History: []ExecutionSummary{},
		AvailableAgents: []AgentDescription{{Name: "developer", DisplayName: "developer",
			WhenToUse: "For changes."}},
		Constraints: DecisionConstraints{MaxIterations: 50, IterationsRemaining: 50, MaxConsecutiveFailures: 3},
	}
}

// sampleInput is the sample of a task in progress: everything exists.
func sampleInput() SelectAgentInput {
	in := begins()
	in.Plan = &DecisionPlan{Steps: []DecisionStep{
		{Index: 1, Description: "One.", Status: "complete", Mode: "developer", AgentUsed: "orch-1"},
		{Index: 2, Description: "Two.", Status: "failed"},
	}, CurrentStepIndex: 1}
	in.History = []ExecutionSummary{executed()}
	in.OpenPoints, in.FailedChecks = openPromptPoints(), failedChecks()
	in.LastError = &ErrorContext{
		Agent: "developer", Tool: "Bash", PlanStep: 2, Attempted: "Bash", Message: "exit status 1",
		Category:        ToolFailure,
		RecoveryOptions: RecoveryOptions(DecisionFailure{Category: ToolFailure}),
		Timestamp:       "2026-01-01T00:00:00.000Z",
		Context: ErrorSurround{FilesAccessed: []string{"a.go"}, CommandExecuted: "make", InputSize: 4,
			OutputSize: 10},
	}
	in.AvailableAgents[0].Tools = ToolLists{Allowed: []string{"Read"}, Blocked: []string{"Write"}}
	in.AvailableAgents[0].RecentPerformance = &DecisionPerformance{LastFailure: "2026-01-01T00:00:00.000Z"}
	return in
}

func executed() ExecutionSummary {
	return ExecutionSummary{
		Agent: "developer", Iteration: 1, Status: StatusFailure, DurationMS: 1000,
		Output: &DecisionOutput{Summary: "Tried.", Full: "Tried.", FilesModified: []string{"a.go"}},
		Error: &ErrorSummary{Message: "exit status 1", Category: ToolFailure, Step: 2, Tool: "Bash",
			RecoveryOptions: []string{"retry: again"}},
		Tokens: &Tokens{Input: 2, Output: 1, Total: 3},
		Document: &DecisionDocument{
			Accomplished: []string{"One."}, Remaining: []string{"Two."}, OpenQuestions: []string{"Which?"},
			KeyContext: "Here.", Choices: []string{"This"}, Constraints: []string{"Small"}, Files: []string{"a.go"},
			Claims: []DecisionClaim{{Claim: "It works.", Proof: "refuted"}},
			Checks: []DecisionCheck{{Command: "make", Expect: "ok", Result: "failed", Why: "exit code 1, expected 0",
				Output: "no rule"}},
		},
		StartedAt: "2026-01-01T00:00:00.000Z", CompletedAt: "2026-01-01T00:00:01.000Z",
	}
}

func openPromptPoints() []OpenPoint {
	return []OpenPoint{{Agent: "tester", Iteration: 1, Remaining: []string{"Two."},
		OpenQuestions: []string{"Which?"}, Since: []string{"developer"}}}
}

func failedChecks() []DecisionCheck {
	return []DecisionCheck{{Agent: "developer", Command: "make", Expect: "ok", Result: "failed",
		Why: "exit code 1, expected 0", Output: "no rule"}}
}
