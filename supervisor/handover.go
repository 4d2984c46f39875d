package supervisor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// Handover is a document on its way from its author to whom it concerns. The
// supervisor runs its checks on the way, and writes it where the author no longer can.
type Handover struct {
	Serial   int             // names it among all of the run
	Agent    bridge.AgentRef // whose work it is about
	Kind     handKind
	Message  string            // what is said with it
	Why      string            // the supervisor draws it up; empty: the author gave it
	Document *verdict.Document // nil until it is drawn up
	Receipts []verdict.Receipt // of its checks so far
	Request  string            // the check under way, as a permission request
	Taken    bool              // a successor was summoned meanwhile
}

// handKind says what becomes of a document.
type handKind string

const (
	handDone  handKind = "done"    // to the Arbiter, with the Orchestrator's `done`
	handOff   handKind = "handoff" // to the Arbiter, and to the next Orchestrator summoned
	handGone  handKind = "gone"    // the same, for one that can speak no more
	handLeft  handKind = "left"    // into the work log: it was let go before its work was done
	handKill  handKind = "killed"  // to the Arbiter: the human ended it
	handRenew handKind = "renew"   // from one Arbiter to the next
)

const (
	// maxChecks of one document are run; a hand-off must not become a test plan.
	maxChecks = 10
	// handoverPatience bounds a document's way: the work waits for it.
	handoverPatience = 10 * time.Minute
	handoverPrefix   = "handover/"
)

func handoverKey(serial int) string { return fmt.Sprintf("%s%d", handoverPrefix, serial) }

// handOver begins the way of a document.
func (st *step) handOver(h Handover) {
	st.Serial++
	h.Serial = st.Serial
	if a := st.edit(h.Agent.ID); a != nil && h.Document != nil && h.Agent.ID != contract.Arbiter {
		a.Document, a.Receipts, a.DrawnUp, a.Paper = h.Document, nil, h.Why, h.Serial
	}
	st.Handovers = append(slices.Clone(st.Handovers), h)
	if st.advance(h.Serial) {
		st.do(SetTimer{Key: handoverKey(h.Serial), After: handoverPatience})
	}
}

// advance does the next thing on a document's way, and says whether it is still
// under way: a survey to draw it up from, a check, or its delivery.
func (st *step) advance(serial int) bool {
	h := st.handover(serial)
	switch {
	case h == nil:
		return false
	case h.Document == nil:
		a, _ := st.agent(h.Agent.ID)
		st.do(Survey{Serial: serial, Params: bridge.SurveyParams{SessionID: a.SessionID, CWD: st.Options.CWD, Env: st.Options.Env}})
		return true
	case len(h.Receipts) < st.checksOf(h):
		h.Request = st.newMessageID()
		if a, ok := st.agent(h.Agent.ID); ok {
			h.Agent = a.AgentRef // it may have been started again
		}
		n := len(h.Receipts)
		st.do(RunCheck{
			Serial: serial, Number: n + 1, Agent: h.Agent, Request: h.Request,
			Params: bridge.CheckParams{
				Command: h.Document.Checks[n].Command, CWD: st.Options.CWD,
				TimeoutMS: int(st.Options.CheckTimeout.Milliseconds()), Env: st.Options.Env,
			},
		})
		return true
	case st.overtakes(h):
		return true // what its author said first is heard first
	}
	done := *h
	st.Handovers = slices.DeleteFunc(slices.Clone(st.Handovers), func(x Handover) bool { return x.Serial == serial })
	st.handedOver(done)
	for _, next := range st.Handovers {
		if next.Agent.ID == done.Agent.ID && next.Document != nil && len(next.Receipts) >= st.checksOf(&next) {
			st.advance(next.Serial)
			break
		}
	}
	return false
}

// overtakes says whether a document is ready before an earlier one of its author.
func (st *step) overtakes(h *Handover) bool {
	return slices.ContainsFunc(st.Handovers, func(x Handover) bool { return x.Agent.ID == h.Agent.ID && x.Serial < h.Serial })
}

// checksOf is how many checks of a document are run.
func (st *step) checksOf(h *Handover) int {
	if st.Options.CheckTimeout <= 0 || h.Why != "" || st.Options.Rules < rulesOfHandover {
		return 0
	}
	return min(len(h.Document.Checks), maxChecks)
}

// handover returns a writable document under way, or nil.
func (st *step) handover(serial int) *Handover {
	i := slices.IndexFunc(st.Handovers, func(h Handover) bool { return h.Serial == serial })
	if i < 0 {
		return nil
	}
	st.Handovers = slices.Clone(st.Handovers)
	return &st.Handovers[i]
}

