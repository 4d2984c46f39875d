package supervisor

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
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/rights"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/task"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// Inputs of arbiter's own tools. The models see them as flat JSON Schemas.
type (
	spawnInput struct {
		Prompt      string `json:"prompt" jsonschema:"the whole brief: what is wanted, where, constraints, how it will be judged. The Orchestrator knows nothing else."`
		Mode        string `json:"mode,omitempty" jsonschema:"a mode to summon it under; leave out for a general Orchestrator"`
		SuccessorOf string `json:"successor_of,omitempty" jsonschema:"id of the Orchestrator whose hand-off document it continues; by default the one whose document has waited longest"`
	}
	releaseInput struct {
		ID     string `json:"id" jsonschema:"id of the Orchestrator (orch-1), or all"`
		Reason string `json:"reason" jsonschema:"why it is let go"`
	}
	setPlanInput struct {
		Steps []planStep `json:"steps" jsonschema:"the steps in order"`
	}
	planStep struct {
		Text   string `json:"text" jsonschema:"what is done in this step"`
		Status string `json:"status,omitempty" jsonschema:"pending (default), active, done, failed or skipped"`
		Mode   string `json:"mode,omitempty" jsonschema:"the mode it is meant for, if one is"`
	}
	statusInput   struct{}
	progressInput struct {
		Message string `json:"message" jsonschema:"what was reached, in a sentence or two"`
	}
	updatePlanInput struct {
		Index  int    `json:"index" jsonschema:"number of the step, counted from 1"`
		Status string `json:"status" jsonschema:"pending, active, done, failed or skipped"`
	}
	askInput struct {
		Question string `json:"question" jsonschema:"what your predecessor must know and the document does not say"`
	}
)

// AskTimeout bounds a side question: the predecessor's model has to answer.
const AskTimeout = 3 * time.Minute

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

// ArbiterTools and orchestratorTools are offered over MCP under the server name
// `arbiter`, always loaded. They are made when they are first needed: a hook's process
// lives for milliseconds, and needs none.
var ArbiterTools = sync.OnceValue(func() []bridge.ToolSpec {
	return []bridge.ToolSpec{
		{Name: "spawn_orchestrator", InputSchema: schemaOf[spawnInput](),
			Description: "Summon an Orchestrator. Returns its id and name at once; it begins by itself. You may call this several times in one turn: all of them live and work at once."},
		{Name: "release_orchestrator", InputSchema: schemaOf[releaseInput](),
			Description: "End an Orchestrator whose work is over, or all of them."},
		{Name: "set_plan", InputSchema: schemaOf[setPlanInput](),
			Description: "Set the plan that the human sees. Replaces the earlier one."},
		{Name: "set_acceptance", InputSchema: schemaOf[acceptanceInput](),
			Description: "Set the acceptance criteria that COMPLETE is judged by: the supervisor runs their commands on the final files. You may add criteria, and change or drop your own; those of the human stay as they are."},
		{Name: "status", InputSchema: schemaOf[statusInput](),
			Description: "Who lives, who works, how full each context is, the plan, cost and limits."},
	}
})

var orchestratorTools = sync.OnceValue(func() []bridge.ToolSpec {
	return []bridge.ToolSpec{
		{Name: "report_progress", InputSchema: schemaOf[progressInput](),
			Description: "Note progress in the work log without ending your turn. The Arbiter reads it with your next question or hand-off."},
		{Name: "update_plan", InputSchema: schemaOf[updatePlanInput](),
			Description: "Mark a step of the plan."},
		{Name: "ask_predecessor", InputSchema: schemaOf[askInput](), TimeoutMS: int(AskTimeout / time.Millisecond),
			Description: "Ask the Orchestrator you succeed, while it is still there, what its document does not say."},
	}
})

var statuses = []string{contract.StepPending, contract.StepActive, contract.StepDone, contract.StepFailed, contract.StepSkipped}

// toolCalled carries out a call and answers it at once.
func (st *step) toolCalled(f input.ToolCalled) {
	a, ok := st.Agent(f.Params.ID)
	if !ok || a.Generation != f.Params.Generation || !a.Alive() {
		st.do(effect.AnswerTool{Call: f.Call, Text: "You are being released.", IsError: true})
		return
	}
	if st.Halted {
		st.do(effect.AnswerTool{Call: f.Call, Text: "The human stopped everything.", IsError: true})
		return
	}
	st.emit(a.ID, contract.ToolCall{Tool: f.Params.Tool, Input: f.Params.Input})
	if f.Params.Tool == "ask_predecessor" && rights.May(partyOf(&a, f.Params.Subagent), rights.Tool(f.Params.Tool)) {
		st.askPredecessor(f, a)
		return
	}
	text, err := st.runTool(a, f.Params)
	if err != nil {
		st.do(effect.AnswerTool{Call: f.Call, Text: err.Error(), IsError: true})
		return
	}
	st.do(effect.AnswerTool{Call: f.Call, Text: text})
}

