package supervisor

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/acceptance"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/task"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// handOver begins the way of a document.
func (st *step) handOver(h handoff.Handover) {
	h.Serial = st.Handoff.Add(h)
	if a := st.Edit(h.Agent.ID); a != nil && h.Document != nil && h.Agent.ID != contract.Arbiter {
		a.Document, a.Receipts, a.GeneratedWhy, a.DocumentSerial = h.Document, nil, h.Why, h.Serial
	}
	if st.advance(h.Serial) {
		st.do(effect.SetTimer{Key: handoverKey(h.Serial), After: h.Patience()})
	}
}

// advance does the next thing on a document's way, and reports whether it is still
// under way: a survey to draw it up from, a check, or its delivery.
func (st *step) advance(serial int) bool {
	h := st.Handoff.Edit(serial)
	switch {
	case h == nil:
		return false
	case h.Document == nil:
		a, _ := st.Agent(h.Agent.ID)
		dir := st.Dirs().Of(a.ID)
		st.do(effect.Survey{Serial: serial, Host: a.Host, Params: bridge.InspectParams{
			SessionID: a.SessionID, CWD: dir, Env: st.Options.Env, Sandbox: st.Dirs().Sandbox(dir),
		}})
		return true
	case len(h.Receipts) < h.ChecksOf(st.Options.CheckTimeout) && st.Halted:
		return true // until the human says so
	case len(h.Receipts) < h.ChecksOf(st.Options.CheckTimeout):
		h.Request = st.mail().NewID()
		if a, ok := st.Agent(h.Agent.ID); ok {
			h.Agent = a.AgentRef // it may have been started again
		}
		n, dir := len(h.Receipts), h.Dir(st.Dirs())
		st.do(effect.RunCheck{
			Serial: serial, Number: n + 1, Host: h.Host(&st.Roster), Agent: h.Author(&st.Roster, n), Request: h.Request,
			Again:     h.Kind == handoff.KindRepeated,
			Criterion: h.Kind == handoff.KindAccept,
			Permitted: h.Kind == handoff.KindAccept && st.Task.Acceptance.IsHumansCommand(),
			Params: bridge.CheckParams{
				Command: h.Document.Checks[n].Command, CWD: dir,
				TimeoutMS: int(h.Timeout(st.Options.CheckTimeout).Milliseconds()), Env: st.Options.Env,
				Sandbox: st.Dirs().Sandbox(dir),
			},
		})
		return true
	case h.MustMerge(&st.Roster) && st.Halted:
		return true
	case h.MustMerge(&st.Roster):
		st.Handoff.Merges.Ask(&st.out, serial, h.Agent.ID)
		return true
	case st.Handoff.Overtakes(h):
		return true // what its author said first is heard first
	}
	done := *h
	st.Handoff.Remove(serial)
	st.handedOver(done)
	if next := st.Handoff.Ready(done.Agent.ID, st.Options.CheckTimeout); next != 0 {
		st.advance(next)
	}
	return false
}

// handedOver delivers a document.
func (st *step) handedOver(h handoff.Handover) {
	st.do(effect.SetTimer{Key: handoverKey(h.Serial)})
	id := h.Agent.ID
	switch h.Kind {
	case handoff.KindRenewal:
		st.renewed(h)
		return
	case handoff.KindRepeated:
		st.repeated(h)
		return
	case handoff.KindAccept:
		st.criteriaFinished()
		return
	case handoff.KindDone, handoff.KindHandoff:
		a, _ := st.Agent(id)
		st.Handoff.Prove(h, task.ModeOf(&a), h.Files(st.Dirs()))
		st.Task.Acceptance.HandedOver()
	}
	if a := st.Edit(id); a != nil && a.DocumentSerial <= h.Serial { // it may have given another since
		a.Document, a.Receipts, a.GeneratedWhy, a.DocumentSerial = h.Document, h.Receipts, h.Why, h.Serial
	}
	if h.Kind == handoff.KindDone || h.Kind == handoff.KindHandoff {
		st.settleWork(h)
		a, _ := st.Agent(id)
		if steps := st.Task.PlanFrom(&a, h.Document, &st.Options); len(steps) > 0 {
			st.setPlan(steps)
		}
	}
	text, attached := handoff.ForArbiter(h)
	switch h.Kind {
	case handoff.KindDone:
		passed, failed, open := h.Document.Tally(h.Receipts)
		st.Handoff.LastProof = handoff.Proof{Agent: id, Passed: passed, Failed: failed, Open: open}
		st.emit(id, h.Event(id, contract.Arbiter))
		st.exchange()
		st.mail().Post(conversation.Mail{From: id, To: contract.Arbiter, Kind: verdict.KindDone, Text: text,
			Attached: attached})
	case handoff.KindHandoff:
		st.Handoff.QueueForSuccessor(h)
		st.exchange()
		st.mail().Post(conversation.Mail{From: id, To: contract.Arbiter, Kind: verdict.KindHandoff, Text: text,
			Attached: attached})
	case handoff.KindGone:
		st.Handoff.QueueForSuccessor(h)
		st.mail().TellWith(text+"\n\nThe next Orchestrator you summon receives this record. Rule how the work goes on.",
			attached)
	case handoff.KindKilled:
		st.mail().TellWith(text+"\n\nsuccessor_of "+id+" passes this record on.", attached)
	case handoff.KindReleased:
		for _, a := range attached { // an entry of the work log is a report as a whole
			text += "\n\n" + a.Text
		}
		st.mail().Log(contract.Supervisor, conversation.KindNotice, text+"\n\nsuccessor_of "+id+" passes this record on.")
	}
}

