package supervisor

// This part of the package defines the tools that the agents of a run call: their names, schemas and inputs.
//
// tools.go carries out calls, and rights.go decides who may make them.

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// Inputs of Arbiter's own tools. The models see them as flat JSON Schemas.
type (
	SpawnInput struct {
		Prompt      string  `json:"prompt" jsonschema:"the complete brief: goal and why; paths and what exists; scope and what to leave alone; constraints word for word; done when (commands and what they must show). The Orchestrator does not see what the human wrote, so repeat what concerns it."`
		Mode        string  `json:"mode,omitempty" jsonschema:"the role: instructions, tools, model and effort of that mode; leave out for general work"`
		SuccessorOf string  `json:"successor_of,omitempty" jsonschema:"after a handoff: the id of the Orchestrator that handed off; its document is appended to the brief. If left out: the oldest document that has no successor yet. none: it continues nobody's work."`
		Isolated    bool    `json:"isolated,omitempty" jsonschema:"true: a Git worktree and a branch of its own, merged when it reports done. Use it when another Orchestrator works at the same time. Needs a Git repository with a commit."`
		FuseUSD     float64 `json:"fuse_usd,omitempty" jsonschema:"what it may cost in US dollars: at 80 % it must hand off, at 100 % it is parked and you are asked. If left out: what the human has set, or a quarter of what is left of the run's limit. A successor continues on the rest of its predecessor's fuse unless you give it another."`
		Make        string  `json:"make,omitempty" jsonschema:"only in a run with makes: the make of agent, such as claude; by default the step's or the mode's"`
		Host        string  `json:"host,omitempty" jsonschema:"only in a run with hosts: the host or pool where it lives, such as here; by default the one with the most free slots. On another host it has a directory of its own."`
	}
	ReleaseInput struct {
		ID     string `json:"id" jsonschema:"the id of the Orchestrator, such as orch-1, or all"`
		Reason string `json:"reason" jsonschema:"why you no longer need it"`
	}
	SetPlanInput struct {
		Steps []PlanStep `json:"steps" jsonschema:"the steps in order"`
	}
	PlanStep struct {
		Text   string `json:"text" jsonschema:"what is done in this step, and the command that proves it"`
		Status string `json:"status,omitempty" jsonschema:"pending (default), active, done, failed or skipped"`
		Mode   string `json:"mode,omitempty" jsonschema:"the mode that the step is for, if any"`
		Make   string `json:"make,omitempty" jsonschema:"only in a run with makes: the make that the step is for, if any"`
	}
	StatusInput   struct{}
	ProgressInput struct {
		Message string `json:"message" jsonschema:"what you found or reached, in one or two sentences"`
	}
	UpdatePlanInput struct {
		Index  int    `json:"index" jsonschema:"number of the step, counted from 1"`
		Status string `json:"status" jsonschema:"pending, active, done, failed or skipped"`
	}
	AskInput struct {
		Question string `json:"question" jsonschema:"one question that your predecessor can answer and its document does not"`
	}
)

func schemaOf[T any]() json.RawMessage {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(err) // our own types; a test builds them all
	}
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return raw
}

// ArbiterTools and Orchestrator return the tools of the roles, which are offered over MCP under the server name
// `arbiter`, always loaded. They are built on first use: a hook's process runs for milliseconds, and needs
// none.
var ArbiterTools = sync.OnceValue(func() []bridge.ToolSpec {
	return []bridge.ToolSpec{
		{Name: "spawn_orchestrator", InputSchema: schemaOf[SpawnInput](),
			Description: "Start an Orchestrator: a new Claude Code session that works on its own. Returns its id (orch-2) at " +
				"once; it introduces itself in a later message. Call this several times in one turn only for work on different " +
				"files. Then end the turn, with CONTINUE or a report to the human. It costs as much as a whole session, and " +
				"fails at the limits that status shows."},
		{Name: "release_orchestrator", InputSchema: schemaOf[ReleaseInput](),
			Description: "End Orchestrators that you no longer need. Work that was not reported stays in the files; their " +
				"contexts are lost. Not needed before COMPLETE."},
		{Name: "set_plan", InputSchema: schemaOf[SetPlanInput](),
			Description: "Replace the plan. The human and the Orchestrators see it; Orchestrators mark steps in it by " +
				"number. Keep the status of steps that are done."},
		{Name: "set_acceptance", InputSchema: schemaOf[AcceptanceInput](),
			Description: "Set your acceptance criteria; they replace your earlier ones, and the human's always stay. Each " +
				"says what must hold for the user, with a command that exits 0 only if it holds. COMPLETE takes effect when the " +
				"supervisor has run all commands on the final files and all passed. Call this before work begins."},
		{Name: "status", InputSchema: schemaOf[StatusInput](),
			Description: "Who lives, who works, how full each context is, the plan, the acceptance criteria, cost and limits."},
	}
})

