package supervisor

// This part of the package processes hand-off documents, from the author's turn until the Arbiter gets them.
//
// [DocumentContext.Begin] starts with a document, and [DocumentContext.Next] takes the next step: an inspection from
// which it is generated, a check, a merge. [DocumentContext.Checked] and [DocumentContext.Inspected] handle the
// results. A check that is lost with its bridge runs again ([DocumentContext.LoseAll]); one that is no longer needed is
// dropped ([DocumentContext.Forget], [DocumentContext.DropRepetition]).
//
// Package handoff keeps the documents and the proofs of their checks. Package supervisor delivers a document
// whose last step is done, and decides whether a COMPLETE takes effect.
//
// Events: check. Effects: Inspect, RunCheck, Drop, Merge, timers.

import (
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// DocumentContext is what a step uses to process documents. It is created for one use within a step, which owns
// everything that it points to.
type DocumentContext struct {
	*ProcessContext
	Changes *input.ChangeState
}

// Begin begins to process a document, and returns its serial.
func (c *DocumentContext) Begin(h Handover) int {
	h.Serial = c.Handoff.Add(h)
	if a := c.Roster.Edit(h.Agent.ID); a != nil && h.Document != nil && h.Agent.ID != contract.Arbiter {
		a.Document, a.Receipts, a.GeneratedWhy, a.DocumentSerial = h.Document, nil, h.Why, h.Serial
	}
	return h.Serial
}

// Next starts the next step for a document. When all steps are done, it removes the document and returns it.
func (c *DocumentContext) Next(serial int) (done *Handover, underWay bool) {
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
func (c *DocumentContext) runCheck(h *Handover) {
	h.Request = c.NewID()
	if a, ok := c.Roster.Agent(h.Agent.ID); ok {
		h.Agent = a.AgentRef // it may have been restarted
	}
	n, dir, host := len(h.Receipts), h.Dir(c.Dirs()), h.Host(c.Roster)
	c.Out.Do(effect.RunCheck{
		Serial: h.Serial, Number: n + 1, Host: host, Agent: h.Author(c.Roster, n), Request: h.Request,
		Again:     h.Kind == KindRepeated,
		Criterion: h.Kind == KindAccept,
		Permitted: h.Kind == KindAccept && c.Task.Acceptance.IsHumansCommand(),
		Params: bridge.CheckParams{
			Command: h.Document.Checks[n].Command, CWD: dir,
			TimeoutMS: int(h.Timeout(c.Options.CheckTimeout).Milliseconds()), Env: c.Options.Env,
			Sandbox: c.Dirs().Sandbox(dir), Scratch: c.Options.ScratchChecks && host == "", // it was tried here alone
		},
	})
}

// Record records what a document and its checks say about the work of its author.
func (c *DocumentContext) Record(h Handover) {
	id, byAuthor := h.Agent.ID, h.Kind == KindDone || h.Kind == KindHandoff
	if byAuthor {
		a, _ := c.Roster.Agent(id)
		c.Handoff.Prove(h, ModeOf(&a), h.Files(c.Dirs()))
		c.Task.Acceptance.HandedOver()
	}
	if a := c.Roster.Edit(id); a != nil && a.DocumentSerial <= h.Serial { // it may have given another one since
		a.Document, a.Receipts, a.GeneratedWhy, a.DocumentSerial = h.Document, h.Receipts, h.Why, h.Serial
	}
	if byAuthor {
		SettlePlanStep(c.ProcessContext, h)
	}
}

// Forget drops all documents that are being processed, except the Arbiter's own: its renewal continues.
func (c *DocumentContext) Forget() {
	c.Handoff.Completing = nil
	c.remove("the document is no longer needed",
		func(h *Handover) bool { return h.Kind != HandoffKindRenewal })
}

// DropRepetition ends a repetition of checks that another COMPLETE, or a reset, makes obsolete.
func (c *DocumentContext) DropRepetition() {
	c.Handoff.Completing = nil
	c.Task.Acceptance.Drop()
	c.remove("the checks are no longer repeated", (*Handover).Completes)
}

// DropCriteria ends the judging of acceptance criteria, and reports whether they were being judged.
func (c *DocumentContext) DropCriteria() bool {
	dropped := c.remove("the acceptance criteria are judged anew",
		func(h *Handover) bool { return h.Kind == KindAccept })
	return len(dropped) > 0
}

// remove removes documents that are being processed.
func (c *DocumentContext) remove(why string, unwanted func(*Handover) bool) []Handover {
	removed := c.Handoff.RemoveWhere(unwanted)
	for _, h := range removed {
		c.Out.StopTimer(HandoffTimerKey(h.Serial))
		c.dropCheck(h.Request, why)
		c.Handoff.Merges.Drop(c.Out, h.Serial)
	}
	return removed
}

// CancelSuccession cancels the succession of an agent that was given up and is restarted: it gets no successor.
func (c *DocumentContext) CancelSuccession(id string) {
	for _, serial := range c.Handoff.CancelSuccession(id) {
		c.Out.StopTimer(HandoffTimerKey(serial))
	}
}

// LoseAll ends all running checks: they are lost with their bridge, and run again with the next one.
func (c *DocumentContext) LoseAll() { c.loseWhere(func(*Handover) bool { return true }) }

// LoseOn ends the checks that run on a host.
func (c *DocumentContext) LoseOn(host string) {
	c.loseWhere(func(h *Handover) bool { return h.NextHost(c.Roster) == host })
}

func (c *DocumentContext) loseWhere(lost func(*Handover) bool) {
	for _, h := range slices.Clone(c.Handoff.Documents) {
		if lost(&h) {
			c.dropCheck(h.Request, "the check is run again")
			c.Handoff.Edit(h.Serial).Request = ""
		}
	}
}

// dropCheck ends a check whose result is no longer needed.
func (c *DocumentContext) dropCheck(request, why string) {
	if request != "" {
		c.Permission.CheckOver(c.Out, request, why)
		c.Out.Do(effect.Drop{Request: request})
	}
}
