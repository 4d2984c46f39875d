package supervisor

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

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
		return decodeAndRun(p.Input, st.toolSpawn)
	case "release_orchestrator":
		return decodeAndRun(p.Input, st.toolRelease)
	case "set_plan":
		return decodeAndRun(p.Input, st.toolSetPlan)
	case "set_acceptance":
		return decodeAndRun(p.Input, st.toolSetAcceptance)
	case "status":
		return st.statusText(), nil
	case "report_progress":
		return decodeAndRun(p.Input, func(in progressInput) (string, error) {
			if strings.TrimSpace(in.Message) == "" {
				return "", fmt.Errorf("message is empty")
			}
			st.log(a.ID, verdict.KindProgress, in.Message)
			return "Noted in the work log. Go on.", nil
		})
	case "update_plan":
		return decodeAndRun(p.Input, func(in updatePlanInput) (string, error) { return st.toolUpdatePlan(a.ID, in) })
	}
	return "", mayNot(&a, p)
}

// decodeAndRun decodes a tool's input and runs it.
func decodeAndRun[T any](raw json.RawMessage, run func(T) (string, error)) (string, error) {
	var in T
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &in); err != nil {
			return "", fmt.Errorf("input does not fit the schema: %w", err)
		}
	}
	return run(in)
}

func (st *step) toolSpawn(in spawnInput) (string, error) {
	if a, again := st.SummonedBefore(in.Prompt, in.Mode); again {
		return fmt.Sprintf("{\"id\":%q,\"name\":%q}\nIt was summoned already, before your process ended, and has begun.",
			a.ID, a.Name), nil
	}
	if st.nothingWanted() {
		return "", errors.New("there is no task: the human reset it; ask them what is wanted, with ADDRESS_HUMAN")
	}
	if problem := st.summon(summons{
		brief: in.Prompt, mode: in.Mode, successorOf: in.SuccessorOf, by: contract.Arbiter, isolated: in.Isolated,
	}); problem != "" {
		return "", fmt.Errorf("%s", problem)
	}
	a, _ := st.Last()
	answer, err := json.Marshal(map[string]string{"id": a.ID, "name": a.Name})
	if err != nil {
		return "", err
	}
	text := "\nIt is summoned and begins by itself. End your turn with CONTINUE to wait for its word."
	if st.Options.Workspace.Enabled() && a.Isolation == "" && st.LivingCount() > 1 {
		text += " It shares the directory with the others: with isolated an Orchestrator gets one of its own."
	}
	return string(answer) + text, nil
}

func (st *step) toolRelease(in releaseInput) (string, error) {
	var ids []string
	for i := range st.Agents {
		if a := st.Agents[i]; a.Role == roster.RoleOrchestrator && a.Alive() && a.Takeover == nil &&
			(in.ID == "all" || in.ID == a.ID) {
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
		if a.Unfinished() {
			st.handOver(handoff.Handover{Agent: a.AgentRef, Kind: handoff.KindReleased, Why: "it was released: " +
				reason, Message: a.Name + " was released before its work was done."})
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
		if _, ok := st.Options.ModeNamed(s.Mode); s.Mode != "" && !ok {
			return "", fmt.Errorf("step %d: no mode %q; modes: %s", i+1, s.Mode, strings.Join(st.Options.ModeNames(), ", "))
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
		st.Task.Iterations, st.Options.MaxIterations, st.LivingCount(), st.Options.MaxOrchestrators,
		st.Conversation.Exchanges, st.Options.MaxExchanges, st.Spent())
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
