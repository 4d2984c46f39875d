package supervisor

import (
	"fmt"
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// handOver begins to process a document.
func (st *step) handOver(h Handover) {
	h.Serial = st.Handoff.Add(h)
	if a := st.Edit(h.Agent.ID); a != nil && h.Document != nil && h.Agent.ID != contract.Arbiter {
		a.Document, a.Receipts, a.GeneratedWhy, a.DocumentSerial = h.Document, nil, h.Why, h.Serial
	}
	st.goOnWith(h)
}

// goOnWith continues to process a document, whose time limit begins anew.
func (st *step) goOnWith(h Handover) {
	limit := h.MaxDuration()
	if st.advance(h.Serial) {
		st.do(input.SetTimer{Key: fmt.Sprint(HandoffTimerPrefix, h.Serial), After: limit})
	}
}

// advance does the next step for a document, and reports whether it is still being processed. When all steps are done,
// it removes the document and delivers it.
func (st *step) advance(serial int) bool {
	h := st.Handoff.Edit(serial)
	if h == nil {
		return false
	}
	switch unrun := h.Document != nil && len(h.Receipts) < h.ChecksOf(st.Options.CheckTimeout); {
	case h.Document == nil:
		a, _ := st.Agent(h.Agent.ID)
		st.inspect(&a, serial, bridge.InspectParams{})
	case st.Halted && (h.Earlier || unrun || h.MustMerge(&st.Roster)): // until the human continues the run
	case h.Earlier || unrun:
		st.runCheck(h)
	case h.MustMerge(&st.Roster):
		st.Handoff.Merges.Ask(&st.out, serial, h.Agent.ID)
	case st.Handoff.Overtakes(h): // documents of one author are delivered in order
	default:
		done := *h
		st.Handoff.Remove(func(h *Handover) bool { return h.Serial == serial })
		st.handedOver(done)
		st.advanceNext(done.Agent.ID)
		return false
	}
	return true
}

// advanceNext goes on with the document of an author that waited for an earlier one.
func (st *step) advanceNext(author string) {
	if next := st.Handoff.Ready(author, st.Options.CheckTimeout); next != 0 {
		st.advance(next)
	}
}

// handedOver delivers a document.
func (st *step) handedOver(h Handover) {
	st.out.StopTimer(fmt.Sprint(HandoffTimerPrefix, h.Serial))
	id := h.Agent.ID
	switch h.Kind {
	case HandoffKindRenewal:
		st.renew(h, st.RenewalBrief(h))
		return
	case KindRepeated:
		st.repeated(h)
		return
	case KindAccept:
		st.criteriaFinished()
		return
	}
	st.recordDocument(h)
	text, attached := ForArbiter(h)
	switch h.Kind {
	case KindDone, KindHandoff:
		succeeds := func(a *Agent) bool { return a.Predecessor == id && a.Alive() } // it went on after a hand-off
		if h.Kind == KindDone {
			st.emit(id, h.Event(id, contract.Arbiter))
		} else if !slices.ContainsFunc(st.Agents, succeeds) {
			st.Handoff.QueueForSuccessor(h)
		}
		st.exchange()
		st.post(Mail{From: id, To: contract.Arbiter, Kind: string(h.Kind), Text: text, Attached: attached})
	case KindGone:
		st.Handoff.QueueForSuccessor(h)
		st.tell(text+"\n\nThe next Orchestrator that you summon receives this record. Decide how the work goes on.",
			attached...)
	case KindKilled:
		st.tell(text+"\n\nsuccessor_of "+id+" passes this record to the Orchestrator that you summon.", attached...)
	case KindReleased:
		for _, a := range attached { // an entry of the work log is a complete report
			text += "\n\n" + a.Text
		}
		st.logNotice(text + "\n\nsuccessor_of " + id + " passes this record to the Orchestrator that you summon.")
	}
}

// A COMPLETE takes effect only after the checks of all documents of the task have run once more, no matter who
// decided it: one agent may have broken what another agent proved. Checks that no longer hold go back to the
// decider. A decider that rules COMPLETE again has been informed of them, and the result reports them. The
// rules never rule COMPLETE over failed checks, and are stopped after a few attempts.

// complete ends the run with a COMPLETE, once its checks have been repeated.
func (st *step) complete(v verdict.Arbiter) {
	st.dropRepetition()
	st.Handoff.Completing = &Completing{Ruling: v, Asked: st.Question.Text(), Waits: true}
	if !st.Changes.Pending() {
		st.repeatChecks()
	}
}

// repeatRecorded goes on with a COMPLETE that has waited until the file changes of the last turns are recorded.
func (st *step) repeatRecorded() {
	if c := st.Handoff.Completing; c != nil && c.Waits && !st.Changes.Pending() && !st.overtaken(c) {
		st.repeatChecks()
	}
}

// repeatChecks repeats the checks of the current COMPLETE.
func (st *step) repeatChecks() {
	if st.sendBackOpen() {
		return
	}
	waited := *st.Handoff.Completing
	waited.Waits = false
	st.Handoff.Completing = &waited
	checks, authors := st.Handoff.ToRepeat()
	doc := verdict.Document{Checks: checks}
	if len(doc.Checks) == 0 || st.Options.CheckTimeout <= 0 {
		st.judge()
		return
	}
	doc.Normalize()
	st.handOver(Handover{Agent: bridge.AgentRef{ID: contract.Supervisor}, Kind: KindRepeated,
		Document: &doc, Authors: authors})
}

// repeated takes the results of the repeated checks.
func (st *step) repeated(h Handover) {
	c := st.Handoff.Completing
	if c == nil {
		return
	}
	st.Handoff.Repeated(h, func(p Proved) string { return p.LastChangeText(&st.Changes) })
	switch {
	case st.overtaken(c):
	case st.Handoff.ReportBroken():
		st.Handoff.Completing = nil
		st.sendBack()
	default:
		st.judge()
	}
}

// judge judges the current COMPLETE by the criteria.
func (st *step) judge() {
	criteria := &st.Task.Acceptance
	if len(criteria.Criteria) == 0 {
		st.concludeRuling()
		return
	}
	if !st.Changes.Judge(&st.out, st.Options.Workspace) {
		st.judgeTree("")
	}
}

// judgeTree runs the commands of the criteria on the files as they are: on a tree object of Git, or on ""
// without Git.
func (st *step) judgeTree(tree string) {
	c := st.Handoff.Completing
	judging := slices.ContainsFunc(st.Handoff.Documents, func(h Handover) bool { return h.Completes() })
	if c == nil || c.Waits || judging || st.overtaken(c) {
		return // an earlier COMPLETE asked for the tree
	}
	st.Task.Acceptance.Begin(tree)
	pending := st.Task.Acceptance.Pending()
	if len(pending) == 0 {
		st.criteriaFinished()
		return
	}
	var doc verdict.Document
	for _, c := range pending {
		doc.Checks = append(doc.Checks, verdict.Check{Command: c.Command})
	}
	doc.Normalize()
	st.handOver(Handover{
		Agent: bridge.AgentRef{ID: contract.Supervisor}, Kind: KindAccept, Document: &doc,
	})
}

// criteriaFinished ends a round: COMPLETE takes effect, goes back to its decider, or the human decides.
func (st *step) criteriaFinished() {
	c := st.Handoff.Completing
	if c == nil {
		return
	}
	for len(st.Task.Acceptance.Pending()) > 0 {
		st.Task.Acceptance.Finish(bridge.CheckResult{}, "out of time")
	}
	o, judged := st.Task.Acceptance.Judge()
	if !judged { // the criteria were changed meanwhile
		st.judge()
		return
	}
	for _, e := range st.Task.Acceptance.Events() {
		st.emit(contract.Supervisor, e)
	}
	if st.overtaken(c) {
		return
	}
	switch {
	case o.Text == "":
		if !st.sendBackOpen() { // what the criteria prove is known only now
			st.concludeRuling()
		}
	case !o.Exhausted:
		st.Handoff.Completing = nil
		st.notice(contract.Supervisor, o.Text)
		st.notifyDecider(o.Text+"\n\nWhat failed, quoted:\n"+words.QuoteLines(o.Evidence), "")
	default:
		st.Handoff.Completing = nil
		st.completesInVain(o.Text)
	}
}

// goOn continues, for each of some documents, what was cut off: their checks were dropped, or have ended with their
// bridge.
func (st *step) goOn(which func(*Handover) bool) {
	judged := st.removeDocuments("the acceptance criteria are judged again",
		func(h *Handover) bool { return h.Kind == KindAccept && which(h) })
	cut := slices.Clone(st.Handoff.Documents) // without those that begin now
	if c := st.Handoff.Completing; judged != nil && c != nil && !st.overtaken(c) {
		st.judge() // the files may have changed meanwhile
	}
	st.repeatRecorded()
	for _, h := range cut {
		if which(&h) {
			st.goOnWith(h)
		}
	}
}

// anyDocument selects every document.
func anyDocument(*Handover) bool { return true }
