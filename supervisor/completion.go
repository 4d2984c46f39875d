package supervisor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// A COMPLETE takes effect when the checks of all documents of the task have been run once
// more, whoever decided it: what one agent proved another may have broken. What no longer holds
// goes back to whoever decides. Who rules COMPLETE again over just that has been told, and
// the result reports it; the rules never do, and are stopped after a few times.

const (
	// maxProofs are kept, the last ones: each is run again before the task is complete.
	maxProofs = 50
	// maxSentBack is how often a COMPLETE of one task goes back for its checks.
	maxSentBack = 3
)

// prove keeps the checks of a document. What failed in an earlier document of the same
// author it has answered with this one.
func (st *step) prove(h Handover) {
	proofs := slices.DeleteFunc(slices.Clone(st.Proofs), func(p Proved) bool {
		return p.Author.ID == h.Agent.ID && p.Receipt.Result == verdict.CheckFailed || slices.Contains(h.Document.Checks, p.Check)
	})
	for i := range proofs {
		proofs[i].Told = false
	}
	a, _ := st.Agent(h.Agent.ID)
	for i, c := range h.Document.Checks {
		r := verdict.Receipt{Command: c.Command, Expect: c.Expect, Exit: -1, Result: verdict.CheckUnrun, Why: "it was not run"}
		if i < len(h.Receipts) {
			r = h.Receipts[i]
		}
		if slices.ContainsFunc(proofs, func(p Proved) bool { return p.Check == c }) {
			continue // it is in the document twice
		}
		proofs = append(proofs, Proved{Author: h.Agent, Mode: modeOf(&a), Check: c, Receipt: r, Held: r.Result == verdict.CheckPassed})
	}
	for n := len(proofs) - maxProofs; n > 0; n-- {
		st.EarlierProofs.count(proofs[0].Receipt)
		proofs = proofs[1:]
	}
	st.Proofs = proofs
}

// count adds a receipt to a tally.
func (p *Proof) count(r verdict.Receipt) {
	switch r.Result {
	case verdict.CheckPassed:
		p.Passed++
	case verdict.CheckFailed:
		p.Failed++
	default:
		p.Open++
	}
}

// forgetProofs begins with nothing proved: another task.
func (st *step) forgetProofs() {
	st.LastProof, st.EarlierProofs, st.Proofs, st.CompletionsSentBack, st.Completing = Proof{}, Proof{}, nil, 0, nil
}

// complete ends the run as a COMPLETE says, once its checks have been repeated.
func (st *step) complete(v verdict.Arbiter) {
	st.dropRepetition()
	var doc verdict.Document
	var authors []bridge.AgentRef
	for _, p := range st.Proofs {
		if p.Receipt.Result != verdict.CheckUnrun { // what was not permitted is not asked for again
			doc.Checks, authors = append(doc.Checks, p.Check), append(authors, p.Author)
		}
	}
	if len(doc.Checks) == 0 || st.Options.CheckTimeout <= 0 {
		st.concluded(v)
		return
	}
	doc.Normalize()
	st.Completing = &Completing{Ruling: v, Asked: st.asked()}
	st.handOver(Handover{Agent: bridge.AgentRef{ID: contract.Supervisor}, Kind: handFinal, Document: &doc, Authors: authors})
}

// dropRepetition ends a repetition that another COMPLETE, or a reset, makes void.
func (st *step) dropRepetition() {
	st.Completing = nil
	for _, h := range st.PendingHandoffs {
		if h.Kind == handFinal {
			st.do(effect.SetTimer{Key: handoverKey(h.Serial)})
			st.dropCheck(h.Request, "the checks are not repeated any more")
		}
	}
	st.PendingHandoffs = slices.DeleteFunc(slices.Clone(st.PendingHandoffs), func(h Handover) bool { return h.Kind == handFinal })
}

// repeated takes what the repeated checks came to.
func (st *step) repeated(h Handover) {
	c := st.Completing
	st.Completing = nil
	if c == nil {
		return
	}
	st.Proofs = slices.Clone(st.Proofs)
	for i, check := range h.Document.Checks {
		if n := slices.IndexFunc(st.Proofs, func(p Proved) bool { return p.Check == check }); n >= 0 && i < len(h.Receipts) {
			p := &st.Proofs[n]
			p.Receipt, p.Held = h.Receipts[i], p.Held || h.Receipts[i].Result == verdict.CheckPassed
		}
	}
	if why := st.notYet(c); why != "" {
		text := "COMPLETE did not take effect: " + why + "."
		st.emit(contract.Supervisor, contract.Notice{Text: text})
		st.log(contract.Supervisor, conversation.KindNotice, text+" Rule again.")
		return
	}
	news := false
	for i := range st.Proofs {
		if p := &st.Proofs[i]; p.broken() { // one that never held was told with its document
			news = news || !p.Told
			p.Told = true
		}
	}
	if !news {
		st.concluded(c.Ruling)
		return
	}
	st.sendBack()
}

