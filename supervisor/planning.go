package supervisor

// This part of the package applies changes of a run's plan, reminds agents of it, and records the results of
// executions.
//
// [SetPlan], [SkipPlanStep], [AssignPlanStep] and [FollowPlan] change the plan, announce it, and remind agents of it
// ([RemindOfPlan]). [SettlePlanStep] and [Stumbled] record how an execution ended.
//
// Package task keeps the plan and the executions. Package supervisor decides what follows from a failed execution.
//
// Events: plan. Effects: Configure, with what an agent reads after a compaction.

import (
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
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

// SettlePlanStep records a completed execution once its document's checks have been run, and adopts the plan of a
// planner.
func SettlePlanStep(c *ProcessContext, h Handover) {
	finishWork(c, h)
	a, _ := c.Roster.Agent(h.Agent.ID)
	if steps := c.Task.PlanFrom(&a, h.Document, c.Options); len(steps) > 0 {
		SetPlan(c, steps)
	}
}

func finishWork(c *ProcessContext, h Handover) {
	a := c.Roster.Edit(h.Agent.ID)
	if a == nil || a.Work == nil || a.Work.Completed.IsZero() {
		return
	}
	w := *a.Work
	w.Document = decider.Handed(h.Document, h.Receipts)
	a.Work = &w
	if refuted := c.Task.Refuted(c.Roster, a, h, c.Out.Now); refuted != nil {
		c.Task.Fail(c.Roster.Edit(a.ID), refuted, decider.StatusFailure, c.Out.Now)
		return
	}
	c.Task.Succeed(a, c.Out.Now)
	if h.Kind == KindDone && c.Task.EndAssigned(a, contract.StepDone) {
		changedPlan(c)
	}
}

// Stumbled records a failed execution if the Orchestrator's last tool call failed and it asks for help. It
// reports whether that is so. If the Orchestrator itself asks, the Arbiter answers; the human is asked only if
// it stopped without a verdict.
func Stumbled(c *ProcessContext, id, said string) bool {
	a := c.Roster.Edit(id)
	if a.Work == nil || a.Work.Failed == nil {
		return false
	}
	t := a.Work.Failed
	f := c.Task.ToolFailure(c.Roster, a, c.Out.Now)
	c.Task.CompleteWork(c.Roster.Edit(id), said, c.Out.Now)
	c.Task.Fail(c.Roster.Edit(id), f, decider.StatusFailure, c.Out.Now)
	if a.Fallbacks == 0 {
		return true
	}
	message := fmt.Sprintf("%s stopped at a failed %s: %s", a.Name, t.Tool,
		words.Head(strings.TrimSpace(t.Message), 500))
	c.Question.Recovery.Fail(c.Out, id, bridge.CatTool, message, QuestionChoices(f))
	return true
}

// WithTask is what the Arbiter reads with a task: the acceptance criteria, and the reports of earlier runs.
func WithTask(c *ProcessContext) []ConversationAttached {
	var list []ConversationAttached
	if criteria := c.Task.Acceptance.Text(); criteria != "" {
		list = append(list, ConversationAttached{
			Title: "acceptance criteria", From: contract.Supervisor, Kind: "document", Trusted: true,
			Text: "COMPLETE takes effect when the supervisor has run the commands of these criteria on the final files, " +
				"and all passed.\n\n" + criteria,
		})
	}
	if c.Options.Lessons != "" {
		list = append(list, ConversationAttached{
			Title: "memory", From: contract.Supervisor, Kind: "document", Text: c.Options.Lessons,
		})
	}
	return list
}

// RecoveryPlan lists what a human can do about an agent's failure.
func RecoveryPlan(c *ProcessContext, a *Agent, category bridge.Category, message string) []string {
	options := RecoveryOptions(category, RoleArbiter)
	if a.Role == RoleArbiter || len(options) > 0 {
		return RecoveryOptions(category, a.Role)
	}
	return QuestionChoices(c.Task.AgentFailure(c.Roster, a.ID, category, message, c.Out.Now))
}
