package supervisor

// This part of the package holds the hand-off documents of a run, and the proofs of their checks.
//
// A document comes from an Orchestrator, or the supervisor generates it ([GenerateHandoff]). It waits in
// [HandoffState.Documents] while its checks run, in the order of its author's documents, and then goes to the Arbiter.
// The document of an Orchestrator that hands off also waits in the successor queue for the next Orchestrator.
// The receipts of all checks of a task are kept as proofs: the checks run again before the task is complete,
// and [HandoffState.TellBroken] reports which of them no longer hold.
//
// The package emits nothing: package supervisor requests checks, sets the timers, and decides whom to notify.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// MaxProofs is how many proofs are kept, the latest ones: each check runs again before the task is complete.
const MaxProofs = 50

// MaxFiles is how many files of a document are kept with its checks.
const MaxFiles = 50

// Prove records the checks of a document. They replace checks that failed in an earlier document of the same
// author. mode is the author's; files are those that the document names.
func (s *HandoffState) Prove(h Handover, mode string, files []string) {
	files = files[:min(len(files), MaxFiles)]
	proofs := slices.DeleteFunc(slices.Clone(s.Proofs), func(p Proved) bool {
		return p.Author.ID == h.Agent.ID && p.Receipt.Result == verdict.CheckFailed ||
			slices.Contains(h.Document.Checks, p.Check)
	})
	for i := range proofs {
		proofs[i].Reported = false
	}
	for i, c := range h.Document.Checks {
		r := verdict.Receipt{Command: c.Command, Expect: c.Expect, Exit: -1, Result: verdict.CheckUnrun,
			Why: "it was not run"}
		if i < len(h.Receipts) {
			r = h.Receipts[i]
		}
		if slices.ContainsFunc(proofs, func(p Proved) bool { return p.Check == c }) {
			continue // the document contains it twice
		}
		proofs = append(proofs,
			Proved{Author: h.Agent, Mode: mode, Check: c, Files: files, Receipt: r,
				Held: r.Result == verdict.CheckPassed})
	}
	for n := len(proofs) - MaxProofs; n > 0; n-- {
		s.EarlierProofs.count(proofs[0].Receipt)
		proofs = proofs[1:]
	}
	s.Proofs = proofs
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

// ForgetProofs drops all proofs: another task begins.
func (s *HandoffState) ForgetProofs() {
	s.LastProof, s.EarlierProofs, s.Proofs, s.CompletionsSentBack, s.Completing = Proof{}, Proof{}, nil, 0, nil
}

// text describes a check that failed.
func (p *Proved) text() string {
	return fmt.Sprintf("%s: `%s`: %s", p.Author.ID, words.Head(words.FirstLine(p.Check.Command), 200),
		words.Head(p.Receipt.Why, 200)) + p.changedText()
}

// changedText is the end of a sentence that says who changed the files last; empty: not known.
func (p *Proved) changedText() string {
	if p.Changed == "" {
		return ""
	}
	return "; " + p.Changed
}

// NoLongerHold are the checks that passed once and failed when they ran last.
func (s *HandoffState) NoLongerHold() []string {
	return s.proofsThat((*Proved).Broken)
}

// Failing are the checks that failed when they ran last.
func (s *HandoffState) Failing() []string {
	return s.proofsThat(func(p *Proved) bool { return p.Receipt.Result == verdict.CheckFailed })
}

func (s *HandoffState) proofsThat(are func(*Proved) bool) []string {
	var list []string
	for i := range s.Proofs {
		if p := &s.Proofs[i]; are(p) {
			list = append(list, p.text())
		}
	}
	return list
}

// ChecksRun counts the results of the checks; nil: there were none.
func (s *HandoffState) ChecksRun() *contract.Checks {
	sum := s.EarlierProofs
	for _, p := range s.Proofs {
		sum.count(p.Receipt)
	}
	if sum.Passed+sum.Failed+sum.Open == 0 {
		return nil
	}
	return &contract.Checks{Passed: sum.Passed, Failed: sum.Failed, Unproven: sum.Open}
}

// Doubt says, once for each document, why it should not be completed.
func (s *HandoffState) Doubt() string {
	p := s.LastProof
	if p.Failed == 0 || p.Doubted {
		return ""
	}
	s.LastProof.Doubted = true
	return fmt.Sprintf("COMPLETE over the `done` of %s, though %d of its checks failed when the supervisor ran them. "+
		"Send it back, or, if they are wrong, "+
		"rule COMPLETE again and say in `summary` why they do not count.", p.Agent, p.Failed)
}

// Proof returns the record of a check.
func (s *HandoffState) Proof(check verdict.Check) (Proved, bool) {
	i := slices.IndexFunc(s.Proofs, func(p Proved) bool { return p.Check == check })
	if i < 0 {
		return Proved{}, false
	}
	return s.Proofs[i], true
}

// Repeated records the results of repeated checks. changed says who changed the files of a failed one; empty:
// not known.
func (s *HandoffState) Repeated(h Handover, changed func(Proved) string) {
	s.Proofs = slices.Clone(s.Proofs)
	for i, check := range h.Document.Checks {
		if n := slices.IndexFunc(s.Proofs, func(p Proved) bool { return p.Check == check }); n >= 0 &&
			i < len(h.Receipts) {
			p := &s.Proofs[n]
			p.Receipt, p.Held = h.Receipts[i], p.Held || h.Receipts[i].Result == verdict.CheckPassed
			if p.Changed = ""; p.Receipt.Result == verdict.CheckFailed {
				p.Changed = changed(*p)
			}
		}
	}
}

// ReportBroken marks the checks that no longer hold as reported, and reports whether one of them was not reported
// before. A check that never held was reported with its document.
func (s *HandoffState) ReportBroken() (news bool) {
	s.Proofs = slices.Clone(s.Proofs)
	for i := range s.Proofs {
		if p := &s.Proofs[i]; p.Broken() {
			news = news || !p.Reported
			p.Reported = true
		}
	}
	return news
}

// ToRepeat returns the checks that run again before the task is complete, with the author of each. A check that
// was not permitted is not requested again.
func (s *HandoffState) ToRepeat() (checks []verdict.Check, authors []bridge.AgentRef) {
	for _, p := range s.Proofs {
		if p.Receipt.Result != verdict.CheckUnrun {
			checks, authors = append(checks, p.Check), append(authors, p.Author)
		}
	}
	return checks, authors
}

// FailedChecks are the checks for which a COMPLETE was sent back, as deciders see them.
func (s *HandoffState) FailedChecks() []decider.DecisionCheck {
	var list []decider.DecisionCheck
	for _, p := range s.Proofs {
		if p.Reported && p.Broken() {
			c := decider.Ran(p.Check, p.Receipt)
			c.Agent, c.Why = p.Mode, c.Why+p.changedText()
			list = append(list, c)
		}
	}
	return list
}

// Files lists the files that a document names, relative to the top of the work tree.
func (h *Handover) Files(d AgentDirs) []string {
	w := d.Options.Workspace
	if !w.Enabled() {
		return nil
	}
	top := w.Root
	if d.Own(h.Agent.ID) != "" {
		top = w.Top(h.Agent.ID)
	}
	return w.Below(top, h.Document.Files)
}

// LastChange is the last change of the files of a check: of those that its document names, or if it names none,
// of those that its author changed.
func (p *Proved) LastChange(c *input.ChangeState) input.LastChange {
	return c.LastChange(func(f input.ChangeFile) bool {
		if len(p.Files) == 0 {
			return slices.Contains(f.Known, p.Author.ID)
		}
		return slices.ContainsFunc(p.Files, func(name string) bool {
			return name == f.Path || strings.HasPrefix(f.Path, name+"/") // a directory
		})
	})
}

// LastChangeText says who changed the files of a check last; empty: not known.
func (p *Proved) LastChangeText(s *input.ChangeState) string {
	c := p.LastChange(s)
	if c.Agent == "" {
		return ""
	}
	names := make([]string, len(c.Files))
	for i, name := range c.Files {
		names[i] = words.Head(name, 200)
	}
	return fmt.Sprintf("%s was the last to change its files (%s)", c.Agent, strings.Join(names, ", "))
}