// A COMPLETE takes effect when the checks of all documents of the task have been run once
// more, no matter who decided it: what one agent proved another may have broken. What no longer holds
// goes back to the decider. Who rules COMPLETE again over just that has been told, and
// the result reports it; the rules never do, and are stopped after a few times.

// complete ends the run as a COMPLETE says, once its checks have been repeated.
func (st *step) complete(v verdict.Arbiter) {
	st.dropRepetition()
	st.Handoff.Completing = &handoff.Completing{Ruling: v, Asked: st.Question.Text(), Waits: true}
	st.repeatRecorded()
}

// repeatRecorded repeats the checks of the COMPLETE at hand, once it is recorded which files the last turns changed.
func (st *step) repeatRecorded() {
	c := st.Handoff.Completing
	if c == nil || !c.Waits || st.Changes.Pending() {
		return
	}
	waited := *c
	waited.Waits = false
	st.Handoff.Completing = &waited
	checks, authors := st.Handoff.ToRepeat()
	doc := verdict.Document{Checks: checks}
	if len(doc.Checks) == 0 || st.Options.CheckTimeout <= 0 {
		st.judge()
		return
	}
	doc.Normalize()
	st.handOver(handoff.Handover{Agent: bridge.AgentRef{ID: contract.Supervisor}, Kind: handoff.KindRepeated,
		Document: &doc, Authors: authors})
}

// repeated takes what the repeated checks came to.
func (st *step) repeated(h handoff.Handover) {
	c := st.Handoff.Completing
	if c == nil {
		return
	}
	st.Handoff.Repeated(h, func(p handoff.Proved) string { return p.LastChangeText(&st.Changes) })
	switch {
	case st.overtaken(c):
	case st.Handoff.TellBroken():
		st.Handoff.Completing = nil
		st.sendBack()
	default:
		st.judge()
	}
}

// setAcceptance takes the human's criteria.
func (st *step) setAcceptance(ref string, c contract.SetAcceptance) {
	list := make([]acceptance.Given, 0, len(c.Criteria))
	for _, g := range c.Criteria {
		list = append(list, acceptance.Given{Text: g.Text, Command: g.Command, By: acceptance.By(g.By)})
	}
	origin := acceptance.FromStdin
	if st.channel == input.ChannelScreen {
		origin = acceptance.FromScreen
	}
	err := st.Task.Acceptance.HumanSets(list, origin)
	if err != nil {
		st.out.Reject(ref, "%s", err)
		return
	}
	st.out.Accept(ref, fmt.Sprintf("acceptance criteria set: %d", len(st.Task.Acceptance.Criteria)))
	if st.Handoff.Completing != nil { // the Arbiter rules again when it has read the criteria
		st.dropRepetition()
		st.emit(contract.Supervisor, contract.Notice{
			Text: "COMPLETE did not take effect: the human changed the acceptance criteria.",
		})
	}
	if st.Task.Text != "" {
		text := "The human dropped all acceptance criteria."
		if criteria := st.Task.Acceptance.Text(); criteria != "" {
			text = "The human set the acceptance criteria:\n" + criteria
		}
		st.mail().Tell(contract.Arbiter, conversation.KindNotice, text)
	}
}

// judge judges the COMPLETE at hand by the criteria.
func (st *step) judge() {
	criteria := &st.Task.Acceptance
	if len(criteria.Criteria) == 0 {
		st.concludeRuling()
		return
	}
	if how := criteria.AskHow(); how != "" && st.Rulings.FallbackReason == "" && !st.Rulings.AsksOther(&st.Options) {
		st.Handoff.Completing = nil
		st.mail().Tell(contract.Arbiter, conversation.KindNotice, how)
		return
	}
	if !st.Changes.Judge(&st.out, st.Options.Workspace) {
		st.judgeTree("")
	}
}

// judgeTree runs the commands of the criteria, on the files as they are: a tree of Git, empty without Git.
func (st *step) judgeTree(tree string) {
	c := st.Handoff.Completing
	if c == nil || c.Waits || st.Handoff.ChecksPending() || st.overtaken(c) {
		return // an earlier COMPLETE asked for the tree
	}
	runs := st.Task.Acceptance.Begin(tree)
	if len(runs) == 0 {
		st.criteriaFinished()
		return
	}
	var doc verdict.Document
	for _, r := range runs {
		doc.Checks = append(doc.Checks, verdict.Check{Command: r.Command})
	}
	doc.Normalize()
	st.handOver(handoff.Handover{
		Agent: bridge.AgentRef{ID: contract.Supervisor}, Kind: handoff.KindAccept, Document: &doc,
	})
}

// criteriaFinished ends a round: COMPLETE takes effect, goes back to its decider, or is the human's to settle.
func (st *step) criteriaFinished() {
	c := st.Handoff.Completing
	if c == nil {
		return
	}
	for len(st.Task.Acceptance.Pending()) > 0 {
		st.criterionChecked(bridge.CheckResult{}, "out of time")
	}
	o, judged := st.Task.Acceptance.Judge()
	if !judged { // the criteria were changed meanwhile
		st.judge()
		return
	}
	for _, e := range st.Task.AcceptanceEvents() {
		st.emit(contract.Supervisor, e)
	}
	if st.overtaken(c) {
		return
	}
	switch o.Verdict {
	case acceptance.Accepted:
		st.concludeRuling()
	case acceptance.Rejected:
		st.Handoff.Completing = nil
		st.emit(contract.Supervisor, contract.Notice{Text: o.Text})
		st.tellDecider(o.Text + "\n\nWhat failed, quoted:\n" + words.QuoteLines(o.Evidence))
	default:
		st.Handoff.Completing = nil
		st.leaveToHuman(o.Text)
	}
}
