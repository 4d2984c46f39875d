package supervisor

// This part of the package processes hand-off documents, from the author's turn until the Arbiter gets them.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// setCriteria sets the human's criteria.
func (st *step) setCriteria(ref string, given contract.SetAcceptance) {
	if err := st.Task.Acceptance.HumanSets(given.Criteria); err != nil {
		st.out.Reject(ref, "%s", err)
		return
	}
	st.out.Accept(ref, fmt.Sprintf("acceptance criteria set: %d", len(st.Task.Acceptance.Criteria)))
	if st.Handoff.Completing != nil { // the Arbiter rules again when it has read the criteria
		st.dropRepetition()
		st.notice(contract.Supervisor, "COMPLETE did not take effect: the human changed the acceptance criteria.")
	}
	if st.Task.Text != "" {
		text := "The human dropped all acceptance criteria."
		if criteria := st.Task.Acceptance.Text(); criteria != "" {
			text = "The human set the acceptance criteria:\n" + criteria
		}
		st.tell(text)
	}
}

// criteriaFromOptions sets the criteria that the run is started with.
func (st *step) criteriaFromOptions() {
	for _, command := range st.Options.Accept {
		err := st.Task.Acceptance.HumanAdds(Criterion{Command: command})
		if err != nil { // the flags were checked; a run of another version may have had other bounds
			st.notice(contract.Supervisor, "an acceptance criterion is left out: "+err.Error())
		}
	}
}

// checked handles the result of a check, and reports whether the processing of its document continues.
func (st *step) checked(f input.Checked) bool {
	h := st.Handoff.Edit(f.Serial)
	next := len(h.receipts())
	if h == nil || h.Document == nil || f.Number > h.ChecksOf(st.Options.CheckTimeout) ||
		f.Number != next+1 || f.Request != "" && f.Request != h.Request {
		return false // its time was over, or it is run again
	}
	st.Permission.CheckOver(&st.out, h.Request, "the check is over")
	check := h.Document.Checks[f.Number-1]
	h.Request = ""
	if h.Earlier {
		st.lookedBack(h, before(check, f.Result, f.Failed))
		return true
	}
	r := Receipt(check, f.Result, f.Failed)
	if h.Kind == KindAccept {
		st.Task.Acceptance.Finish(f.Result, f.Failed)
		r.Before = st.Task.Acceptance.before(check.Command)
	} else if p, known := st.Handoff.Proof(check); known {
		r.Before = p.Receipt.Before
	}
	if r.Result != verdict.CheckPassed {
		r.Before = ""
	}
	h.Receipts = append(slices.Clip(h.Receipts), r)
	if h.Earlier = r.Before == "" && st.looksBack(h, r); !h.Earlier {
		st.reportCheck(h)
	}
	return true
}

// reportCheck reports the last check of a document that was run.
func (st *step) reportCheck(h *Handover) {
	number := len(h.Receipts)
	check, r := h.Document.Checks[number-1], h.Receipts[number-1]
	if h.Kind == KindAccept {
		st.Task.Acceptance.lookedBack(check.Command, r.Before)
		return
	}
	e := contract.Check{Number: number, Of: len(h.Document.Checks), Receipt: r, Again: h.Kind == KindRepeated}
	if p, ok := st.Handoff.Proof(check); ok && e.Again && r.Result == verdict.CheckFailed {
		if by := p.LastChange(&st.Changes).Agent; by != "" {
			e.Agents = []string{by}
		}
	}
	st.emit(h.Author(&st.Roster, number-1).ID, e)
}

// lookedBack ends the second run of the last check of a document.
func (st *step) lookedBack(h *Handover, before string) {
	h.Earlier, h.Receipts = false, slices.Clone(h.Receipts)
	h.Receipts[len(h.Receipts)-1].Before = before
	st.reportCheck(h)
}

