package supervisor

import (
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

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
