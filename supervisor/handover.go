package supervisor

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// handOver begins the way of a document.
func (st *step) handOver(h Handover) {
	st.DocumentSerial++
	h.Serial = st.DocumentSerial
	if a := st.Edit(h.Agent.ID); a != nil && h.Document != nil && h.Agent.ID != contract.Arbiter {
		a.Document, a.Receipts, a.GeneratedWhy, a.DocumentSerial = h.Document, nil, h.Why, h.Serial
	}
	st.PendingHandoffs = append(slices.Clone(st.PendingHandoffs), h)
	if st.advance(h.Serial) {
		st.do(effect.SetTimer{Key: handoverKey(h.Serial), After: patience(&h)})
	}
}

// patience bounds a document's way; a repetition has it for each ten checks.
func patience(h *Handover) time.Duration {
	if h.Kind != handFinal {
		return handoverPatience
	}
	return handoverPatience * time.Duration(1+len(h.Document.Checks)/maxChecks)
}

// advance does the next thing on a document's way, and reports whether it is still
// under way: a survey to draw it up from, a check, or its delivery.
func (st *step) advance(serial int) bool {
	h := st.handover(serial)
	switch {
	case h == nil:
		return false
	case h.Document == nil:
		a, _ := st.Agent(h.Agent.ID)
		st.do(effect.Survey{Serial: serial, Params: bridge.InspectParams{SessionID: a.SessionID, CWD: st.Options.CWD, Env: st.Options.Env, Sandbox: st.Options.Sandbox}})
		return true
	case len(h.Receipts) < st.checksOf(h) && st.Halted:
		return true // until the human says so
	case len(h.Receipts) < st.checksOf(h):
		h.Request = st.newMessageID()
		if a, ok := st.Agent(h.Agent.ID); ok {
			h.Agent = a.AgentRef // it may have been started again
		}
		n := len(h.Receipts)
		st.do(effect.RunCheck{
			Serial: serial, Number: n + 1, Agent: st.author(h, n), Request: h.Request, Again: h.Kind == handFinal,
			Params: bridge.CheckParams{
				Command: h.Document.Checks[n].Command, CWD: st.Options.CWD,
				TimeoutMS: int(st.Options.CheckTimeout.Milliseconds()), Env: st.Options.Env,
				Sandbox: st.Options.Sandbox,
			},
		})
		return true
	case st.overtakes(h):
		return true // what its author said first is heard first
	}
	done := *h
	st.PendingHandoffs = slices.DeleteFunc(slices.Clone(st.PendingHandoffs), func(x Handover) bool { return x.Serial == serial })
	st.handedOver(done)
	for _, next := range st.PendingHandoffs {
		if next.Agent.ID == done.Agent.ID && next.Document != nil && len(next.Receipts) >= st.checksOf(&next) {
			st.advance(next.Serial)
			break
		}
	}
	return false
}

// author is whose check the nth of a document is, counted from 0.
func (s *State) author(h *Handover, n int) bridge.AgentRef {
	if n >= len(h.Authors) {
		return h.Agent
	}
	if a, ok := s.Agent(h.Authors[n].ID); ok {
		return a.AgentRef
	}
	return h.Authors[n]
}

// handover returns a writable document under way, or nil.
func (st *step) handover(serial int) *Handover {
	i := slices.IndexFunc(st.PendingHandoffs, func(h Handover) bool { return h.Serial == serial })
	if i < 0 {
		return nil
	}
	st.PendingHandoffs = slices.Clone(st.PendingHandoffs)
	return &st.PendingHandoffs[i]
}

// goOn takes up what an earlier process had begun on each document's way.
func (st *step) goOn() {
	for _, h := range slices.Clone(st.PendingHandoffs) {
		if st.advance(h.Serial) {
			st.do(effect.SetTimer{Key: handoverKey(h.Serial), After: patience(&h)})
		}
	}
}

// forgetHandovers drops all documents under way but the Arbiter's own, which is renewed
// all the same.
func (st *step) forgetHandovers() {
	st.Completing = nil
	var kept []Handover
	for _, h := range st.PendingHandoffs {
		if h.Kind == handRenew {
			kept = append(kept, h)
			continue
		}
		st.do(effect.SetTimer{Key: handoverKey(h.Serial)})
		st.dropCheck(h.Request, "the document is not wanted any more")
	}
	st.PendingHandoffs = kept
}

