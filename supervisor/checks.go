package supervisor

import (
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
)

// timeoutOf bounds one check of a document.
func (s *State) timeoutOf(h *handoff.Handover) time.Duration {
	if h.Kind == handoff.KindAccept {
		return handoff.AcceptTimeout
	}
	return s.Options.CheckTimeout
}

// author is whose check the nth of a document is, counted from 0.
func (s *State) author(h *handoff.Handover, n int) bridge.AgentRef {
	if n >= len(h.Authors) {
		return h.Agent
	}
	if a, ok := s.Agent(h.Authors[n].ID); ok {
		return a.AgentRef
	}
	return h.Authors[n]
}

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

// handoffEvent tells the faces that a document is passed on.
func handoffEvent(from, to string, h handoff.Handover) contract.Handoff {
	return contract.Handoff{
		From: from, To: to, Document: h.Document, Receipts: h.Receipts, Proofs: h.Document.Proofs(h.Receipts),
		DrawnUp: h.Why,
	}
}

// checksOf is how many checks of a document are run.
func (st *step) checksOf(h *handoff.Handover) int {
	if st.Options.CheckTimeout <= 0 && h.Kind != handoff.KindAccept {
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

// cancelSuccession: one that was given up comes back, and nobody succeeds it.
func (st *step) cancelSuccession(id string) {
	for _, serial := range st.Handoff.CancelSuccession(id) {
		st.out.StopTimer(handoverKey(serial))
	}
}

// tellOf posts the supervisor's own word to the Arbiter, with what is attached to it.
func (st *step) tellOf(text string, attached []conversation.Attached) {
	st.post(conversation.Mail{From: contract.Supervisor, To: contract.Arbiter, Kind: conversation.KindNotice,
		Text: text, Attached: attached})
}
