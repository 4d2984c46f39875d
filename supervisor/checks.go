package supervisor

import (
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
)

// forgetHandovers drops all documents under way but the Arbiter's own, which is renewed
// all the same.
func (st *step) forgetHandovers() {
	st.Handoff.Completing = nil
	for _, h := range st.Handoff.RemoveWhere(func(h *handoff.Handover) bool { return h.Kind != handoff.KindRenewal }) {
		st.out.StopTimer(handoverKey(h.Serial))
		st.dropCheck(h.Request, "the document is not wanted any more")
		st.Handoff.Merges.Drop(&st.out, h.Serial)
	}
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
		st.loseCheck(&h)
	}
}

// loseCheck is that of one document.
func (st *step) loseCheck(h *handoff.Handover) {
	st.dropCheck(h.Request, "the check is run again")
	st.Handoff.Edit(h.Serial).Request = ""
}

// cancelSuccession: one that was given up comes back, and nobody succeeds it.
func (st *step) cancelSuccession(id string) {
	for _, serial := range st.Handoff.CancelSuccession(id) {
		st.out.StopTimer(handoverKey(serial))
	}
}