func (st *step) runTool(a roster.Agent, p bridge.ToolCallParams) (string, error) {
	if !rights.May(partyOf(&a, p.Subagent), rights.Tool(p.Tool)) {
		return "", mayNot(&a, p)
	}
	switch p.Tool {
	case "spawn_orchestrator":
		return with(p.Input, st.toolSpawn)
	case "release_orchestrator":
		return with(p.Input, st.toolRelease)
	case "set_plan":
		return with(p.Input, st.toolSetPlan)
	case "set_acceptance":
		return with(p.Input, st.toolSetAcceptance)
	case "status":
		return st.statusText(), nil
	case "report_progress":
		return with(p.Input, func(in progressInput) (string, error) {
			if strings.TrimSpace(in.Message) == "" {
				return "", fmt.Errorf("message is empty")
			}
			st.log(a.ID, verdict.KindProgress, in.Message)
			return "Noted in the work log. Go on.", nil
		})
	case "update_plan":
		return with(p.Input, func(in updatePlanInput) (string, error) { return st.toolUpdatePlan(a.ID, in) })
	}
	return "", mayNot(&a, p)
}

// with decodes a tool's input and runs it.
func with[T any](raw json.RawMessage, run func(T) (string, error)) (string, error) {
	var in T
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &in); err != nil {
			return "", fmt.Errorf("input does not fit the schema: %w", err)
		}
	}
	return run(in)
}

// summoned finds the Orchestrator that the same call of the Arbiter's had summoned
// before its process ended, when the turn goes on in another and the call is made again.
func (st *step) summoned(in spawnInput) (roster.Agent, bool) {
	for i := range st.Agents {
		a := st.Agents[i]
		if a.SummonedIn != "" && slices.Contains(st.Agents[0].InterruptedTurn, a.SummonedIn) && a.Brief == in.Prompt && a.Mode == in.Mode && a.Alive() {
			st.Edit(a.ID).SummonedIn = "" // a further call means another one
			return *st.Agents[i], true
		}
	}
	return roster.Agent{}, false
}

func (st *step) toolSpawn(in spawnInput) (string, error) {
	if a, again := st.summoned(in); again {
		return fmt.Sprintf("{\"id\":%q,\"name\":%q}\nIt was summoned already, before your process ended, and has begun.", a.ID, a.Name), nil
	}
	if st.nothingWanted() {
		return "", errors.New("there is no task: the human reset it; ask them what is wanted, with ADDRESS_HUMAN")
	}
	if problem := st.summon(in.Prompt, in.Mode, in.SuccessorOf, contract.Arbiter); problem != "" {
		return "", fmt.Errorf("%s", problem)
	}
	a, _ := st.Last()
	answer, err := json.Marshal(map[string]string{"id": a.ID, "name": a.Name})
	if err != nil {
		return "", err
	}
	return string(answer) + "\nIt is summoned and begins by itself. End your turn with CONTINUE to wait for its word.", nil
}

func (st *step) toolRelease(in releaseInput) (string, error) {
	var ids []string
	for i := range st.Agents {
		if a := st.Agents[i]; a.Role == roster.RoleOrchestrator && a.Alive() && a.Takeover == nil && (in.ID == "all" || in.ID == a.ID) {
			ids = append(ids, a.ID)
		}
	}
	if a, _ := st.Agent(in.ID); a.Takeover != nil {
		return "", fmt.Errorf("the human has the session of %s in a terminal: release it when it is given back", a.ID)
	}
	if len(ids) == 0 {
		return "", fmt.Errorf("no living Orchestrator %q; alive: %s", in.ID, st.LivingText())
	}
	answer := "Released: " + strings.Join(ids, ", ") + "."
	for _, id := range ids {
		a, _ := st.Agent(id)
		reason := cmp.Or(in.Reason, "released")
		st.release(id, reason, false)
		if st.unfinished(&a) {
			st.handOver(handoff.Handover{Agent: a.AgentRef, Kind: handoff.KindReleased, Why: "it was released: " + reason, Message: a.Name + " was released before its work was done."})
			answer += " " + id + " had not handed off: the supervisor's record of its work follows in the work log."
		}
	}
	return answer, nil
}

func (st *step) toolSetPlan(in setPlanInput) (string, error) {
	steps := make([]contract.Step, 0, len(in.Steps))
	for i, s := range in.Steps {
		if strings.TrimSpace(s.Text) == "" {
			return "", fmt.Errorf("step %d has no text", i+1)
		}
		status := cmp.Or(s.Status, contract.StepPending)
		if !slices.Contains(statuses, status) {
			return "", fmt.Errorf("step %d: no status %q; use %s", i+1, status, strings.Join(statuses, ", "))
		}
		if _, ok := st.ModeNamed(s.Mode); s.Mode != "" && !ok {
			return "", fmt.Errorf("step %d: no mode %q; modes: %s", i+1, s.Mode, strings.Join(st.modeNames(), ", "))
		}
		steps = append(steps, contract.Step{Text: s.Text, Status: status, Mode: s.Mode})
	}
	st.setPlan(st.Task.SameAgents(steps))
	return "The plan:\n" + task.PlanText(st.Task.Plan), nil
}