// generateFrom generates the document of an agent that can no longer write it, from the results of an inspection.
// It reports whether the processing of the document continues.
func (st *step) generateFrom(f input.Inspected) bool {
	h := st.Handoff.Edit(f.Serial)
	if h == nil || h.Document != nil {
		return false
	}
	a, _ := st.Agent(h.Agent.ID)
	if f.Failed != "" {
		f.Result.Problems = append(slices.Clip(f.Result.Problems), f.Failed)
	}
	h.Document = st.generateHandoff(&a, h.Why, f.Result)
	return true
}

// documentOutOfTime ends the current step of a document whose time is over, and records what was not done. It reports
// whether the processing of the document continues.
func (st *step) documentOutOfTime(serial int) bool {
	h := st.Handoff.Edit(serial)
	switch {
	case h == nil:
		return false
	case h.Document == nil:
		return st.generateFrom(input.Inspected{Serial: serial, Failed: "nothing was found out in time"})
	case st.Halted: // its time begins anew when the run continues
		return false
	}
	if h.Earlier {
		st.lookedBack(h, "")
	}
	for n := len(h.Receipts); n < h.ChecksOf(st.Options.CheckTimeout); n++ {
		h.Receipts = append(slices.Clip(h.Receipts),
			Receipt(h.Document.Checks[n], bridge.CheckResult{}, "out of time"))
	}
	st.dropCheck(h.Request, "the check is out of time")
	if h.MustMerge(&st.Roster) {
		st.Handoff.Merges.Drop(&st.out, serial)
		h.Merged = &input.IsolationOutcome{Document: serial, Agent: h.Agent.ID, Why: "the merge is out of time"}
	}
	return true
}

// inspect requests an inspection of an agent's session and the repository.
func (st *step) inspect(a *Agent, serial int, p bridge.InspectParams) {
	dir := st.DirOf(a.ID)
	p.SessionID, p.CWD, p.Env, p.Sandbox = a.SessionID, dir, st.Options.Env, st.sandboxOf(dir)
	st.do(input.Inspect{Serial: serial, Host: a.Host, Params: p})
}

// runCheck runs the next check of a document.
func (st *step) runCheck(h *Handover) {
	h.Request = st.newID()
	if a, ok := st.Agent(h.Agent.ID); ok {
		h.Agent = a.AgentRef // it may have been restarted
	}
	n, dir, host := len(h.receipts()), st.checkDir(h), h.Host(&st.Roster)
	command, limit := h.Document.Checks[n].Command, h.Timeout(st.Options.CheckTimeout)
	if h.Earlier {
		command = asBefore(st.beforeTask(), command)
		limit = min(limit, 2*lookBackAtMost)
	}
	st.do(input.RunCheck{
		Serial: h.Serial, Number: n + 1, Host: host, Agent: h.Author(&st.Roster, n), Request: h.Request,
		Again:     h.Kind == KindRepeated,
		Criterion: h.Kind == KindAccept,
		Permitted: h.Earlier || h.Kind == KindAccept && st.Task.Acceptance.IsHumansCommand(),
		Params: bridge.CheckParams{
			Command: command, CWD: dir, TimeoutMS: int(limit.Milliseconds()), Env: st.Options.Env,
			Sandbox: st.sandboxOf(dir), Scratch: st.Options.ScratchChecks && host == "", // it was tried here alone
		},
	})
}

// recordDocument records what a document and its checks say about the work of its author.
func (st *step) recordDocument(h Handover) {
	id, byAuthor := h.Agent.ID, h.Kind == KindDone || h.Kind == KindHandoff
	if byAuthor {
		a, _ := st.Agent(id)
		files := st.filesOf(&h)
		st.Handoff.Prove(h, ModeOf(&a), files)
		st.Handoff.listDocument(h, files)
		st.Task.Acceptance.Unanswered = false
	}
	if a := st.Edit(id); a != nil && a.DocumentSerial <= h.Serial { // it may have given another one since
		a.Document, a.Receipts, a.GeneratedWhy, a.DocumentSerial = h.Document, h.Receipts, h.Why, h.Serial
	}
	if byAuthor {
		st.finishWork(h)
		a, _ := st.Agent(id)
		if steps := st.Task.PlanFrom(&a, h.Document, &st.Options); len(steps) > 0 {
			st.setPlan(steps)
		}
	}
}

