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
// A round judges a COMPLETE on one tree, the Git tree of the final snapshot. It runs all commands: it uses no result of
// an earlier round. A change of the criteria ends the round without an outcome ([AcceptanceState.Round] is nil), and
// the caller begins another. A command that could not run, was not permitted or exceeded its time limit counts as
// failed: in doubt, a criterion does not pass. The third rejection ([MaxRejections]) is an outcome of its own:
// the human is asked, and without a human the run fails.
//
// Nothing can prove criteria without a command, so they are listed as unproven and do not reject.
// [AcceptanceState.AskHow] makes the Arbiter say once, in the summary of its COMPLETE, how each of them holds. A human
// who needs proof gives a command.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
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
	Tree    string             // Git's id; empty: there is no Git, and trees cannot be distinguished
	Results []AcceptanceResult // of the criteria, in their order; those without a status are pending
}

// AcceptanceResult is the result of a criterion.
type AcceptanceResult struct {
	Criterion
	Status string // one of the statuses below; empty: its command has not run yet
	Exit   int    // -1: no command ran, or it did not end in time
	SHA256 string `json:",omitempty"`
	Output string `json:",omitempty"`
	Why    string `json:",omitempty"` // why it failed without an exit code
	Tree   string `json:",omitempty"`
	Before string `json:",omitempty"` // of a passed one: what it said before the work, as in [verdict.Receipt]
}

// Statuses of a criterion.
const (
	AcceptancePassed   = "passed"
	AcceptanceFailed   = "failed"
	AcceptanceUnproven = "unproven"
)

// Begin begins a round. A round in progress ends without an outcome.
func (s *AcceptanceState) Begin(tree string) {
	r := &AcceptanceRound{Tree: tree}
	for _, c := range s.Criteria {
		result := AcceptanceResult{Criterion: c, Exit: -1}
		if c.Command == "" {
			result.Status = AcceptanceUnproven
		}
		r.Results = append(r.Results, result)
	}
	s.Round = r
}

// Pending returns the criteria whose commands have not run yet in the current round.
func (s *AcceptanceState) Pending() (list []Criterion) {
	if s.Round != nil {
		for _, r := range s.Round.Results {
			if r.Status == "" {
				list = append(list, r.Criterion)
			}
		}
	}
	return list
}

// Finish records the result of the first pending command; failed says why it was not run. Without a pending one, it
// does nothing.
func (s *AcceptanceState) Finish(x bridge.CheckResult, failed string) {
	if len(s.Pending()) == 0 {
		return
	}
	switch {
	case failed != "":
	case x.TimedOut:
		failed = "out of time"
	case x.Signal != "":
		failed = "ended by signal " + x.Signal
	}
	round := *s.Round
	round.Results = slices.Clone(round.Results)
	result := &round.Results[slices.IndexFunc(round.Results, func(r AcceptanceResult) bool { return r.Status == "" })]
	result.Status, result.Exit, result.SHA256, result.Tree = AcceptanceFailed, x.Exit, x.SHA256, round.Tree
	result.Output, result.Why = words.Tail(strings.ToValidUTF8(x.Output, "�"), evidenceOne), failed
	switch {
	case failed != "":
		result.Exit = -1
	case x.Exit == 0:
		result.Status = AcceptancePassed
	}
	s.Round = &round
}

// AcceptanceOutcome is the result of a round.
type AcceptanceOutcome struct {
	Exhausted bool   // rejected too often: the human is asked; without one the run fails
	Text      string // for the Arbiter, or for the human if Exhausted; empty: nothing failed, and COMPLETE takes effect
	Evidence  string // what failed, with its output, for the Arbiter: a quotation of programs, no instruction
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
		return AcceptanceOutcome{}, true
	}
	s.Rejections++
	o := AcceptanceOutcome{Exhausted: s.Rejections >= MaxRejections, Evidence: s.evidence(failed)}
	what := fmt.Sprintf("%d of %d acceptance criteria failed on the final tree", len(failed), len(s.Results))
	if !o.Exhausted {
		o.Text = fmt.Sprintf("COMPLETE did not take effect: %s. Have it fixed and use COMPLETE again. "+
			"This was rejection %d; after %d the human is asked, and without a human the run fails.", what,
			s.Rejections, MaxRejections)
		return o, true
	}
	var named []string
	for _, i := range failed {
		r := s.Results[i]
		name := strings.ReplaceAll(words.Head(words.FirstLine(r.Text), 200), "\n", " ")
		named = append(named, fmt.Sprintf("%s (%s)", name, r.end()))
	}
	o.Text = fmt.Sprintf("COMPLETE was rejected %d times. The last time %s: %s", s.Rejections, what,
		strings.Join(named, "; "))
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

