package supervisor

// This part of the package holds the criteria that a task must meet before a COMPLETE takes effect, and
// judges them.
//
// A criterion is a text, and usually a command whose exit code 0 proves it. Humans set criteria with --accept, the
// configuration, the command set_acceptance or /accept; the Arbiter sets them with its tool. The Arbiter may add
// criteria, and change or drop its own. It can neither drop a criterion that a human set nor change its text or
// command: [AcceptanceState.ArbiterSets] sets the Arbiter's own alone.
//
// # A round
//
// A round judges a COMPLETE on one tree, the Git tree of the final snapshot:
//
//	runs := s.Begin(tree)              // the commands to run, in order; after a crash: s.Pending()
//	s.Finish(run, result)              // for each of them; results of other rounds or trees are ignored
//	outcome, ok := s.Judge()           // ok when nothing is pending
//	events := s.Entries(tree)          // the events, and result.acceptance
//
// Each round runs all commands: it uses no result of an earlier round. A change of the criteria ends the round
// without an outcome ([AcceptanceState.Round] is nil), and the caller begins another.
//
// A command that could not run, was not permitted or exceeded its time limit counts as failed: in doubt, a
// criterion does not pass.
//
// # Rejections
//
// A failed criterion rejects the COMPLETE, a human's and the Arbiter's alike. The third rejection ([MaxRejections]) is
// an outcome of its own, [AcceptanceExhausted]: the human is asked, and without a human the run fails with exit code 1.
// [AcceptanceState.Answered] lets the Arbiter try again after the human has answered.
//
// # Criteria without a command
//
// Nothing can prove them, so they are listed as unproven and do not reject. [AcceptanceState.AskHow] makes the Arbiter
// say once, in the summary of its COMPLETE, how each of them holds; that is the Arbiter's statement and is not
// checked. So exit code 0 means that every criterion with a command passed on the delivered tree, and that
// those without a command were listed as unproven. A human who needs proof gives a command.
//
// The package performs no I/O and emits no events. Slices of a State are never written to in place, so copies of a
// State are independent.

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
	Before string `json:",omitempty"` // of a passed one: what it said before the work, as in [verdict.Receipt]
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
		o.Text = fmt.Sprintf("COMPLETE did not take effect: %s. Have it fixed and use COMPLETE again. "+
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
	Before   string           `json:"before,omitempty"` // of a passed one, on the files before the work
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
			e.Status, e.ExitCode, e.SHA256, e.Tree, e.Before = r.Status, r.Exit, r.SHA256, r.Tree, r.Before
		}
		list = append(list, e)
	}
	return list
}

// AcceptanceState holds the criteria of a run, and the results of the last round.
type AcceptanceState struct {
	Criteria   []Criterion        // the human's first, each once
	Rounds     int                // how many were begun: the number of the current one
	Round      *AcceptanceRound   // in progress, or nil
	Results    []AcceptanceResult // of the last round that was judged
	Rejections int                // of COMPLETE, since the task began or the human answered
	Unanswered bool               // a COMPLETE was rejected, and nothing was handed over since
	AskedHow   bool               // the Arbiter was asked how the criteria without a command hold
	Tasks      int                // that the run has had, with this one
	Before     string             // commit with the files before the task; empty: not known, or the run's base
}

// Criterion is one thing that must hold before the task is complete.
type Criterion struct {
	Text    string
	Command string `json:",omitempty"` // exit code 0 proves the criterion; empty: it cannot be proven
	By      AcceptanceBy
	Origin  AcceptanceOrigin
}

// AcceptanceGiven is a criterion as it is set. A Given without text has its command as its text.
//
// A human's list may repeat criteria of the Arbiter and leave them to the Arbiter (By): their commands still
// need permission. Without By, a repeated criterion becomes the human's.
type AcceptanceGiven struct {
	Text    string       `json:"text"`
	Command string       `json:"command,omitempty"`
	By      AcceptanceBy `json:"by,omitempty"`
}

// AcceptanceBy says who set a criterion.
type AcceptanceBy string

// Who sets criteria.
const (
	AcceptanceHuman   AcceptanceBy = "human"
	AcceptanceArbiter AcceptanceBy = "arbiter"
)

// AcceptanceOrigin says how a criterion was set.
type AcceptanceOrigin string