// forgetDocuments drops all documents that are being processed, except the Arbiter's own: its renewal continues.
func (st *step) forgetDocuments() {
	st.Handoff.Completing = nil
	st.removeDocuments("the document is no longer needed",
		func(h *Handover) bool { return h.Kind != HandoffKindRenewal })
}

// dropRepetition ends a repetition of checks that another COMPLETE, or a reset, makes obsolete.
func (st *step) dropRepetition() {
	st.Handoff.Completing = nil
	st.Task.Acceptance.Round = nil
	st.removeDocuments("the checks are no longer repeated", (*Handover).Completes)
}

// removeDocuments removes documents that are being processed.
func (st *step) removeDocuments(why string, unwanted func(*Handover) bool) []Handover {
	removed := st.Handoff.Remove(unwanted)
	for _, h := range removed {
		st.out.StopTimer(fmt.Sprint(HandoffTimerPrefix, h.Serial))
		st.dropCheck(h.Request, why)
		st.Handoff.Merges.Drop(&st.out, h.Serial)
	}
	return removed
}

// loseChecksOn ends the checks that run on a host.
func (st *step) loseChecksOn(host string) {
	st.loseChecksWhere(func(h *Handover) bool { return h.NextHost(&st.Roster) == host })
}

func (st *step) loseChecksWhere(lost func(*Handover) bool) {
	for _, h := range slices.Clone(st.Handoff.Documents) {
		if lost(&h) {
			st.dropCheck(h.Request, "the check is run again")
			st.Handoff.Edit(h.Serial).Request = ""
		}
	}
}

// dropCheck ends a check whose result is no longer needed.
func (st *step) dropCheck(request, why string) {
	if request != "" {
		st.Permission.CheckOver(&st.out, request, why)
		st.do(input.Drop{Request: request})
	}
}

// Bounds of a record that the supervisor writes.
const (
	maxLastTexts   = 6_000  // bytes of an agent's last texts
	recordBrief    = 12_000 // of its brief
	recordReceived = 6_000  // of the messages it received since
	recordFiles    = 200
)

// generateHandoff writes the document of an Orchestrator that can no longer answer, from the state and from what an
// inspection saw in its transcript and the repository. Only the quotes in it are the Orchestrator's words. why says why
// it cannot write its own.
func (s *State) generateHandoff(a *Agent, why string, seen bridge.InspectResult) *verdict.Document {
	d := &verdict.Document{}
	if a.Document != nil && a.GeneratedWhy == "" { // what the agent itself wrote earlier still counts
		*d = *a.Document // another state shares its lists: do not append in place
		d.Checks, d.Claims = nil, nil
		for _, list := range []*[]string{&d.Accomplished, &d.Remaining, &d.OpenQuestions, &d.Files} {
			*list = slices.Clip(*list)
		}
	}
	for i, step := range s.Task.Plan {
		if step.Agent != a.ID {
			continue
		}
		text := fmt.Sprintf("step %d of the plan, marked %s: %s", i+1, step.Status, step.Text)
		if step.Status == contract.StepDone {
			d.Accomplished = append(d.Accomplished, text)
		} else {
			d.Remaining = append(d.Remaining, text)
		}
	}
	for _, m := range s.Conversation.RecentMessages {
		if m.From != a.ID {
			continue
		}
		switch m.Kind {
		case verdict.KindProgress, verdict.KindIntroduction:
			d.Claims = append(d.Claims, verdict.Claim{Claim: "it reported: " + m.Text})
		case verdict.KindQuestion:
			d.OpenQuestions = append(d.OpenQuestions, "it asked, and perhaps had its answer: "+m.Text)
		}
	}
	d.Remaining = append(d.Remaining, "everything in its brief that the files and the repository do not show to be done")
	d.Files = append(d.Files, seen.Files...)
	if n := len(d.Files); n > recordFiles {
		d.Files = d.Files[n-recordFiles:]
	}
	d.KeyContext = s.workContext(a, why, seen)
	d.Normalize()
	return d
}

