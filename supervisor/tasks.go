package supervisor

import (
	"cmp"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// taskStatuses are a step's words for what Claude's own task tools call them.
var taskStatuses = map[string]string{"pending": contract.StepPending, "in_progress": contract.StepActive, "completed": contract.StepDone}

// tasksChanged follows an Orchestrator's own list of tasks: what it has in common with
// the plan moves the plan, all of it is shown beside it.
func (st *step) tasksChanged(id string, b bridge.Tasks) {
	a, _ := st.Agent(id)
	if a.Role != roster.RoleOrchestrator {
		return
	}
	list := contract.Tasks{Agent: id, Items: []contract.Step{}}
	plan, moved := st.Plan, false
	for _, t := range b.Items {
		status := cmp.Or(taskStatuses[t.Status], contract.StepPending)
		list.Items = append(list.Items, contract.Step{Text: t.Text, Status: status, Agent: id})
		i := slices.IndexFunc(plan, func(p contract.Step) bool { return sameStep(p.Text, t.Text) })
		if i < 0 || plan[i].Status == status || status == contract.StepPending || over(plan[i].Status) {
			continue
		}
		if !moved {
			plan, moved = slices.Clone(plan), true
		}
		plan[i].Status, plan[i].Agent = status, id
	}
	st.AgentTasks = slices.DeleteFunc(slices.Clone(st.AgentTasks), func(t contract.Tasks) bool { return t.Agent == id })
	if len(list.Items) > 0 {
		st.AgentTasks = append(st.AgentTasks, list)
	}
	if moved {
		st.setPlan(plan)
		return
	}
	st.emit(contract.Supervisor, contract.Plan{Steps: plan, Tasks: st.AgentTasks})
}

// over reports whether a step is behind the plan: an agent's list does not bring it back.
func over(status string) bool {
	return status == contract.StepDone || status == contract.StepSkipped || status == contract.StepFailed
}

// sameStep compares texts of steps but for case, space and a number in front.
func sameStep(a, b string) bool {
	plain := func(s string) string {
		s = strings.TrimLeft(strings.TrimSpace(s), "0123456789.)-* ")
		return strings.ToLower(strings.Join(strings.Fields(s), " "))
	}
	return plain(a) != "" && plain(a) == plain(b)
}

// dropTasks forgets the list of one that is gone.
func (st *step) dropTasks(id string) {
	if slices.ContainsFunc(st.AgentTasks, func(t contract.Tasks) bool { return t.Agent == id }) {
		st.AgentTasks = slices.DeleteFunc(slices.Clone(st.AgentTasks), func(t contract.Tasks) bool { return t.Agent == id })
	}
}
