package planning

import (
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
	"github.com/arbiter-cli/arbiter/supervisor/process"
	"github.com/arbiter-cli/arbiter/supervisor/question"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// Settle records a completed execution once its document's checks have been run, and takes over the plan of a planner.
func Settle(c *process.Context, h handoff.Handover) {
	settleWork(c, h)
	a, _ := c.Roster.Agent(h.Agent.ID)
	if steps := c.Task.PlanFrom(&a, h.Document, c.Options); len(steps) > 0 {
		Set(c, steps)
	}
}

func settleWork(c *process.Context, h handoff.Handover) {
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

// Stumbled records a failed tool as a failed execution: the Orchestrator's last call
// failed, and it asks for a word. It reports whether that is so. One that asks of its own accord is
// answered; a human is called only where it stopped without a verdict.
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
