package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// listed is a play of an Orchestrator that keeps its own task list, of which one entry is a step of the plan.
const listed = `name: listed
title: A list of its own
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use:
          - {tool: mcp__arbiter__set_plan, input: {steps: [{text: Spin the thread}, {text: Weave the cloth}]}}
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Spin it.}}
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
      - expect: It is spun
        verdict: {decision: COMPLETE, message: It is done., summary: spun, reason: r}
    otherwise: {verdict: {decision: CONTINUE, message: Patience., reason: r}}
  - name: worker
    match: {role: orchestrator}
    steps:
CALLS
      - verdict: {expects_response: true, kind: done, message: It is spun., handoff: {accomplished: [spun], remaining: [], key_context: none}}
`

// TestListsOfAnAgentMoveThePlan: when an Orchestrator updates an entry with Claude's own task tools, the plan's
// step with the same text follows. Its list is shown beside the plan.
func TestListsOfAnAgentMoveThePlan(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		env   []string
		calls []string
	}{
		{"todos", []string{"CLAUDE_CODE_ENABLE_TODO_TOOLS=1", "CLAUDE_CODE_ENABLE_TASKS=0"}, []string{
			`{tool: TodoWrite, input: {todos: [{content: 1. spin the thread, status: in_progress, activeForm: Spinning}, {content: Card, status: pending, activeForm: Carding}]}}`,
			`{tool: TodoWrite, input: {todos: [{content: 1. spin the thread, status: completed, activeForm: Spinning}, {content: Card, status: completed, activeForm: Carding}]}}`,
		}},
		{"tasks", []string{"CLAUDE_CODE_ENABLE_TODO_TOOLS=1"}, []string{
			`{tool: TaskCreate, input: {subject: Spin the thread, description: d}}`,
			`{tool: TaskCreate, input: {subject: Card, description: d}}`,
			`{tool: TaskUpdate, input: {taskId: "1", status: in_progress}}`,
			`{tool: TaskUpdate, input: {taskId: "2", status: completed}}`,
			`{tool: TaskUpdate, input: {taskId: "1", status: completed}}`,
		}},
	} {
		for _, p := range players(t) {
			t.Run(c.name+"/"+p.name, func(t *testing.T) {
				p.inside(t)
				p.long(t) // the driver's TestLiveTodos and TestLiveTasks cover the real CLI
				t.Parallel()
				var calls []string
				for _, call := range c.calls {
					calls = append(calls, "      - use: ["+call+"]")
				}
				args := []string{"--task", "Spin"}
				for _, e := range c.env { // the environment of a rehearsal is replaced
					args = append(args, "--env", e)
				}
				s, _ := hired(t, p, strings.Replace(listed, "CALLS", strings.Join(calls, "\n"), 1), nil, args...)
				await[contract.Result](s, "the result", nil)
				s.finish(contract.ExitComplete)
				var steps []string
				own := map[string]string{}
				for _, b := range collect[contract.Plan](s) {
					for _, task := range b.Tasks {
						if task.Agent != "orch-1" {
							t.Errorf("a list of %s: %+v", task.Agent, task)
						}
						for _, item := range task.Items {
							own[item.Text] += item.Status + " "
						}
					}
					if len(b.Steps) == 2 && (len(steps) == 0 || steps[len(steps)-1] != b.Steps[0].Status) {
						steps = append(steps, b.Steps[0].Status)
					}
					if len(b.Steps) == 2 && b.Steps[1].Status != contract.StepPending {
						t.Errorf("another step is moved: %+v", b.Steps)
					}
				}
				if diff := cmp.Diff([]string{"pending", "active", "done"}, steps); diff != "" {
					t.Errorf("the step went (-want +got):\n%s\n%s", diff, s.dump())
				}
				if !strings.HasSuffix(own["Card"], "done ") {
					t.Errorf("what is shown beside the plan: %v", own)
				}
			})
		}
	}
}