// workContext is further information about an agent's work.
func (s *State) workContext(a *Agent, why string, seen bridge.InspectResult) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s) could not hand off: %s. The supervisor wrote this record from what it saw. "+
		"Nobody has confirmed it: check the files before you build on it.\n", a.Name, a.ID, why)
	if a.Document != nil && a.Document.KeyContext != "" && a.GeneratedWhy == "" {
		fmt.Fprintf(&b, "\nIn an earlier document it said: %s\n", a.Document.KeyContext)
	}
	fmt.Fprintf(&b, "\nIts brief was:\n%s\n", words.Head(cmp.Or(a.Brief, noText), recordBrief))
	if received := s.receivedSince(a.ID); received != "" {
		fmt.Fprintf(&b, "\nSince then it was told, and perhaps did not read:\n%s\n", words.Tail(received, recordReceived))
	}
	if len(seen.Texts) > 0 {
		fmt.Fprintf(&b, "\nThe last texts that it wrote outside of its verdicts:\n%s\n",
			words.Tail(strings.Join(seen.Texts, "\n---\n"), maxLastTexts))
	}
	if len(seen.Commands) > 0 {
		b.WriteString("\nCommands it ran last:\n")
		for _, c := range seen.Commands {
			who := ""
			if c.Subagent {
				who = ", by a subagent"
			}
			fmt.Fprintf(&b, "- %s (%s%s)\n", strings.ReplaceAll(c.Command, "\n", "\n  "), c.Outcome, who)
		}
	}
	if g := seen.Git; g != nil {
		fmt.Fprintf(&b, "\nThe repository now: branch %s at %.12s\n", cmp.Or(g.Branch, noText),
			cmp.Or(g.Head, noText))
		for _, part := range [][2]string{
			{"last commits", strings.Join(g.Commits, "\n")}, {"not committed", strings.Join(g.Status, "\n")},
			{"that is", g.Stat},
		} {
			if part[1] != "" {
				fmt.Fprintf(&b, "%s:\n%s\n", part[0], part[1])
			}
		}
	}
	for _, t := range seen.Problems {
		fmt.Fprintf(&b, "\nNot seen: %s\n", t)
	}
	return b.String()
}

// receivedSince is what the human and the Arbiter said to an Orchestrator after its brief.
func (s *State) receivedSince(id string) string {
	var parts []string
	for _, m := range s.Conversation.RecentMessages {
		if m.To == id && m.From != contract.Supervisor && m.Kind != KindBrief {
			parts = append(parts,
				fmt.Sprintf("- %s (%s): %s", s.DisplayName(m.From), m.Kind, strings.ReplaceAll(m.Text, "\n", "\n  ")))
		}
	}
	return strings.Join(parts, "\n")
}

// filesOf lists the files that a document names, relative to the top of the work tree.
func (s *State) filesOf(h *Handover) []string {
	w := s.Options.Workspace
	if !w.Enabled() {
		return nil
	}
	top := w.Root
	if s.OwnDir(h.Agent.ID) != "" {
		top = w.Top(h.Agent.ID)
	}
	return w.Below(top, h.Document.Files)
}

// checkDir is where the checks of a document run: where the work was done, and again where it was merged.
func (s *State) checkDir(h *Handover) string {
	if h.Completes() || h.Merged != nil && h.Merged.Merged {
		return s.DirOf(contract.Arbiter) // it has the files that the run delivers
	}
	return s.DirOf(h.Agent.ID)
}
