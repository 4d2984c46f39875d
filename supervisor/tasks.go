package supervisor

import (
	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

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
