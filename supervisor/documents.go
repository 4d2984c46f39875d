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
	"fmt"
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// SetCriteria sets the human's criteria.
func (c *DocumentContext) SetCriteria(ref string, given contract.SetAcceptance) {
	list := make([]AcceptanceGiven, 0, len(given.Criteria))
	for _, g := range given.Criteria {
		list = append(list, AcceptanceGiven{Text: g.Text, Command: g.Command, By: AcceptanceBy(g.By)})
	}
	origin := FromStdin
	if c.Channel == input.ChannelScreen {
		origin = FromScreen
	}
	err := c.Task.Acceptance.HumanSets(list, origin)
	if err != nil {
		c.Out.Reject(ref, "%s", err)
		return
	}
	c.Out.Accept(ref, fmt.Sprintf("acceptance criteria set: %d", len(c.Task.Acceptance.Criteria)))
	if c.Handoff.Completing != nil { // the Arbiter rules again when it has read the criteria
		c.DropRepetition()
		c.Out.Emit(contract.Supervisor, contract.Notice{
			Text: "COMPLETE did not take effect: the human changed the acceptance criteria.",
		})
	}
	if c.Task.Text != "" {
		text := "The human dropped all acceptance criteria."
		if criteria := c.Task.Acceptance.Text(); criteria != "" {
			text = "The human set the acceptance criteria:\n" + criteria
		}
		c.Notify(contract.Arbiter, KindNotice, text)
	}
}

// CriteriaFromOptions sets the criteria that the run is started with.
func (c *DocumentContext) CriteriaFromOptions() {
	for _, command := range c.Options.Accept {
		err := c.Task.Acceptance.HumanAdds(AcceptanceGiven{Command: command}, FromFlag)
		if err != nil { // the flags were checked; a run of another version may have had other bounds
			c.Out.Emit(contract.Supervisor, contract.Notice{Text: "an acceptance criterion is left out: " + err.Error()})
		}
	}
}

// CriterionChecked handles the result of the command of the next acceptance criterion.
func (c *DocumentContext) CriterionChecked(r bridge.CheckResult, failed string) {
	pending := c.Task.Acceptance.Pending()
	if len(pending) == 0 {
		return
	}
	switch {
	case failed != "":
	case r.TimedOut:
		failed = "out of time"
	case r.Signal != "":
		failed = "ended by signal " + r.Signal
	}
	c.Task.Acceptance.Finish(pending[0], AcceptanceFinding{
		Exit: r.Exit, SHA256: r.SHA256, Output: r.Output, Tree: pending[0].Tree, Failed: failed,
	})
}

// Checked handles the result of a check, and reports whether the processing of its document continues.
func (c *DocumentContext) Checked(f input.Checked) bool {
	h := c.Handoff.Edit(f.Serial)
	if h == nil || h.Document == nil || f.Number > h.ChecksOf(c.Options.CheckTimeout) ||
		f.Number != len(h.Receipts)+1 || f.Request != "" && f.Request != h.Request {
		return false // its time was over, or it is run again
	}
	c.Permission.CheckOver(c.Out, h.Request, "the check is over")
	check := h.Document.Checks[f.Number-1]
	r := Receipt(check, f.Result, f.Failed)
	h.Receipts, h.Request = append(slices.Clip(h.Receipts), r), ""
	if h.Kind == KindAccept {
		c.CriterionChecked(f.Result, f.Failed)
		return true
	}
	e := contract.Check{Number: f.Number, Of: len(h.Document.Checks), Receipt: r, Again: h.Kind == KindRepeated}
	if p, ok := c.Handoff.Proof(check); ok && e.Again && r.Result == verdict.CheckFailed {
		if by := p.LastChange(c.Changes).Agent; by != "" {
			e.Agents = []string{by}
		}
	}
	c.Out.Emit(h.Author(c.Roster, f.Number-1).ID, e)
	return true
}

// Inspected generates the document of an agent that can no longer write it, from the results of an inspection.
// It reports whether the processing of the document continues.
func (c *DocumentContext) Inspected(f input.Inspected) bool {
	h := c.Handoff.Edit(f.Serial)
	if h == nil || h.Document != nil {
		return false
	}
	a, _ := c.Roster.Agent(h.Agent.ID)
	if f.Failed != "" {
		f.Result.Problems = append(slices.Clip(f.Result.Problems), f.Failed)
	}
	h.Document = GenerateHandoff(HandoffSource{
		Agent: a, Why: h.Why, Seen: f.Result, Plan: c.Task.Plan, Recent: c.Conversation.RecentMessages,
		Name: c.Roster.DisplayName,
	})
	return true
}

// OutOfTime ends the current step of a document whose time is over, and records what was not done. It reports
// whether the processing of the document continues.
func (c *DocumentContext) OutOfTime(serial int) bool {
	h := c.Handoff.Edit(serial)
	switch {
	case h == nil:
		return false
	case h.Document == nil:
		return c.Inspected(input.Inspected{Serial: serial, Failed: "nothing was found out in time"})
	case c.Halted: // its time begins anew when the run continues
		return false
	}
	for n := len(h.Receipts); n < h.ChecksOf(c.Options.CheckTimeout); n++ {
		h.Receipts = append(slices.Clip(h.Receipts),
			Receipt(h.Document.Checks[n], bridge.CheckResult{}, "out of time"))
	}
	c.dropCheck(h.Request, "the check is out of time")
	if h.MustMerge(c.Roster) {
		c.Handoff.Merges.Drop(c.Out, serial)
		h.Merged = &input.IsolationOutcome{Document: serial, Agent: h.Agent.ID, Why: "the merge is out of time"}
	}
	return true
}

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
