package supervisor

// This part of the package holds the criteria that a task must meet before a COMPLETE takes effect, and
// judges them.
//
// A criterion is a text, and usually a command whose exit code 0 proves it. Humans set criteria with --accept, the
// configuration, the command set_acceptance or /accept; the Arbiter sets them with its tool. The Arbiter may add
// criteria, and change or drop its own. It can neither drop a criterion that a human set nor change its text or
// command: [AcceptanceState.ArbiterSets] refuses the whole call.
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
	"errors"
	"fmt"
	"slices"
	"strings"
)

// AcceptanceState holds the criteria of a run, and the results of the last round.
type AcceptanceState struct {
	Criteria   []Criterion        // the human's first, each once
	Rounds     int                // how many were begun: the number of the current one
	Round      *AcceptanceRound   // in progress, or nil
	Results    []AcceptanceResult // of the last round that was judged
	Rejections int                // of COMPLETE, since the task began or the human answered
	Unanswered bool               // a COMPLETE was rejected, and nothing was handed over since
	AskedHow   bool               // the Arbiter was asked how the criteria without a command hold
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

// ArbiterSets makes the list the criteria of the run, if it contains each criterion of the human with its text
// and command unchanged. The error is the answer to the tool's call.
func (s *AcceptanceState) ArbiterSets(list []AcceptanceGiven) error {
	given, err := read(list, AcceptanceArbiter, FromTool)
	if err != nil {
		return err
	}
	var problems []string
	criteria := s.ofHuman()
	for _, c := range criteria {
		if !slices.ContainsFunc(given, c.same) {
			problems = append(problems, c.weakened(given))
		}
	}
	if problems != nil {
		return errors.New("nothing was changed: only the human can drop or change a criterion that the human set. " +
			strings.Join(problems, ". ") + ". Repeat each criterion of the human as it is, and add yours after them")
	}
	for _, g := range given {
		if !slices.ContainsFunc(criteria, g.same) {
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

// AskHow returns, once for each list of criteria, a question for an Arbiter that completes although some
// criteria have no command; empty: there are none, or it was asked already.
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
	return "COMPLETE did not take effect yet: no command proves these acceptance criteria, and the human is shown " +
		"them as " +
		"unproven. Rule COMPLETE again and say in `summary` how each of them holds.\n" + strings.Join(open, "\n")
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

// weakened says how a list changes a criterion that it does not contain unchanged.
func (c Criterion) weakened(given []Criterion) string {
	name := fmt.Sprintf("The criterion %q", c.Text)
	if c.Command != "" && c.Command != c.Text {
		name += fmt.Sprintf(" with the command %q", c.Command)
	}
	for _, g := range given {
		switch {
		case g.Text == c.Text:
			return name + " has another command in your list"
		case g.Command == c.Command && c.Command != "":
			return name + " has another text in your list"
		}
	}
	return name + " is not in your list"
}

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
