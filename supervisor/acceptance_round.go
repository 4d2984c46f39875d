package supervisor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// MaxRejections is how many COMPLETEs of a task are rejected before the human is asked.
const MaxRejections = 3

// evidence bounds the output that a rejection quotes, in bytes: of all failed criteria, and of one.
const (
	evidence    = 12 << 10
	evidenceOne = 2 << 10
)

// AcceptanceRound judges the criteria on one tree.
type AcceptanceRound struct {
	Number  int
	Tree    string             // Git's id; empty: there is no Git, and trees cannot be distinguished
	Results []AcceptanceResult // of the criteria, in their order; those without a status are pending
}

// AcceptanceRun is a command to run. It contains its round: the result of another round is not accepted.
type AcceptanceRun struct {
	Round     int
	Criterion int // counted from 1
	Of        int // how many criteria there are
	Command   string
	Tree      string
}

// AcceptanceFinding is the result of a run.
type AcceptanceFinding struct {
	Exit   int
	SHA256 string // of all of the output, in hexadecimal
	Output string // the end of it
	Tree   string // that the command ran on
	Failed string // why it was not run, or was ended: not permitted, out of time, a signal; empty: it ended by itself
}

// AcceptanceResult is the result of a criterion.
type AcceptanceResult struct {
	Criterion
	Status AcceptanceStatus
	Exit   int    // -1: no command ran, or it did not end in time
	SHA256 string `json:",omitempty"`
	Output string `json:",omitempty"`
	Why    string `json:",omitempty"` // why it failed without an exit code
	Tree   string `json:",omitempty"`
}

// AcceptanceStatus of a criterion; empty: its command has not run yet.
type AcceptanceStatus string

// Statuses of a criterion.
const (
	AcceptancePassed   AcceptanceStatus = "passed"
	AcceptanceFailed   AcceptanceStatus = "failed"
	AcceptanceUnproven AcceptanceStatus = "unproven"
)

// Begin begins a round and returns the commands to run, in order. A round in progress ends without an outcome.
func (s *AcceptanceState) Begin(tree string) []AcceptanceRun {
	s.Rounds++
	r := &AcceptanceRound{Number: s.Rounds, Tree: tree}
	for _, c := range s.Criteria {
		result := AcceptanceResult{Criterion: c, Exit: -1}
		if c.Command == "" {
			result.Status = AcceptanceUnproven
		}
		r.Results = append(r.Results, result)
	}
	s.Round = r
	return s.Pending()
}

// Pending returns the commands that have not run yet in the current round.
func (s *AcceptanceState) Pending() []AcceptanceRun {
	if s.Round == nil {
		return nil
	}
	var runs []AcceptanceRun
	for i, r := range s.Round.Results {
		if r.Status == "" {
			runs = append(runs, AcceptanceRun{
				Round: s.Round.Number, Criterion: i + 1, Of: len(s.Round.Results), Command: r.Command,
				Tree: s.Round.Tree,
			})
		}
	}
	return runs
}

// Drop ends the current round without an outcome: the COMPLETE that it judges is void.
func (s *AcceptanceState) Drop() { s.Round = nil }

// Finish records the result of a run, and reports whether it belongs to the current round. A result on another
// tree does not: the criterion stays pending, and the caller begins a round on the present tree.
func (s *AcceptanceState) Finish(run AcceptanceRun, f AcceptanceFinding) bool {
	if s.Round == nil || run.Round != s.Round.Number || f.Tree != s.Round.Tree {
		return false
	}
	i := run.Criterion - 1
	if i < 0 || i >= len(s.Round.Results) || s.Round.Results[i].Status != "" {
		return false
	}
	round := *s.Round
	round.Results = slices.Clone(round.Results)
	result := &round.Results[i]
	result.Status, result.Exit, result.SHA256, result.Tree = AcceptanceFailed, f.Exit, f.SHA256, f.Tree
	result.Output, result.Why = words.Tail(strings.ToValidUTF8(f.Output, "�"), evidenceOne), f.Failed
	switch {
	case f.Failed != "":
		result.Exit = -1
	case f.Exit == 0:
		result.Status = AcceptancePassed
	}
	s.Round = &round
	return true
}

// Verdict is the result of a round.
type Verdict string

// Verdicts of a round.
const (
	AcceptanceAccepted  Verdict = "accepted"  // nothing failed: COMPLETE takes effect
	AcceptanceRejected  Verdict = "rejected"  // the Arbiter gets the text, and continues
	AcceptanceExhausted Verdict = "exhausted" // rejected too often: the human is asked; without one the run fails
)