// Events are all criteria with the results of the last judged round. What it did not judge is unproven.
func (s *AcceptanceState) Events() (list []contract.Acceptance) {
	for _, c := range s.Criteria {
		e := contract.Acceptance{Text: c.Text, Command: c.Command, By: c.By, Status: AcceptanceUnproven,
			ExitCode: -1}
		i := slices.IndexFunc(s.Results, func(r AcceptanceResult) bool { return sameAs(c)(r.Criterion) })
		if i >= 0 && s.Results[i].Status != AcceptanceUnproven {
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
	Round      *AcceptanceRound   // in progress, or nil
	Results    []AcceptanceResult // of the last round that was judged
	Rejections int                // of COMPLETE, since the task began or the human answered
	Unanswered bool               // a COMPLETE was rejected, and nothing was handed over since
	AskedHow   bool               // the Arbiter was asked how the criteria without a command hold
	Tasks      int                // that the run has had, with this one
	Before     string             // commit with the files before the task; empty: not known, or the run's base
}

// Criterion is one thing that must hold before the task is complete; By is contract.Human or contract.Arbiter.
type Criterion = contract.AcceptanceCriterion

// Bounds of what is set.
const (
	MaxCriteria = 30
	MaxText     = 1000 // bytes
	MaxCommand  = 4000 // bytes
)

// HumanSets makes the list the criteria of the run. It also replaces the Arbiter's criteria. An error says what
// a human has to change; the state is then unchanged.
//
// The list may repeat criteria of the Arbiter and leave them to the Arbiter (By): their commands still need
// permission. Without By, a repeated criterion becomes the human's.
func (s *AcceptanceState) HumanSets(list []Criterion) error {
	given, err := read(list, contract.Human)
	if err != nil {
		return err
	}
	var own, kept []Criterion
	for _, c := range given {
		repeats := func(g Criterion) bool {
			return g.By == contract.Arbiter && clean(g.Text) == c.Text && clean(g.Command) == c.Command
		}
		if !slices.ContainsFunc(list, repeats) {
			own = append(own, c)
			continue
		}
		i := slices.IndexFunc(s.Criteria, func(old Criterion) bool { return old.By == contract.Arbiter && sameAs(c)(old) })
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
func (s *AcceptanceState) HumanAdds(g Criterion) error {
	added, err := read([]Criterion{g}, contract.Human)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(s.Criteria, sameAs(added[0])); i >= 0 && s.Criteria[i].By == contract.Human {
		return nil
	}
	criteria := slices.DeleteFunc(slices.Clone(s.Criteria), sameAs(added[0]))
	own := slices.IndexFunc(criteria, func(c Criterion) bool { return c.By == contract.Arbiter })
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
func (s *AcceptanceState) ArbiterSets(list []Criterion) error {
	given, err := read(list, contract.Arbiter)
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
	return slices.DeleteFunc(slices.Clone(s.Criteria), func(c Criterion) bool { return c.By != contract.Human })
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

// sameAs selects the criteria that demand the same. Who set them does not matter.
func sameAs(c Criterion) func(Criterion) bool {
	return func(o Criterion) bool { return c.Text == o.Text && c.Command == o.Command }
}

// read checks a list of criteria and drops repeated ones. One without a text has its command as its text.
func read(list []Criterion, by string) ([]Criterion, error) {
	if len(list) > MaxCriteria {
		return nil, fmt.Errorf("there can be %d acceptance criteria, these are %d", MaxCriteria, len(list))
	}
	var criteria []Criterion
	for i, g := range list {
		c := Criterion{Text: clean(g.Text), Command: clean(g.Command), By: by}
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
		if !slices.ContainsFunc(criteria, sameAs(c)) {
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
	return len(pending) > 0 && pending[0].By == contract.Human
}