// bequeath lets a document go to the next Orchestrator summoned, after those that wait
// already: the Arbiter reads of them in that order.
func (st *step) bequeath(h Handover) {
	id := h.Agent.ID
	switch {
	case st.Options.Rules < rulesOfHandover || st.Handoff == "" && !h.Taken:
		st.Handoff = id
	case h.Taken || st.Handoff == id || slices.Contains(st.Handoffs, id):
	default:
		st.Handoffs = append(slices.Clip(st.Handoffs), id)
	}
}

// bequeathed: a successor to this one was summoned, or is not wanted any more.
func (st *step) bequeathed(id string) {
	if st.Options.Rules >= rulesOfHandover {
		st.Handoffs = without(st.Handoffs, id)
		st.Handovers = slices.Clone(st.Handovers)
		for i := range st.Handovers {
			st.Handovers[i].Taken = st.Handovers[i].Taken || st.Handovers[i].Agent.ID == id
		}
	}
	if st.Handoff != id {
		return
	}
	st.Handoff = ""
	if len(st.Handoffs) > 0 {
		st.Handoff, st.Handoffs = st.Handoffs[0], st.Handoffs[1:]
	}
}

// disinherit: one that was given up comes back, and nobody succeeds it.
func (st *step) disinherit(id string) {
	if st.Options.Rules < rulesOfHandover {
		return
	}
	st.bequeathed(id)
	st.Handovers = slices.DeleteFunc(slices.Clone(st.Handovers), func(h Handover) bool {
		gone := h.Agent.ID == id && h.Kind == handGone
		if gone {
			st.do(SetTimer{Key: handoverKey(h.Serial)})
		}
		return gone
	})
}

// isCheck says whether a permission is asked for a check under way.
func (s *State) isCheck(request string) bool {
	return slices.ContainsFunc(s.Handovers, func(h Handover) bool { return h.Request != "" && h.Request == request })
}

// withdrawCheck ends the wait for the permission of a check that is not awaited longer.
func (st *step) withdrawCheck(request, why string) {
	for _, p := range st.Permits {
		if request == "" || p.Params.Request != request {
			continue
		}
		st.takePermit(p.ID)
		st.decidePermit(p, bridge.Deny, "withdrawn", why)
	}
}

// loseChecks: the checks under way are lost with their bridge, and run again with the
// next one.
func (st *step) loseChecks() {
	for _, h := range slices.Clone(st.Handovers) {
		st.withdrawCheck(h.Request, "the check is run again")
		st.handover(h.Serial).Request = ""
	}
}

// goOn takes up what an earlier process had begun on each document's way.
func (st *step) goOn() {
	for _, h := range slices.Clone(st.Handovers) {
		if st.advance(h.Serial) {
			st.do(SetTimer{Key: handoverKey(h.Serial), After: handoverPatience})
		}
	}
}

// forgetHandovers drops all documents under way but the Arbiter's own, which is renewed
// all the same.
func (st *step) forgetHandovers() {
	var kept []Handover
	for _, h := range st.Handovers {
		if h.Kind == handRenew {
			kept = append(kept, h)
			continue
		}
		st.do(SetTimer{Key: handoverKey(h.Serial)})
		st.withdrawCheck(h.Request, "the document is not wanted any more")
	}
	st.Handovers = kept
}

// documentDue says whether a document is under way that somebody will be told of.
func (s *State) documentDue() bool {
	return slices.ContainsFunc(s.Handovers, func(h Handover) bool { return h.Kind != handLeft })
}

// checked takes what came of a check.
func (st *step) checked(f Checked) {
	h := st.handover(f.Serial)
	if h == nil || h.Document == nil || f.Number > st.checksOf(h) || f.Number != len(h.Receipts)+1 || f.Request != "" && f.Request != h.Request {
		return // its time was over, or it is run again
	}
	st.withdrawCheck(h.Request, "the check is over")
	check := h.Document.Checks[f.Number-1]
	r := receipt(check, f)
	h.Receipts, h.Request = append(slices.Clip(h.Receipts), r), ""
	st.emit(h.Agent.ID, contract.Check{Number: f.Number, Of: len(h.Document.Checks), Receipt: r})
	st.advance(f.Serial)
}

// receiptOutput is how much of a check's output its receipt quotes, in bytes.
const receiptOutput = 1000

func receipt(c verdict.Check, f Checked) verdict.Receipt {
	r := verdict.Receipt{Command: c.Command, Expect: c.Expect, Exit: -1, Result: verdict.CheckUnrun, Why: f.Failed}
	if f.Failed != "" {
		return r
	}
	x := f.Result
	r.Exit, r.SHA256, r.Bytes, r.DurationMS = x.Exit, x.SHA256, x.Bytes, x.DurationMS
	r.Output = tailOf(x.Output, receiptOutput)
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

// tailOf is the end of a text, on a rune border.
func tailOf(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[len(s)-n:], "")
}

