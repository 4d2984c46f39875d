package planning

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/process"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// Set replaces the plan.
func Set(c *process.Context, steps []contract.Step) {
	c.Task.Plan = steps
	changed(c)
}

// changed announces the plan, and updates the agents' reminders.
func changed(c *process.Context) {
	announce(c)
	for i := range c.Roster.Agents {
		if a := c.Roster.Agents[i]; a.Status == roster.Ready || a.Status == roster.Busy {
			Remind(c, a)
		}
	}
}

func announce(c *process.Context) {
	c.Out.Emit(contract.Supervisor, contract.Plan{Steps: c.Task.Plan, Tasks: c.Task.AgentTasks})
}

// Remind updates what an agent reads after a compaction.
func Remind(c *process.Context, a *roster.Agent) {
	c.Out.Do(effect.Configure{Params: bridge.ConfigureParams{AgentRef: a.AgentRef,
		Reminder: c.Configuration().Reminder(a)}})
}

// Skip marks a step as skipped, counted from 0, and notifies the agents that it concerns.
func Skip(c *process.Context, i int) {
	c.Task.Skip(i)
	changed(c)
	c.Notify(contract.Arbiter, conversation.KindNotice, fmt.Sprintf("The human skipped step %d of the plan: %s", i+1,
		c.Task.Plan[i].Text))
	if a, ok := c.Roster.Agent(c.Task.Plan[i].Agent); ok && a.Works() {
		c.Post(conversation.Mail{From: contract.Human, To: a.ID, Kind: conversation.KindInstruction,
			Strength: contract.Steer,
			Text: fmt.Sprintf("Leave step %d of the plan, %q: it is skipped. Undo nothing; go on with what follows it.",
				i+1, c.Task.Plan[i].Text)})
	}
}

// Assign records which step of the plan the agent that a ruling chose works on.
func Assign(c *process.Context, v *verdict.Arbiter, open bool) {
	id := v.To
	if v.Decision == verdict.SelectMode {
		last, _ := c.Roster.Last()
		id = last.ID
	}
	if !c.Closed && c.Task.Assign(c.Roster.Edit(id), open) {
		changed(c)
	}
}

// Follow handles an Orchestrator's own list of tasks: tasks that are also steps of the plan update the plan;
// the whole list is shown beside it.
func Follow(c *process.Context, id string, b bridge.Tasks) {
	a, _ := c.Roster.Agent(id)
	if a.Role != roster.RoleOrchestrator {
		return
	}
	if c.Task.Follow(id, b.Items) {
		changed(c)
		return
	}
	announce(c)
}