func (st *step) toolUpdatePlan(agent string, in updatePlanInput) (string, error) {
	if in.Index < 1 || in.Index > len(st.Task.Plan) {
		return "", fmt.Errorf("the plan has steps 1 to %d:\n%s", len(st.Task.Plan), task.PlanText(st.Task.Plan))
	}
	if !slices.Contains(statuses, in.Status) {
		return "", fmt.Errorf("no status %q; use %s", in.Status, strings.Join(statuses, ", "))
	}
	plan := slices.Clone(st.Task.Plan)
	plan[in.Index-1].Status, plan[in.Index-1].Agent = in.Status, agent
	st.setPlan(plan)
	return "The plan:\n" + task.PlanText(plan), nil
}

// askPredecessor passes a question on; the loop answers the call when the
// predecessor has.
func (st *step) askPredecessor(f input.ToolCalled, a roster.Agent) {
	var in askInput
	fail := func(text string) { st.do(effect.AnswerTool{Call: f.Call, Text: text, IsError: true}) }
	if err := json.Unmarshal(f.Params.Input, &in); err != nil || strings.TrimSpace(in.Question) == "" {
		fail("A question is needed.")
		return
	}
	old, ok := st.Agent(a.Predecessor)
	switch {
	case a.Predecessor == "" || !ok:
		fail("You have no predecessor. Ask the Arbiter.")
	case !old.Alive():
		fail(old.Name + " is gone. What it knew is in its document; for the rest ask the Arbiter.")
	case old.Status != roster.Ready && old.Status != roster.Busy:
		st.Handoff.WaitingQuestions = append(slices.Clip(st.Handoff.WaitingQuestions), handoff.Asked{Call: f.Call, Of: old.ID, Question: in.Question})
	default:
		st.do(effect.AskAgent{Call: f.Call, Agent: old.AgentRef, Question: in.Question})
	}
}

// putAsked puts the questions that waited for an agent, or says that it is gone.
func (st *step) putAsked(id string) {
	if !slices.ContainsFunc(st.Handoff.WaitingQuestions, func(q handoff.Asked) bool { return q.Of == id }) {
		return
	}
	a, _ := st.Agent(id)
	var rest []handoff.Asked
	for _, q := range st.Handoff.WaitingQuestions {
		switch {
		case q.Of != id:
			rest = append(rest, q)
		case a.Up():
			st.do(effect.AskAgent{Call: q.Call, Agent: a.AgentRef, Question: q.Question})
		default:
			st.do(effect.AnswerTool{Call: q.Call, Text: a.Name + " is gone. What it knew is in its document; for the rest ask the Arbiter.", IsError: true})
		}
	}
	st.Handoff.WaitingQuestions = rest
}

// statusText is what `status` tells the Arbiter.
func (st *step) statusText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "state: %s\n", st.Task.Phase)
	list, others := st.Shown()
	b.WriteString(roster.OthersText(others))
	for _, a := range append([]*roster.Agent{st.Agents[0]}, list...) {
		fmt.Fprintf(&b, "%s (%s)", a.ID, a.Name)
		if a.Mode != "" {
			fmt.Fprintf(&b, " as %s", a.Mode)
		}
		fmt.Fprintf(&b, ": process %s", a.Status)
		if a.Role == roster.RoleOrchestrator {
			fmt.Fprintf(&b, ", %s", a.Standing)
		}
		if a.Context.Window > 0 {
			fmt.Fprintf(&b, ", context %.1f%% of %d tokens", a.Context.Pct, a.Context.Window)
			if a.Context.TurnsLeft > 0 {
				fmt.Fprintf(&b, " (about %d turns left)", a.Context.TurnsLeft)
			}
		}
		if a.Compactions > 0 {
			fmt.Fprintf(&b, ", compacted %d times", a.Compactions)
		}
		if a.CurrentTool != "" {
			fmt.Fprintf(&b, ", at %s", a.CurrentTool)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "plan:\n%s", task.PlanText(st.Task.Plan))
	fmt.Fprintf(&b, "\nwork log entries waiting: %d\n", len(st.Conversation.WorkLog))
	fmt.Fprintf(&b, "orchestrators summoned: %d of %d; living %d of %d; exchanges without a human: %d of %d; cost: $%.4f",
		st.Task.Iterations, st.Options.MaxIterations, st.LivingCount(), st.Options.MaxOrchestrators, st.Conversation.Exchanges, st.Options.MaxExchanges, st.Spent())
	if st.Options.MaxCostUSD > 0 {
		fmt.Fprintf(&b, " of $%.4f", st.Options.MaxCostUSD)
	}
	b.WriteString("\n")
	b.WriteString(st.taskText())
	if !st.HumanPresent {
		b.WriteString("no human is present\n")
	}
	return b.String()
}
