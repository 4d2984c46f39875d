package planning

import (
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
	"github.com/arbiter-cli/arbiter/supervisor/lifecycle"
	"github.com/arbiter-cli/arbiter/supervisor/process"
	"github.com/arbiter-cli/arbiter/supervisor/question"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// Settle records a completed execution once its document's checks have been run, and adopts the plan of a
// planner.
func Settle(c *process.Context, h handoff.Handover) {
	finishWork(c, h)
	a, _ := c.Roster.Agent(h.Agent.ID)
	if steps := c.Task.PlanFrom(&a, h.Document, c.Options); len(steps) > 0 {
		Set(c, steps)
	}
}

func finishWork(c *process.Context, h handoff.Handover) {
	a := c.Roster.Edit(h.Agent.ID)
	if a == nil || a.Work == nil || a.Work.Completed.IsZero() {
		return
	}
	w := *a.Work
	w.Document = decision.Handed(h.Document, h.Receipts)
	a.Work = &w
	if refuted := c.Task.Refuted(c.Roster, a, h, c.Out.Now); refuted != nil {
		c.Task.Fail(c.Roster.Edit(a.ID), refuted, decision.StatusFailure, c.Out.Now)
		return
	}
	c.Task.Succeed(a, c.Out.Now)
	if h.Kind == handoff.KindDone && c.Task.EndAssigned(a, contract.StepDone) {
		changed(c)
	}
}

// Stumbled records a failed execution if the Orchestrator's last tool call failed and it asks for help. It
// reports whether that is so. If the Orchestrator itself asks, the Arbiter answers; the human is asked only if
// it stopped without a verdict.
func Stumbled(c *process.Context, id, said string) bool {
	a := c.Roster.Edit(id)
	if a.Work == nil || a.Work.Failed == nil {
		return false
	}
	t := a.Work.Failed
	f := c.Task.ToolFailure(c.Roster, a, c.Out.Now)
	c.Task.CompleteWork(c.Roster.Edit(id), said, c.Out.Now)
	c.Task.Fail(c.Roster.Edit(id), f, decision.StatusFailure, c.Out.Now)
	if a.Fallbacks == 0 {
		return true
	}
	message := fmt.Sprintf("%s stopped at a failed %s: %s", a.Name, t.Tool,
		words.Head(strings.TrimSpace(t.Message), 500))
	c.Question.Recovery.Fail(c.Out, id, bridge.CatTool, message, question.Choices(f))
	return true
}

// WithTask is what the Arbiter reads with a task: the acceptance criteria, and the reports of earlier runs.
func WithTask(c *process.Context) []conversation.Attached {
	var list []conversation.Attached
	if criteria := c.Task.Acceptance.Text(); criteria != "" {
		list = append(list, conversation.Attached{
			Title: "acceptance criteria", From: contract.Supervisor, Kind: "document", Trusted: true,
			Text: "COMPLETE takes effect when the supervisor has run the commands of these criteria on the final files, " +
				"and all passed.\n\n" + criteria,
		})
	}
	if c.Options.Lessons != "" {
		list = append(list, conversation.Attached{
			Title: "memory", From: contract.Supervisor, Kind: "document", Text: c.Options.Lessons,
		})
	}
	return list
}

// Recovery lists what a human can do about an agent's failure.
func Recovery(c *process.Context, a *roster.Agent, category bridge.Category, message string) []string {
	options := lifecycle.RecoveryOptions(category, roster.RoleArbiter)
	if a.Role == roster.RoleArbiter || len(options) > 0 {
		return lifecycle.RecoveryOptions(category, a.Role)
	}
	return question.Choices(c.Task.AgentFailure(c.Roster, a.ID, category, message, c.Out.Now))
}