// notYet says why a COMPLETE whose checks were repeated cannot take effect: something
// happened meanwhile.
func (st *step) notYet(c *Completing) string {
	switch taken := st.takenOver(); {
	case st.AnyWorks():
		return "meanwhile Orchestrators work (" + st.LivingText() + ")"
	case taken != "":
		return "meanwhile the human has a session in a terminal (" + taken + ")"
	case st.documentDue():
		return "meanwhile another document was handed over"
	case len(st.unreadWords()) > 0 && (st.FallbackReason == "" || st.HumanPresent):
		return "meanwhile the human said more to the Arbiter"
	case st.awaitsHuman() && st.asked() != c.Asked:
		return "meanwhile the Arbiter asked the human"
	case st.FallbackReason == "" && st.Agents[0].Status == roster.Busy:
		return "meanwhile something else was said to the Arbiter"
	}
	return ""
}

// asked is the question to the human that is open; empty: none.
func (s *State) asked() string {
	if s.Question == nil {
		return ""
	}
	return s.Question.Text
}

// text tells a check that failed.
func (p *Proved) text() string {
	return fmt.Sprintf("%s: `%s`: %s", p.Author.ID, words.Head(words.FirstLine(p.Check.Command), 200), words.Head(p.Receipt.Why, 200))
}

// noLongerHold are the checks that once did, by when they were last run.
func (s *State) noLongerHold() []string {
	return s.proofsThat((*Proved).broken)
}

// failing are the checks that failed when they were last run.
func (s *State) failing() []string {
	return s.proofsThat(func(p *Proved) bool { return p.Receipt.Result == verdict.CheckFailed })
}

func (s *State) proofsThat(are func(*Proved) bool) []string {
	var list []string
	for i := range s.Proofs {
		if p := &s.Proofs[i]; are(p) {
			list = append(list, p.text())
		}
	}
	return list
}

// sendBack tells whoever decides what does not hold.
func (st *step) sendBack() {
	broken := st.noLongerHold()
	st.CompletionsSentBack++
	what := fmt.Sprintf("COMPLETE did not take effect: of the checks of the task's documents, which the supervisor ran once more, %d no longer hold", len(broken))
	list := "\n- " + strings.Join(broken, "\n- ")
	st.emit(contract.Supervisor, contract.Notice{Text: what + ":" + list})
	if st.CompletionsSentBack > maxSentBack {
		st.sentBackTooOften(broken)
		return
	}
	if other := st.FallbackReason != "" || st.asksOther(); other {
		if _, _, due := st.due(); due {
			st.log(contract.Supervisor, conversation.KindNotice, what+"."+list)
			return
		}
	}
	st.tell(contract.Arbiter, conversation.KindNotice, what+"."+list+"\nHave it put right, or, if such a check does not count any more, rule COMPLETE again and say in `summary` why.")
}

// sentBackTooOften has a human say what else to do, or ends the run.
func (st *step) sentBackTooOften(broken []string) {
	why := fmt.Sprintf("COMPLETE was decided %d times over checks that no longer hold: %s", st.CompletionsSentBack, strings.Join(broken, "; "))
	if !st.HumanPresent {
		st.giveUp(bridge.CatVerdict, why)
		return
	}
	st.fail(contract.Supervisor, bridge.CatVerdict, why, []string{})
	st.Conversation.Held = true
	st.ask(why + "\nSpeak, and the Arbiter is asked.")
}

// concluded ends the run with COMPLETE.
func (st *step) concluded(v verdict.Arbiter) {
	if broken := st.noLongerHold(); len(broken) > 0 {
		v.Summary = strings.TrimSuffix(v.Summary, ".") + ". No longer held at the end: " + words.Head(strings.Join(broken, "; "), 2000)
	}
	if st.awaitsHuman() {
		st.emit(contract.Supervisor, contract.Notice{Text: "The Arbiter completes the task although you have not answered: " + words.Head(st.Question.Text, 1000)})
	}
	st.toHuman(conversation.KindComplete, v.Message)
	st.end(contract.StatusComplete, v.Summary, contract.ExitComplete, machine.Decision)
}

// checksRun is what was proved of the work, nil if nothing was to be.
func (s *State) checksRun() *contract.Checks {
	sum := s.EarlierProofs
	for _, p := range s.Proofs {
		sum.count(p.Receipt)
	}
	if sum.Passed+sum.Failed+sum.Open == 0 {
		return nil
	}
	return &contract.Checks{Passed: sum.Passed, Failed: sum.Failed, Unproven: sum.Open}
}
