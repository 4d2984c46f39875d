package supervisor

// This part of the package defines the tools that the agents of a run call: their names, schemas and inputs.
//
// tools.go carries out calls, and rights.go decides who may make them.

import (
	"cmp"
	"encoding/json"
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
		Prompt      string `json:"prompt" jsonschema:"the whole brief: what is wanted, where, constraints, how it will be judged. The Orchestrator knows nothing else."`
		Mode        string `json:"mode,omitempty" jsonschema:"a mode to summon it under; leave out for a general Orchestrator"`
		SuccessorOf string `json:"successor_of,omitempty" jsonschema:"id of the Orchestrator whose hand-off document it continues; by default the one whose document has waited longest"`
		Isolated    bool   `json:"isolated,omitempty" jsonschema:"give it a directory of its own: a Git worktree, merged when it reports done"`
		Host        string `json:"host,omitempty" jsonschema:"the host or pool it is to live on, such as here; by default the one with the most free slots. On another host it has a directory of its own."`
	}
	ReleaseInput struct {
		ID     string `json:"id" jsonschema:"id of the Orchestrator (orch-1), or all"`
		Reason string `json:"reason" jsonschema:"why it is let go"`
	}
	SetPlanInput struct {
		Steps []PlanStep `json:"steps" jsonschema:"the steps in order"`
	}
	PlanStep struct {
		Text   string `json:"text" jsonschema:"what is done in this step"`
		Status string `json:"status,omitempty" jsonschema:"pending (default), active, done, failed or skipped"`
		Mode   string `json:"mode,omitempty" jsonschema:"the mode it is meant for, if one is"`
	}
	StatusInput   struct{}
	ProgressInput struct {
		Message string `json:"message" jsonschema:"what was reached, in a sentence or two"`
	}
	UpdatePlanInput struct {
		Index  int    `json:"index" jsonschema:"number of the step, counted from 1"`
		Status string `json:"status" jsonschema:"pending, active, done, failed or skipped"`
	}
	AskInput struct {
		Question string `json:"question" jsonschema:"what your predecessor must know and the document does not say"`
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
			Description: "Summon an Orchestrator. Returns its id and name at once; it begins by itself. You may call " +
				"this several times in one turn: all of them live and work at once."},
		{Name: "release_orchestrator", InputSchema: schemaOf[ReleaseInput](),
			Description: "End an Orchestrator whose work is over, or all of them."},
		{Name: "set_plan", InputSchema: schemaOf[SetPlanInput](),
			Description: "Set the plan that the human sees. Replaces the earlier one."},
		{Name: "set_acceptance", InputSchema: schemaOf[AcceptanceInput](),
			Description: "Set the acceptance criteria that COMPLETE is judged by: the supervisor runs their commands " +
				"on the final files. You may add criteria, and change or drop your own; those of the human stay as they are."},
		{Name: "status", InputSchema: schemaOf[StatusInput](),
			Description: "Who lives, who works, how full each context is, the plan, cost and limits."},
	}
})

var OrchestratorTools = sync.OnceValue(func() []bridge.ToolSpec {
	return []bridge.ToolSpec{
		{Name: "report_progress", InputSchema: schemaOf[ProgressInput](),
			Description: "Note progress in the work log without ending your turn. The Arbiter reads it with your " +
				"next question or hand-off."},
		{Name: "update_plan", InputSchema: schemaOf[UpdatePlanInput](),
			Description: "Mark a step of the plan."},
		{Name: "ask_predecessor", InputSchema: schemaOf[AskInput](), TimeoutMS: int(AskTimeout / time.Millisecond),
			Description: "Ask the Orchestrator you succeed, while it is still there, what its document does not say."},
	}
})

// toolStatuses are the possible statuses of a step of the plan.
var toolStatuses = []string{contract.StepPending, contract.StepActive, contract.StepDone, contract.StepFailed,
	contract.StepSkipped}

type (
	AcceptanceInput struct {
		Criteria []CriterionInput `json:"criteria" jsonschema:"all criteria in order; repeat each of the human's as it is"`
	}
	CriterionInput struct {
		Text    string `json:"text" jsonschema:"what must hold"`
		Command string `json:"command,omitempty" jsonschema:"a shell command that proves it by exit code 0"`
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
func (in AcceptanceInput) Given() []AcceptanceGiven {
	list := make([]AcceptanceGiven, 0, len(in.Criteria))
	for _, g := range in.Criteria {
		list = append(list, AcceptanceGiven{Text: g.Text, Command: g.Command})
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
		if _, ok := o.ModeNamed(s.Mode); s.Mode != "" && !ok {
			return nil, fmt.Errorf("step %d: no mode %q; modes: %s", i+1, s.Mode, strings.Join(o.ModeNames(), ", "))
		}
		steps = append(steps, contract.Step{Text: s.Text, Status: status, Mode: s.Mode})
	}
	return steps, nil
}

// Marked returns a plan with the step that an agent marks. The error is for the model that marks it.
func (in UpdatePlanInput) Marked(plan []contract.Step, agent string) ([]contract.Step, error) {
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
