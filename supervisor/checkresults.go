package supervisor

import (
	"slices"
	"strconv"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/isolation"
	"github.com/arbiter-cli/arbiter/supervisor/process"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// checked takes what came of a check.
func (st *step) checked(f input.Checked) {
	h := st.Handoff.Edit(f.Serial)
	if h == nil || h.Document == nil || f.Number > h.ChecksOf(st.Options.CheckTimeout) ||
		f.Number != len(h.Receipts)+1 || f.Request != "" &&
		f.Request != h.Request {
		return // its time was over, or it is run again
	}
	st.withdrawCheck(h.Request, "the check is over")
	check := h.Document.Checks[f.Number-1]
	r := handoff.Receipt(check, f.Result, f.Failed)
	h.Receipts, h.Request = append(slices.Clip(h.Receipts), r), ""
	if h.Kind == handoff.KindAccept {
		st.criterionChecked(f.Result, f.Failed)
		st.advance(f.Serial)
		return
	}
	e := contract.Check{Number: f.Number, Of: len(h.Document.Checks), Receipt: r, Again: h.Kind == handoff.KindRepeated}
	if p, ok := st.Handoff.Proof(check); ok && e.Again && r.Result == verdict.CheckFailed {
		if by := p.LastChange(&st.Changes).Agent; by != "" {
			e.Agents = []string{by}
		}
	}
	st.emit(h.Author(&st.Roster, f.Number-1).ID, e)
	st.advance(f.Serial)
}

// surveyed takes what was seen of an agent that can no longer speak.
func (st *step) surveyed(f input.Inspected) {
	var taken bool
	st.takeover(func(c *process.Context) { taken = c.TakeoverInspected(f) })
	if taken {
		return
	}
	h := st.Handoff.Edit(f.Serial)
	if h == nil || h.Document != nil {
		return
	}
	a, _ := st.Agent(h.Agent.ID)
	if f.Failed != "" {
		f.Result.Trouble = append(slices.Clip(f.Result.Trouble), f.Failed)
	}
	h.Document = handoff.Generate(handoff.Source{
		Agent: a, Why: h.Why, Seen: f.Result, Plan: st.Task.Plan, Recent: st.Conversation.RecentMessages,
		Name: st.DisplayName,
	})
	st.advance(f.Serial)
}

// handoverLate ends a document's way whose time is over: what was not done is said
// to be so.
func (st *step) handoverLate(of string) {
	serial, _ := strconv.Atoi(of) // serials count from 1
	late := st.Handoff.Edit(serial)
	switch {
	case late == nil:
	case late.Document == nil:
		st.surveyed(input.Inspected{Serial: serial, Failed: "nothing was found out in time"})
	case st.Halted: // its time begins anew
	default:
		for n := len(late.Receipts); n < late.ChecksOf(st.Options.CheckTimeout); n++ {
			late.Receipts = append(slices.Clip(late.Receipts),
				handoff.Receipt(late.Document.Checks[n], bridge.CheckResult{}, "out of time"))
		}
		st.dropCheck(late.Request, "the check is out of time")
		if late.MustMerge(&st.Roster) {
			st.Handoff.Merges.Drop(&st.out, serial)
			late.Merged = &isolation.Outcome{Document: serial, Agent: late.Agent.ID, Why: "the merge is out of time"}
		}
		st.advance(serial)
	}
}

// goOn takes up what an earlier process had begun on each document's way.
func (st *step) goOn() {
	st.judgeAnew() // the files may have changed meanwhile
	st.Handoff.Merges.Again(&st.out)
	st.repeatRecorded()
	for _, h := range slices.Clone(st.Handoff.Documents) {
		if st.advance(h.Serial) {
			st.do(effect.SetTimer{Key: handoverKey(h.Serial), After: h.Patience()})
		}
	}
}

// judgeAnew judges the COMPLETE at hand once more, in another process: the files may be others.
func (st *step) judgeAnew() {
	dropped := st.Handoff.RemoveWhere(func(h *handoff.Handover) bool { return h.Kind == handoff.KindAccept })
	for _, h := range dropped {
		st.out.StopTimer(handoverKey(h.Serial))
		st.dropCheck(h.Request, "the acceptance criteria are judged anew")
	}
	if len(dropped) > 0 && st.Handoff.Completing != nil {
		st.judge()
	}
}