// AcceptanceOutcome is a verdict with its texts.
type AcceptanceOutcome struct {
	Verdict  Verdict
	Text     string // for the Arbiter, or for the human if Exhausted; empty if accepted
	Evidence string // what failed, with its output, for the Arbiter: a quotation of programs, no instruction
}

// Judge ends the current round, once nothing is pending. Otherwise it returns false.
func (s *AcceptanceState) Judge() (AcceptanceOutcome, bool) {
	if s.Round == nil || len(s.Pending()) > 0 {
		return AcceptanceOutcome{}, false
	}
	s.Results, s.Round = s.Round.Results, nil
	failed := s.failed()
	s.Unanswered = len(failed) > 0
	if !s.Unanswered {
		return AcceptanceOutcome{Verdict: AcceptanceAccepted}, true
	}
	s.Rejections++
	o := AcceptanceOutcome{Verdict: AcceptanceRejected, Evidence: s.evidence(failed)}
	what := fmt.Sprintf("%d of %d acceptance criteria failed on the final tree", len(failed), len(s.Results))
	if s.Rejections < MaxRejections {
		o.Text = fmt.Sprintf("COMPLETE did not take effect: %s. Have it put right and rule COMPLETE again. "+
			"This was rejection %d; after %d the human is asked, and without a human the run fails.", what,
			s.Rejections, MaxRejections)
		return o, true
	}
	o.Verdict = AcceptanceExhausted
	o.Text = fmt.Sprintf("COMPLETE was rejected %d times. The last time %s: %s", s.Rejections, what,
		strings.Join(s.names(failed), "; "))
	return o, true
}

// failed returns the indices of the results that failed.
func (s *AcceptanceState) failed() []int {
	var list []int
	for i, r := range s.Results {
		if r.Status == AcceptanceFailed {
			list = append(list, i)
		}
	}
	return list
}

// names describes, in a line each, which criteria failed and how.
func (s *AcceptanceState) names(failed []int) []string {
	var list []string
	for _, i := range failed {
		r := s.Results[i]
		name := strings.ReplaceAll(words.Head(words.FirstLine(r.Text), 200), "\n", " ")
		list = append(list, fmt.Sprintf("%s (%s)", name, r.end()))
	}
	return list
}

// evidence quotes the failed criteria, each with the end of its output.
func (s *AcceptanceState) evidence(failed []int) string {
	each := min(evidenceOne, evidence/len(failed))
	var b strings.Builder
	for n, i := range failed {
		r := s.Results[i]
		if n > 0 {
			b.WriteString("\n\n")
		}
		fmt.Fprintf(&b, "## Criterion %d, set by the %s: %s\n\n", i+1, r.By, words.Head(r.Text, 500))
		fmt.Fprintf(&b, "Command: %s\nResult: %s", words.Head(r.Command, 500), r.end())
		if r.Output != "" {
			fmt.Fprintf(&b, "\nThe end of its output:\n\n%s", words.Tail(r.Output, each))
		}
	}
	return b.String()
}

// end says how the command of a failed criterion ended.
func (r AcceptanceResult) end() string {
	if r.Why != "" {
		return words.Head(r.Why, 200)
	}
	return fmt.Sprintf("exit code %d", r.Exit)
}

// AcceptanceEntry is a criterion as events and the result contain it. Its JSON names are the contract's.
type AcceptanceEntry struct {
	Text     string           `json:"text"`
	Command  string           `json:"command,omitempty"`
	By       AcceptanceBy     `json:"by"`
	Status   AcceptanceStatus `json:"status"`
	ExitCode int              `json:"exit_code"` // -1: no command ran, or it did not end in time
	SHA256   string           `json:"sha256,omitempty"`
	Tree     string           `json:"tree,omitempty"`
}

// Entries returns all criteria with the results of the last judged round on a tree. Those that were not run on
// this tree are unproven. Without Git, the tree is empty, and the last round counts.
func (s *AcceptanceState) Entries(tree string) []AcceptanceEntry {
	var list []AcceptanceEntry
	for _, c := range s.Criteria {
		e := AcceptanceEntry{Text: c.Text, Command: c.Command, By: c.By, Status: AcceptanceUnproven, ExitCode: -1}
		i := slices.IndexFunc(s.Results, func(r AcceptanceResult) bool { return r.same(c) })
		if i >= 0 && s.Results[i].Tree == tree && s.Results[i].Status != AcceptanceUnproven {
			r := s.Results[i]
			e.Status, e.ExitCode, e.SHA256, e.Tree = r.Status, r.Exit, r.SHA256, r.Tree
		}
		list = append(list, e)
	}
	return list
}
