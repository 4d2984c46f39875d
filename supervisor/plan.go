package supervisor

import (
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/task"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// The plan: who sets it, which step is at hand, and whose it is.

// setPlan replaces the plan.
func (st *step) setPlan(steps []contract.Step) {
	st.Task.Plan = steps
	st.planChanged()
}

// planChanged emits the plan, and renews what agents are reminded of.
func (st *step) planChanged() {
	st.emit(contract.Supervisor, contract.Plan{Steps: st.Task.Plan, Tasks: st.Task.AgentTasks})
	for i := range st.Agents {
		if a := st.Agents[i]; a.Status == roster.Ready || a.Status == roster.Busy {
			st.remind(a)
		}
	}
}

// skip marks a step as skipped and tells the agents that it concerns.
func (st *step) skip(i int) {
	st.Task.Skip(i)
	st.planChanged()
	st.tell(contract.Arbiter, conversation.KindNotice, fmt.Sprintf("The human skipped step %d of the plan: %s", i+1,
		st.Task.Plan[i].Text))
	if a, ok := st.Agent(st.Task.Plan[i].Agent); ok && a.Works() {
		st.post(conversation.Mail{From: contract.Human, To: a.ID, Kind: conversation.KindInstruction,
			Strength: contract.Steer,
			Text: fmt.Sprintf("Leave step %d of the plan, %q: it is skipped. Undo nothing; go on with what follows it.",
				i+1, st.Task.Plan[i].Text)})
	}
}

// assign notes which step of the plan an agent was chosen for: its success is the step's, where
// nobody else keeps the plan. While something is open, an agent chosen against the step's mode
// sees to that, and the step waits.
func (st *step) assign(v *verdict.Arbiter, open bool) {
	id := v.To
	if v.Decision == verdict.SelectMode {
		last, _ := st.Last()
		id = last.ID
	}
	a := st.Edit(id)
	i := st.Task.StepAtHand()
	if st.Ending != nil || a == nil || !a.Works() || i < 0 {
		return
	}
	if mode := st.Task.Plan[i].Mode; open && mode != "" && mode != a.Mode {
		return
	}
	a.PlanStep = i + 1
	if st.Task.Start(i, id) {
		st.planChanged()
	}
}

// assigned ends the step that an agent was chosen for, as its execution ended.
func (st *step) assigned(id, status string) {
	a := st.Edit(id)
	if a == nil || a.PlanStep == 0 {
		return
	}
	i := a.PlanStep - 1
	a.PlanStep = 0
	if st.Task.End(i, id, status) {
		st.planChanged()
	}
}

// planFrom makes the plan of a planner's document, where nobody has made one: of its steps, which name their agents, or
// else of what remains.
func (st *step) planFrom(h handoff.Handover) {
	a, ok := st.Agent(h.Agent.ID)
	if !ok || a.Mode != task.PlannerMode || len(st.Task.Plan) > 0 || h.Document == nil {
		return
	}
	var steps []contract.Step
	for _, s := range h.Document.Steps {
		if strings.TrimSpace(s.Text) == "" {
			continue
		}
		mode := strings.ToLower(strings.TrimSpace(s.Mode))
		if _, known := st.Options.ModeNamed(mode); !known {
			mode = st.modeIn(s.Text)
		}
		steps = append(steps, contract.Step{Text: s.Text, Status: contract.StepPending, Mode: mode})
	}
	if len(steps) == 0 {
		for _, text := range h.Document.Remaining {
			steps = append(steps, contract.Step{Text: text, Status: contract.StepPending, Mode: st.modeIn(text)})
		}
	}
	if len(steps) > 0 {
		st.setPlan(steps)
	}
}

// tasksChanged follows an Orchestrator's own list of tasks: what it has in common with
// the plan moves the plan, all of it is shown beside it.
func (st *step) tasksChanged(id string, b bridge.Tasks) {
	a, _ := st.Agent(id)
	if a.Role != roster.RoleOrchestrator {
		return
	}
	if st.Task.Follow(id, b.Items) {
		st.planChanged()
		return
	}
	st.emit(contract.Supervisor, contract.Plan{Steps: st.Task.Plan, Tasks: st.Task.AgentTasks})
}

// modeIn finds the mode that a step names at its head: «tester: run the suite».
func (st *step) modeIn(text string) string {
	head, _, ok := strings.Cut(text, ":")
	name := strings.ToLower(strings.TrimSpace(head))
	if _, known := st.Options.ModeNamed(name); ok && known {
		return name
	}
	return ""
}