// Origins of criteria. All but FromTool are a human's.
const (
	FromFlag   AcceptanceOrigin = "flag"   // --accept
	FromConfig AcceptanceOrigin = "config" // the key accept
	FromStdin  AcceptanceOrigin = "stdin"  // set_acceptance
	FromScreen AcceptanceOrigin = "screen" // /accept
	FromTool   AcceptanceOrigin = "tool"   // the Arbiter's set_acceptance
)

// Bounds of what is set.
const (
	MaxCriteria = 30
	MaxText     = 1000 // bytes
	MaxCommand  = 4000 // bytes
)

// HumanSets makes the list the criteria of the run. It also replaces the Arbiter's criteria. An error says what
// a human has to change; the state is then unchanged.
func (s *AcceptanceState) HumanSets(list []AcceptanceGiven, origin AcceptanceOrigin) error {
	given, err := read(list, AcceptanceHuman, origin)
	if err != nil {
		return err
	}
	var own, kept []Criterion
	for _, c := range given {
		repeats := func(g AcceptanceGiven) bool {
			return g.By == AcceptanceArbiter && clean(g.Text) == c.Text && clean(g.Command) == c.Command
		}
		if !slices.ContainsFunc(list, repeats) {
			own = append(own, c)
			continue
		}
		i := slices.IndexFunc(s.Criteria, func(old Criterion) bool { return old.By == AcceptanceArbiter && old.same(c) })
		if i < 0 {
			return fmt.Errorf("the Arbiter set no criterion %q with that command: leave out `by` to set it yourself",
				c.Text)
		}
		kept = append(kept, s.Criteria[i])
	}
	s.replace(append(own, kept...))
	return nil
}

// HumanAdds adds a criterion. If the Arbiter has set it already, it becomes the human's.
func (s *AcceptanceState) HumanAdds(g AcceptanceGiven, origin AcceptanceOrigin) error {
	added, err := read([]AcceptanceGiven{g}, AcceptanceHuman, origin)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(s.Criteria, added[0].same); i >= 0 && s.Criteria[i].By == AcceptanceHuman {
		return nil
	}
	criteria := slices.DeleteFunc(slices.Clone(s.Criteria), added[0].same)
	own := slices.IndexFunc(criteria, func(c Criterion) bool { return c.By == AcceptanceArbiter })
	if own < 0 {
		own = len(criteria)
	}
	return s.replaceBounded(slices.Insert(criteria, own, added[0]))
}

// HumanDrops drops the criterion with a number, counted from 1.
func (s *AcceptanceState) HumanDrops(number int) error {
	if number < 1 || number > len(s.Criteria) {
		return fmt.Errorf("there is no criterion %d: %s", number, s.count())
	}
	s.replace(slices.Delete(slices.Clone(s.Criteria), number-1, number))
	return nil
}

// ArbiterSets sets the Arbiter's criteria, after those of the human, which stay as they are: one of the list that
// repeats the text of one of them, with whatever command, adds nothing. The error is the answer to the tool's call.
func (s *AcceptanceState) ArbiterSets(list []AcceptanceGiven) error {
	given, err := read(list, AcceptanceArbiter, FromTool)
	if err != nil {
		return err
	}
	criteria := s.ofHuman()
	for _, g := range given {
		if !slices.ContainsFunc(criteria, func(c Criterion) bool { return c.Text == g.Text }) {
			criteria = append(criteria, g)
		}
	}
	return s.replaceBounded(criteria)
}

// BeginTask prepares for another task: the human's criteria are kept, since they apply to the run; the
// Arbiter's are dropped.
func (s *AcceptanceState) BeginTask() {
	s.replace(s.ofHuman())
	s.Results, s.Rejections, s.Unanswered = nil, 0, false
}

// HandedOver records that work was handed over: criteria that failed before may hold now.
func (s *AcceptanceState) HandedOver() { s.Unanswered = false }

// Failing returns the results that rejected the last COMPLETE, if nothing was handed over since.
func (s *AcceptanceState) Failing() []AcceptanceResult {
	var list []AcceptanceResult
	if s.Unanswered {
		for _, i := range s.failed() {
			list = append(list, s.Results[i])
		}
	}
	return list
}

// Answered resets the count of rejections: the human has answered after [AcceptanceExhausted].
func (s *AcceptanceState) Answered() { s.Rejections = 0 }