// surveyed takes what was seen of an agent that can no longer speak.
func (st *step) surveyed(f Surveyed) {
	h := st.handover(f.Serial)
	if h == nil || h.Document != nil {
		return
	}
	a, _ := st.agent(h.Agent.ID)
	if f.Failed != "" {
		f.Result.Trouble = append(slices.Clip(f.Result.Trouble), f.Failed)
	}
	h.Document = st.drawUp(a, h.Why, f.Result)
	st.advance(f.Serial)
}

// handoverLate ends a document's way whose time is over: what was not done is said
// to be so.
func (st *step) handoverLate(key string) bool {
	if !strings.HasPrefix(key, handoverPrefix) {
		return false
	}
	for _, h := range st.Handovers {
		if handoverKey(h.Serial) != key {
			continue
		}
		late := st.handover(h.Serial)
		if late.Document == nil {
			st.surveyed(Surveyed{Serial: h.Serial, Failed: "nothing was found out in time"})
			return true
		}
		for n := len(late.Receipts); n < st.checksOf(late); n++ {
			late.Receipts = append(slices.Clip(late.Receipts), receipt(late.Document.Checks[n], Checked{Failed: "out of time"}))
		}
		st.withdrawCheck(late.Request, "the check is out of time")
		st.advance(h.Serial)
		return true
	}
	return true
}

// handedOver delivers a document.
func (st *step) handedOver(h Handover) {
	if st.Options.Rules >= rulesOfHandover {
		st.do(SetTimer{Key: handoverKey(h.Serial)})
	}
	id := h.Agent.ID
	if h.Kind == handRenew {
		st.renewed(h)
		return
	}
	if a := st.edit(id); a != nil && a.Paper <= h.Serial { // it may have given another since
		a.Document, a.Receipts, a.DrawnUp, a.Paper = h.Document, h.Receipts, h.Why, h.Serial
	}
	text := h.Message + "\n\n" + st.documentText(h.Document, h.Receipts, h.Why)
	if st.Options.Rules >= rulesOfHandover {
		text = strings.TrimSpace(text)
	}
	switch h.Kind {
	case handDone:
		passed, failed, open := verdict.Tally(h.Receipts)
		st.Proof = Proof{Agent: id, Passed: passed, Failed: failed, Open: open + len(h.Document.Checks) - len(h.Receipts)}
		st.emit(id, st.handoffEvent(id, contract.Arbiter, h))
		st.exchange()
		st.post(Mail{From: id, To: contract.Arbiter, Kind: verdict.KindDone, Text: text})
	case handOff:
		st.bequeath(h)
		st.exchange()
		st.post(Mail{From: id, To: contract.Arbiter, Kind: verdict.KindHandoff, Text: text})
	case handGone:
		st.bequeath(h)
		st.tell(contract.Arbiter, KindNotice, text+"\n\nThe next Orchestrator you summon receives this record. Rule how the work goes on.")
	case handKill:
		st.tell(contract.Arbiter, KindNotice, text+"\n\nsuccessor_of "+id+" passes this record on.")
	case handLeft:
		st.log(contract.Supervisor, KindNotice, text+"\n\nsuccessor_of "+id+" passes this record on.")
	}
}

// doubt says, once for each document, what speaks against completing on it.
func (st *step) doubt() string {
	p := st.Proof
	if p.Failed == 0 || p.Doubted {
		return ""
	}
	st.Proof.Doubted = true
	return fmt.Sprintf("COMPLETE over the `done` of %s, though %d of its checks failed when the supervisor ran them. Send it back, or, if they are wrong, "+
		"rule COMPLETE again and say in `summary` why they do not count.", p.Agent, p.Failed)
}

// handoffEvent tells the faces that a document is passed on.
func (s *State) handoffEvent(from, to string, h Handover) contract.Handoff {
	e := contract.Handoff{From: from, To: to, Document: h.Document, Receipts: h.Receipts, DrawnUp: h.Why}
	if s.Options.Rules >= rulesOfHandover {
		e.Proofs = h.Document.Proofs(h.Receipts)
	}
	return e
}

// documentText renders a document for a model.
func (s *State) documentText(d *verdict.Document, receipts []verdict.Receipt, drawnUp string) string {
	if s.Options.Rules < rulesOfHandover {
		return d.Markdown()
	}
	text := d.Proven(receipts)
	if drawnUp != "" {
		return "# Record, drawn up by the supervisor\n\n" + text
	}
	if len(d.Checks) > 0 {
		passed, failed, open := verdict.Tally(receipts)
		open += len(d.Checks) - len(receipts)
		text += fmt.Sprintf("\nThe supervisor ran the checks itself: %d passed, %d failed, %d prove nothing.\n", passed, failed, open)
	}
	return text
}