// surveyed takes what was seen of an agent that can no longer speak.
func (st *step) surveyed(f input.Surveyed) {
	if st.takeoverInspected(f) {
		return
	}
	h := st.handover(f.Serial)
	if h == nil || h.Document != nil {
		return
	}
	a, _ := st.Agent(h.Agent.ID)
	if f.Failed != "" {
		f.Result.Trouble = append(slices.Clip(f.Result.Trouble), f.Failed)
	}
	h.Document = st.generateHandoff(a, h.Why, f.Result)
	st.advance(f.Serial)
}

// handoverLate ends a document's way whose time is over: what was not done is said
// to be so.
func (st *step) handoverLate(of string) {
	serial, _ := strconv.Atoi(of) // serials count from 1
	late := st.handover(serial)
	switch {
	case late == nil:
	case late.Document == nil:
		st.surveyed(input.Surveyed{Serial: serial, Failed: "nothing was found out in time"})
	case st.Halted: // its time begins anew
	default:
		for n := len(late.Receipts); n < st.checksOf(late); n++ {
			late.Receipts = append(slices.Clip(late.Receipts), receipt(late.Document.Checks[n], input.Checked{Failed: "out of time"}))
		}
		st.dropCheck(late.Request, "the check is out of time")
		st.advance(serial)
	}
}

// handedOver delivers a document.
func (st *step) handedOver(h Handover) {
	st.do(effect.SetTimer{Key: handoverKey(h.Serial)})
	id := h.Agent.ID
	switch h.Kind {
	case handRenew:
		st.renewed(h)
		return
	case handFinal:
		st.repeated(h)
		return
	case handDone, handOff:
		st.prove(h)
	}
	if a := st.Edit(id); a != nil && a.DocumentSerial <= h.Serial { // it may have given another since
		a.Document, a.Receipts, a.GeneratedWhy, a.DocumentSerial = h.Document, h.Receipts, h.Why, h.Serial
	}
	if h.Kind == handDone || h.Kind == handOff {
		st.settleWork(h)
		st.planFrom(h)
	}
	text, attached := documented(h)
	switch h.Kind {
	case handDone:
		passed, failed, open := h.Document.Tally(h.Receipts)
		st.LastProof = Proof{Agent: id, Passed: passed, Failed: failed, Open: open}
		st.emit(id, handoffEvent(id, contract.Arbiter, h))
		st.exchange()
		st.post(conversation.Mail{From: id, To: contract.Arbiter, Kind: verdict.KindDone, Text: text, Attached: attached})
	case handOff:
		st.queueForSuccessor(h)
		st.exchange()
		st.post(conversation.Mail{From: id, To: contract.Arbiter, Kind: verdict.KindHandoff, Text: text, Attached: attached})
	case handGone:
		st.queueForSuccessor(h)
		st.tellOf(text+"\n\nThe next Orchestrator you summon receives this record. Rule how the work goes on.", attached)
	case handKill:
		st.tellOf(text+"\n\nsuccessor_of "+id+" passes this record on.", attached)
	case handLeft:
		for _, a := range attached { // an entry of the work log is a report as a whole
			text += "\n\n" + a.Text
		}
		st.log(contract.Supervisor, conversation.KindNotice, text+"\n\nsuccessor_of "+id+" passes this record on.")
	}
}

// handoffEvent tells the faces that a document is passed on.
func handoffEvent(from, to string, h Handover) contract.Handoff {
	return contract.Handoff{
		From: from, To: to, Document: h.Document, Receipts: h.Receipts, Proofs: h.Document.Proofs(h.Receipts), DrawnUp: h.Why,
	}
}

// documentText renders a document for a model.
func documentText(d *verdict.Document, receipts []verdict.Receipt, drawnUp string) string {
	text := d.Proven(receipts)
	if drawnUp != "" {
		return "# Record, drawn up by the supervisor\n\n" + text
	}
	if len(d.Checks) > 0 {
		passed, failed, open := d.Tally(receipts)
		text += fmt.Sprintf("\nThe supervisor ran the checks itself: %d passed, %d failed, %d prove nothing.\n", passed, failed, open)
	}
	return text
}
