package decider_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
)

var update = flag.Bool("update", false, "write the golden files anew")

// began is when the task of SPEC-0006's examples began.
var began = time.Date(2026, 1, 23, 9, 0, 0, 0, time.UTC)

// TestSituationsOfTheSpecification builds the inputs of SPEC-0006's three examples, and their prompts. Where
// the examples contradict the rules, the rules apply.
func TestSituationsOfTheSpecification(t *testing.T) {
	first, second, third := planning(), failing(), evaluating()
	set := testkit.Must(decider.NewSet(nil))(t)
	for _, c := range []struct {
		name  string
		input decider.Input
	}{
		{"1-planning", decider.SelectInput(first)}, {"2-error", decider.SelectInput(second)},
		{"3-evaluation", decider.EvaluateInput(third)},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := testkit.Must(json.MarshalIndent(c.input, "", "  "))(t)
			system, prompt, err := set.Prompt(c.input)
			testkit.OK(t, err)
			golden(t, c.name, "input.json", string(text)+"\n")
			golden(t, c.name, "system.md", system)
			golden(t, c.name, "prompt.md", prompt)
		})
	}
	for name, r := range map[string]decider.DecisionRecord{"1-planning": first, "2-error": second} {
		mode := map[string]string{"1-planning": "planner", "2-error": "developer"}[name]
		brief := testkit.Must(set.Brief(decider.BriefPrompt{Input: decider.SelectInput(r), Mode: mode, Reason: "It is next.",
			Message: "Find out why first."}))(t)
		golden(t, name, "brief.md", brief)
		state := testkit.Must(set.State(decider.StatePrompt{Point: decider.PointSelect, Input: decider.SelectInput(r)}))(t)
		golden(t, name, "state.md", state)
	}
}

func golden(t *testing.T, situation, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "spec6", situation, name)
	if *update {
		testkit.OK(t, os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(got), 0o644))
	}
	testkit.Same(t, file+" (-update writes it anew)", string(testkit.Must(os.ReadFile(file))(t)), got)
}

// planning is example 1: the first iteration, no plan, nothing done.
func planning() decider.DecisionRecord {
	return decider.DecisionRecord{
		Task: "Implement user authentication",
		Agents: []decider.AgentDescription{
			{Name: "planner", DisplayName: "Planning Agent",
				WhenToUse: "Use this agent when starting a new task that needs analysis...",
				Tools:     decider.ToolLists{Blocked: []string{"Edit", "Write"}}},
			{Name: "developer", DisplayName: "Development Agent",
				WhenToUse: "Use when code modifications are required..."},
		},
		DecisionConstraints: decider.DecisionConstraints{CurrentIteration: 1, MaxIterations: 50,
			MaxConsecutiveFailures: 3},
	}
}

// failing is example 2: the developer failed at step 2 of five.
func failing() decider.DecisionRecord {
	r := planning()
	r.Steps = []decider.DecisionStep{
		{Description: "Create middleware", Status: "done", AgentUsed: "orch-2"},
		{Description: "Login endpoint", Status: "failed", Mode: "developer", AgentUsed: "orch-3"},
		{Description: "Logout endpoint", Mode: "developer"},
		{Description: "Tests of both endpoints"},
		{Description: "Documentation"},
	}
	r.Error = &decider.DecisionFailure{
		Agent: "developer", Tool: "Bash", Step: 2, Attempted: "npm install jsonwebtoken",
		Command: "npm install jsonwebtoken", Message: "Command failed with exit code 1", Category: decider.ToolFailure,
		At: began.Add(170 * time.Second), Files: []string{"package.json"}, InputSize: 24, OutputSize: 310,
	}
	r.History = r.History.
		Add(executed("planner", 1, 0, 45*time.Second, "Analysis complete. Created 5-step plan...")).
		Add(executed("developer", 2, 50*time.Second, 90*time.Second, "Middleware created successfully...",
			"src/auth/middleware.ts"))
	broke := executed("developer", 3, 145*time.Second, 25*time.Second, "Failed at import statement...")
	broke.Status, broke.Error = decider.StatusFailure, r.Error
	r.History = r.History.Add(broke)
	r.CurrentIteration, r.ConsecutiveFailures, r.TotalFailures = 4, 1, 1
	r.Elapsed, r.EstimatedTokensUsed, r.CostUSD = 175*time.Second, 9990, 0.21
	return r
}

// evaluating is example 3: the developer has completed step 2.
func evaluating() decider.DecisionRecord {
	r := failing()
	r.Steps[1].Status, r.Error = "done", nil
	r.History = r.History.Add(executed("developer", 4, 180*time.Second, 120*time.Second,
		"Login endpoint implemented. Created src/auth/login.ts with POST /login...", "src/auth/login.ts"))
	r.CurrentIteration, r.ConsecutiveFailures = 5, 0
	r.Elapsed, r.EstimatedTokensUsed, r.CostUSD = 302*time.Second, 13320, 0.34
	r.Timeout = 10 * time.Minute
	return r
}

func executed(agent string, iteration int, after, took time.Duration, output string,
	files ...string) decider.DecisionExecution {
	return decider.DecisionExecution{
		Agent: agent, Iteration: iteration, Status: decider.StatusSuccess, Output: output, Files: files,
		StartedAt: began.Add(after), CompletedAt: began.Add(after + took),
		Tokens: decider.Tokens{Input: 2100, Output: 1230, Total: 3330},
	}
}
