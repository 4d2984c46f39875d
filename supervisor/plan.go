package supervisor

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
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
	st.mail().Tell(contract.Arbiter, conversation.KindNotice, fmt.Sprintf("The human skipped step %d of the plan: %s", i+1,
		st.Task.Plan[i].Text))
	if a, ok := st.Agent(st.Task.Plan[i].Agent); ok && a.Works() {
		st.mail().Post(conversation.Mail{From: contract.Human, To: a.ID, Kind: conversation.KindInstruction,
			Strength: contract.Steer,
			Text: fmt.Sprintf("Leave step %d of the plan, %q: it is skipped. Undo nothing; go on with what follows it.",
				i+1, st.Task.Plan[i].Text)})
	}
}

// assign notes which step of the plan the agent that a ruling chose works on.
func (st *step) assign(v *verdict.Arbiter, open bool) {
	id := v.To
	if v.Decision == verdict.SelectMode {
		last, _ := st.Last()
		id = last.ID
	}
	if st.Ending == nil && st.Task.Assign(st.Edit(id), open) {
		st.planChanged()
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
