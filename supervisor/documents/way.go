package documents

import (
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/changes"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
	"github.com/arbiter-cli/arbiter/supervisor/planning"
	"github.com/arbiter-cli/arbiter/supervisor/process"
	"github.com/arbiter-cli/arbiter/supervisor/task"
)

// Context is what a step uses to process documents. It is created for one use within a step, which owns
// everything that it points to.
type Context struct {
	*process.Context
	Changes *changes.State
}

// Begin begins to process a document, and returns its serial.
func (c *Context) Begin(h handoff.Handover) int {
	h.Serial = c.Handoff.Add(h)
	if a := c.Roster.Edit(h.Agent.ID); a != nil && h.Document != nil && h.Agent.ID != contract.Arbiter {
		a.Document, a.Receipts, a.GeneratedWhy, a.DocumentSerial = h.Document, nil, h.Why, h.Serial
	}
	return h.Serial
}

// Next starts the next step for a document. When all steps are done, it removes the document and returns it.
func (c *Context) Next(serial int) (done *handoff.Handover, underWay bool) {
	h := c.Handoff.Edit(serial)
	timeout := c.Options.CheckTimeout
	switch {
	case h == nil:
		return nil, false
	case h.Document == nil:
		a, _ := c.Roster.Agent(h.Agent.ID)
		dir := c.Dirs().Of(a.ID)
		c.Out.Do(effect.Inspect{Serial: serial, Host: a.Host, Params: bridge.InspectParams{
			SessionID: a.SessionID, CWD: dir, Env: c.Options.Env, Sandbox: c.Dirs().Sandbox(dir),
		}})
	case len(h.Receipts) < h.ChecksOf(timeout) && c.Halted: // until the human continues the run
	case len(h.Receipts) < h.ChecksOf(timeout):
		c.runCheck(h)
	case h.MustMerge(c.Roster) && c.Halted:
	case h.MustMerge(c.Roster):
		c.Handoff.Merges.Ask(c.Out, serial, h.Agent.ID)
	case c.Handoff.Overtakes(h): // documents of one author are delivered in order
	default:
		ended := *h
		c.Handoff.Remove(serial)
		return &ended, false
	}
	return nil, true
}

// runCheck runs the next check of a document.
func (c *Context) runCheck(h *handoff.Handover) {
	h.Request = c.NewID()
	if a, ok := c.Roster.Agent(h.Agent.ID); ok {
		h.Agent = a.AgentRef // it may have been restarted
	}
	n, dir, host := len(h.Receipts), h.Dir(c.Dirs()), h.Host(c.Roster)
	c.Out.Do(effect.RunCheck{
		Serial: h.Serial, Number: n + 1, Host: host, Agent: h.Author(c.Roster, n), Request: h.Request,
		Again:     h.Kind == handoff.KindRepeated,
		Criterion: h.Kind == handoff.KindAccept,
		Permitted: h.Kind == handoff.KindAccept && c.Task.Acceptance.IsHumansCommand(),
		Params: bridge.CheckParams{
			Command: h.Document.Checks[n].Command, CWD: dir,
			TimeoutMS: int(h.Timeout(c.Options.CheckTimeout).Milliseconds()), Env: c.Options.Env,
			Sandbox: c.Dirs().Sandbox(dir), Scratch: c.Options.ScratchChecks && host == "", // it was tried here alone
		},
	})
}

// Record records what a document and its checks say about the work of its author.
func (c *Context) Record(h handoff.Handover) {
	id, byAuthor := h.Agent.ID, h.Kind == handoff.KindDone || h.Kind == handoff.KindHandoff
	if byAuthor {
		a, _ := c.Roster.Agent(id)
		c.Handoff.Prove(h, task.ModeOf(&a), h.Files(c.Dirs()))
		c.Task.Acceptance.HandedOver()
	}
	if a := c.Roster.Edit(id); a != nil && a.DocumentSerial <= h.Serial { // it may have given another one since
		a.Document, a.Receipts, a.GeneratedWhy, a.DocumentSerial = h.Document, h.Receipts, h.Why, h.Serial
	}
	if byAuthor {
		planning.Settle(c.Context, h)
	}
}

// Forget drops all documents that are being processed, except the Arbiter's own: its renewal continues.
func (c *Context) Forget() {
	c.Handoff.Completing = nil
	c.remove("the document is no longer needed",
		func(h *handoff.Handover) bool { return h.Kind != handoff.KindRenewal })
}

// DropRepetition ends a repetition of checks that another COMPLETE, or a reset, makes obsolete.
func (c *Context) DropRepetition() {
	c.Handoff.Completing = nil
	c.Task.Acceptance.Drop()
	c.remove("the checks are no longer repeated", (*handoff.Handover).Completes)
}

// DropCriteria ends the judging of acceptance criteria, and reports whether they were being judged.
func (c *Context) DropCriteria() bool {
	dropped := c.remove("the acceptance criteria are judged anew",
		func(h *handoff.Handover) bool { return h.Kind == handoff.KindAccept })
	return len(dropped) > 0
}

// remove removes documents that are being processed.
func (c *Context) remove(why string, unwanted func(*handoff.Handover) bool) []handoff.Handover {
	removed := c.Handoff.RemoveWhere(unwanted)
	for _, h := range removed {
		c.Out.StopTimer(handoff.TimerKey(h.Serial))
		c.dropCheck(h.Request, why)
		c.Handoff.Merges.Drop(c.Out, h.Serial)
	}
	return removed
}

// CancelSuccession cancels the succession of an agent that was given up and is restarted: it gets no successor.
func (c *Context) CancelSuccession(id string) {
	for _, serial := range c.Handoff.CancelSuccession(id) {
		c.Out.StopTimer(handoff.TimerKey(serial))
	}
}

// LoseAll ends all running checks: they are lost with their bridge, and run again with the next one.
func (c *Context) LoseAll() { c.loseWhere(func(*handoff.Handover) bool { return true }) }

// LoseOn ends the checks that run on a host.
func (c *Context) LoseOn(host string) {
	c.loseWhere(func(h *handoff.Handover) bool { return h.NextHost(c.Roster) == host })
}

func (c *Context) loseWhere(lost func(*handoff.Handover) bool) {
	for _, h := range slices.Clone(c.Handoff.Documents) {
		if lost(&h) {
			c.dropCheck(h.Request, "the check is run again")
			c.Handoff.Edit(h.Serial).Request = ""
		}
	}
}

// dropCheck ends a check whose result is no longer needed.
func (c *Context) dropCheck(request, why string) {
	if request != "" {
		c.Permission.CheckOver(c.Out, request, why)
		c.Out.Do(effect.Drop{Request: request})
	}
}
