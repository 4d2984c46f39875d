package supervisor

import (
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// checksOf is how many checks of a document are run.
func (st *step) checksOf(h *handoff.Handover) int {
	if st.Options.CheckTimeout <= 0 {
		return 0
	}
	return h.ChecksOf()
}

// dropCheck ends a check that is not awaited longer.
func (st *step) dropCheck(request, why string) {
	if request != "" {
		st.withdrawCheck(request, why)
		st.do(effect.Drop{Request: request})
	}
}

// withdrawCheck ends the wait for its permission.
func (st *step) withdrawCheck(request, why string) {
	st.Permission.CheckOver(&st.out, request, why)
}

// loseChecks: the checks under way are lost with their bridge, and run again with the
// next one.
func (st *step) loseChecks() {
	for _, h := range slices.Clone(st.Handoff.Documents) {
		st.dropCheck(h.Request, "the check is run again")
		st.Handoff.Edit(h.Serial).Request = ""
	}
}

// checked takes what came of a check.
func (st *step) checked(f input.Checked) {
	h := st.Handoff.Edit(f.Serial)
	if h == nil || h.Document == nil || f.Number > st.checksOf(h) || f.Number != len(h.Receipts)+1 || f.Request != "" && f.Request != h.Request {
		return // its time was over, or it is run again
	}
	st.withdrawCheck(h.Request, "the check is over")
	check := h.Document.Checks[f.Number-1]
	r := handoff.Receipt(check, f.Result, f.Failed)
	h.Receipts, h.Request = append(slices.Clip(h.Receipts), r), ""
	st.emit(st.author(h, f.Number-1).ID, contract.Check{Number: f.Number, Of: len(h.Document.Checks), Receipt: r, Again: h.Kind == handoff.KindRepeated})
	st.advance(f.Serial)
}
