package supervisor

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// SetPlan replaces the plan.
func SetPlan(c *ProcessContext, steps []contract.Step) {
	c.Task.Plan = steps
	changedPlan(c)
}

// changedPlan announces the plan, and updates the agents' reminders.
func changedPlan(c *ProcessContext) {
	announce(c)
	for i := range c.Roster.Agents {
		if a := c.Roster.Agents[i]; a.Status == AgentReady || a.Status == AgentBusy {
			RemindOfPlan(c, a)
		}
	}
}

func announce(c *ProcessContext) {
	c.Out.Emit(contract.Supervisor, contract.Plan{Steps: c.Task.Plan, Tasks: c.Task.AgentTasks})
}

// RemindOfPlan updates what an agent reads after a compaction.
func RemindOfPlan(c *ProcessContext, a *Agent) {
	c.Out.Do(effect.Configure{Params: bridge.ConfigureParams{AgentRef: a.AgentRef,
		Reminder: c.Configuration().Reminder(a)}})
}

// SkipPlanStep marks a step as skipped, counted from 0, and notifies the agents that it concerns.
func SkipPlanStep(c *ProcessContext, i int) {
	c.Task.Skip(i)
	changedPlan(c)
	c.Notify(contract.Arbiter, KindNotice, fmt.Sprintf("The human skipped step %d of the plan: %s", i+1,
		c.Task.Plan[i].Text))
	if a, ok := c.Roster.Agent(c.Task.Plan[i].Agent); ok && a.Works() {
		c.Post(Mail{From: contract.Human, To: a.ID, Kind: KindInstruction,
			Strength: contract.Steer,
			Text: fmt.Sprintf("Leave step %d of the plan, %q: it is skipped. Undo nothing; go on with what follows it.",
				i+1, c.Task.Plan[i].Text)})
	}
}

// AssignPlanStep records which step of the plan the agent that a ruling chose works on.
func AssignPlanStep(c *ProcessContext, v *verdict.Arbiter, open bool) {
	id := v.To
	if v.Decision == verdict.SelectMode {
		last, _ := c.Roster.Last()
		id = last.ID
	}
	if !c.Closed && c.Task.Assign(c.Roster.Edit(id), open) {
		changedPlan(c)
	}
}

// FollowPlan handles an Orchestrator's own list of tasks: tasks that are also steps of the plan update the plan;
// the whole list is shown beside it.
func FollowPlan(c *ProcessContext, id string, b bridge.Tasks) {
	a, _ := c.Roster.Agent(id)
	if a.Role != RoleOrchestrator {
		return
	}
	if c.Task.Follow(id, b.Items) {
		changedPlan(c)
		return
	}
	announce(c)
}
