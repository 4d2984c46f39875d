package supervisor

import (
	"fmt"
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// checksOf is how many checks of a document are run.
func (st *step) checksOf(h *Handover) int {
	if st.Options.CheckTimeout <= 0 || h.Why != "" {
		return 0
	}
	if h.Kind == handFinal {
		return len(h.Document.Checks)
	}
	return min(len(h.Document.Checks), maxChecks)
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
	for _, h := range slices.Clone(st.PendingHandoffs) {
		st.dropCheck(h.Request, "the check is run again")
		st.handover(h.Serial).Request = ""
	}
}

// checked takes what came of a check.
func (st *step) checked(f input.Checked) {
	h := st.handover(f.Serial)
	if h == nil || h.Document == nil || f.Number > st.checksOf(h) || f.Number != len(h.Receipts)+1 || f.Request != "" && f.Request != h.Request {
		return // its time was over, or it is run again
	}
	st.withdrawCheck(h.Request, "the check is over")
	check := h.Document.Checks[f.Number-1]
	r := receipt(check, f)
	h.Receipts, h.Request = append(slices.Clip(h.Receipts), r), ""
	st.emit(st.author(h, f.Number-1).ID, contract.Check{Number: f.Number, Of: len(h.Document.Checks), Receipt: r, Again: h.Kind == handFinal})
	st.advance(f.Serial)
}

// receiptOutput is how much of a check's output its receipt quotes, in bytes.
const receiptOutput = 1000

func receipt(c verdict.Check, f input.Checked) verdict.Receipt {
	r := verdict.Receipt{Command: c.Command, Expect: c.Expect, Exit: -1, Result: verdict.CheckUnrun, Why: f.Failed}
	if f.Failed != "" {
		return r
	}
	x := f.Result
	r.Exit, r.SHA256, r.Bytes, r.DurationMS = x.Exit, x.SHA256, x.Bytes, x.DurationMS
	r.Output = words.Tail(x.Output, receiptOutput)
	switch {
	case x.TimedOut:
		r.Result, r.Why = verdict.CheckUnrun, "it was ended: out of time"
	case x.Signal != "":
		r.Result, r.Why = verdict.CheckFailed, "signal: "+x.Signal
	default:
		r.Result, r.Why = verdict.Outcome{Exit: x.Exit, Output: x.Output, Bytes: x.Bytes}.Meets(c.Expect)
	}
	return r
}

// doubt says, once for each document, what speaks against completing on it.
func (st *step) doubt() string {
	p := st.LastProof
	if p.Failed == 0 || p.Doubted {
		return ""
	}
	st.LastProof.Doubted = true
	return fmt.Sprintf("COMPLETE over the `done` of %s, though %d of its checks failed when the supervisor ran them. Send it back, or, if they are wrong, "+
		"rule COMPLETE again and say in `summary` why they do not count.", p.Agent, p.Failed)
}