var OrchestratorTools = sync.OnceValue(func() []bridge.ToolSpec {
	return []bridge.ToolSpec{
		{Name: "report_progress", InputSchema: schemaOf[ProgressInput](),
			Description: "Note a finding in the work log without ending your turn. The Arbiter reads it later, with another " +
				"message. Use it for what changes the plan, not for each step."},
		{Name: "update_plan", InputSchema: schemaOf[UpdatePlanInput](),
			Description: "Mark a step of the plan by its number. Returns the plan. Does not end your turn."},
		{Name: "ask_predecessor", InputSchema: schemaOf[AskInput](), TimeoutMS: int(AskTimeout / time.Millisecond),
			Description: "Ask your predecessor one question that its document does not answer. Waits up to three minutes. " +
				"It is gone once you report anything but a question."},
	}
})

// toolStatuses are the possible statuses of a step of the plan.
var toolStatuses = []string{contract.StepPending, contract.StepActive, contract.StepDone, contract.StepFailed,
	contract.StepSkipped}

type (
	AcceptanceInput struct {
		Criteria []CriterionInput `json:"criteria" jsonschema:"your criteria in order; leave out the human's"`
	}
	CriterionInput struct {
		Text    string `json:"text" jsonschema:"what must hold, as the user meets it"`
		Command string `json:"command,omitempty" jsonschema:"a shell command, run from the top of the workspace, that exits 0 only if it holds"`
	}
)

// AskTimeout bounds a side question: the predecessor's model has to answer.
const AskTimeout = 3 * time.Minute

// ToolRun decodes the input of a tool and runs the tool.
func ToolRun[T any](raw json.RawMessage, run func(T) (string, error)) (string, error) {
	var in T
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &in); err != nil {
			return "", fmt.Errorf("input does not fit the schema: %w", err)
		}
	}
	return run(in)
}

// Given returns the criteria as package acceptance expects them.
func (in AcceptanceInput) Given() []Criterion {
	list := make([]Criterion, 0, len(in.Criteria))
	for _, g := range in.Criteria {
		list = append(list, Criterion{Text: g.Text, Command: g.Command})
	}
	return list
}

// Plan returns the steps of a new plan. The error is for the model that set it.
func (in SetPlanInput) Plan(o *runconfig.Options) ([]contract.Step, error) {
	steps := make([]contract.Step, 0, len(in.Steps))
	for i, s := range in.Steps {
		if strings.TrimSpace(s.Text) == "" {
			return nil, fmt.Errorf("step %d has no text", i+1)
		}
		status := cmp.Or(s.Status, contract.StepPending)
		if !slices.Contains(toolStatuses, status) {
			return nil, fmt.Errorf("step %d: no status %q; use %s", i+1, status, strings.Join(toolStatuses, ", "))
		}
		steps = append(steps, contract.Step{Text: s.Text, Status: status, Mode: s.Mode, Make: s.Make})
	}
	return steps, planProblem(steps, o)
}

// planProblem says which step of a new plan nobody can do.
func planProblem(steps []contract.Step, o *runconfig.Options) error {
	for i, s := range steps {
		if _, ok := o.ModeNamed(s.Mode); s.Mode != "" && !ok {
			return fmt.Errorf("step %d: no mode %q; modes: %s", i+1, s.Mode, strings.Join(o.ModeNames(), ", "))
		}
		if problem := o.MakeProblem(s.Make); problem != "" {
			return fmt.Errorf("step %d: %s", i+1, problem)
		}
	}
	return nil
}

// Marked returns a plan with the step that an agent marks. The error is for the model that marks it.
func (in UpdatePlanInput) Marked(plan []contract.Step, agent string) ([]contract.Step, error) {
	if len(plan) == 0 {
		return nil, errors.New("there is no plan in this run: go on without marking steps")
	}
	if in.Index < 1 || in.Index > len(plan) {
		return nil, fmt.Errorf("the plan has steps 1 to %d:\n%s", len(plan), PlanText(plan))
	}
	if !slices.Contains(toolStatuses, in.Status) {
		return nil, fmt.Errorf("no status %q; use %s", in.Status, strings.Join(toolStatuses, ", "))
	}
	plan = slices.Clone(plan)
	plan[in.Index-1].Status, plan[in.Index-1].Agent = in.Status, agent
	return plan, nil
}