// AskHow returns, once for each list of criteria, a demand to an Arbiter that completes although some criteria have
// no command; empty: there are none, or it was asked already.
func (s *AcceptanceState) AskHow() string {
	var open []string
	for i, c := range s.Criteria {
		if c.Command == "" {
			open = append(open, fmt.Sprintf("- criterion %d, set by the %s: %s", i+1, c.By, c.Text))
		}
	}
	if s.AskedHow || open == nil {
		return ""
	}
	s.AskedHow = true
	return "No command proves these acceptance criteria, and the human is shown them as unproven. Say in `summary` how " +
		"each of them holds:\n" + strings.Join(open, "\n") + "\n"
}

// replace sets the criteria. If they differ, the current round ends.
func (s *AcceptanceState) replace(criteria []Criterion) {
	if slices.Equal(s.Criteria, criteria) {
		return
	}
	s.Criteria, s.Round, s.AskedHow = criteria, nil, false
}

func (s *AcceptanceState) replaceBounded(criteria []Criterion) error {
	if len(criteria) > MaxCriteria {
		return fmt.Errorf("there can be %d acceptance criteria, these would be %d", MaxCriteria, len(criteria))
	}
	s.replace(criteria)
	return nil
}

// ofHuman returns the human's criteria, as a new slice.
func (s *AcceptanceState) ofHuman() []Criterion {
	return slices.DeleteFunc(slices.Clone(s.Criteria), func(c Criterion) bool { return c.By != AcceptanceHuman })
}

func (s *AcceptanceState) count() string {
	switch len(s.Criteria) {
	case 0:
		return "no criteria are set"
	case 1:
		return "1 criterion is set"
	}
	return fmt.Sprintf("%d criteria are set", len(s.Criteria))
}

// same reports whether two criteria demand the same. Who set them does not matter.
func (c Criterion) same(o Criterion) bool { return c.Text == o.Text && c.Command == o.Command }

// read checks a list of criteria and drops repeated ones.
func read(list []AcceptanceGiven, by AcceptanceBy, origin AcceptanceOrigin) ([]Criterion, error) {
	if len(list) > MaxCriteria {
		return nil, fmt.Errorf("there can be %d acceptance criteria, these are %d", MaxCriteria, len(list))
	}
	var criteria []Criterion
	for i, g := range list {
		c := Criterion{Text: clean(g.Text), Command: clean(g.Command), By: by, Origin: origin}
		switch {
		case c.Text == "" && c.Command == "":
			return nil, fmt.Errorf("criterion %d has neither a text nor a command", i+1)
		case len(c.Text) > MaxText:
			return nil, fmt.Errorf("the text of criterion %d has %d bytes, at most %d are possible", i+1,
				len(c.Text), MaxText)
		case len(c.Command) > MaxCommand:
			return nil, fmt.Errorf("the command of criterion %d has %d bytes, at most %d are possible", i+1,
				len(c.Command), MaxCommand)
		case strings.ContainsRune(c.Text+c.Command, 0):
			return nil, fmt.Errorf("criterion %d has a NUL character", i+1)
		case c.Text == "":
			c.Text = strings.ToValidUTF8(c.Command[:min(len(c.Command), MaxText)], "")
		}
		if !slices.ContainsFunc(criteria, c.same) {
			criteria = append(criteria, c)
		}
	}
	return criteria, nil
}

func clean(text string) string { return strings.TrimSpace(strings.ToValidUTF8(text, "�")) }

// Text lists the criteria for a model; empty: there are none.
func (s *AcceptanceState) Text() string {
	var b strings.Builder
	for i, c := range s.Criteria {
		fmt.Fprintf(&b, "%d. %s", i+1, c.Text)
		if c.Command != "" && c.Command != c.Text {
			fmt.Fprintf(&b, " – proved by `%s`", c.Command)
		}
		fmt.Fprintf(&b, " (set by the %s)\n", c.By)
	}
	return b.String()
}

// IsHumansCommand reports whether a human set the criterion whose command is next: it runs without asking.
func (s *AcceptanceState) IsHumansCommand() bool {
	pending := s.Pending()
	return len(pending) > 0 && s.Criteria[pending[0].Criterion-1].By == AcceptanceHuman
}
