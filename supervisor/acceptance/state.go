package acceptance

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// State holds the criteria of a run, and the results of the last round.
type State struct {
	Criteria   []Criterion // the human's first, each once
	Rounds     int         // how many were begun: the number of the current one
	Round      *Round      // in progress, or nil
	Results    []Result    // of the last round that was judged
	Rejections int         // of COMPLETE, since the task began or the human answered
	Unanswered bool        // a COMPLETE was rejected, and nothing was handed over since
	AskedHow   bool        // the Arbiter was asked how the criteria without a command hold
}

// Criterion is one thing that must hold before the task is complete.
type Criterion struct {
	Text    string
	Command string `json:",omitempty"` // exit code 0 proves the criterion; empty: it cannot be proven
	By      By
	Origin  Origin
}

// Given is a criterion as it is set. A Given without text has its command as its text.
//
// A human's list may repeat criteria of the Arbiter and leave them to the Arbiter (By): their commands still
// need permission. Without By, a repeated criterion becomes the human's.
type Given struct {
	Text    string `json:"text"`
	Command string `json:"command,omitempty"`
	By      By     `json:"by,omitempty"`
}

// By says who set a criterion.
type By string

// Who sets criteria.
const (
	Human   By = "human"
	Arbiter By = "arbiter"
)

// Origin says how a criterion was set.
type Origin string

// Origins of criteria. All but FromTool are a human's.
const (
	FromFlag   Origin = "flag"   // --accept
	FromConfig Origin = "config" // the key accept
	FromStdin  Origin = "stdin"  // set_acceptance
	FromScreen Origin = "screen" // /accept
	FromTool   Origin = "tool"   // the Arbiter's set_acceptance
)

// Bounds of what is set.
const (
	MaxCriteria = 30
	MaxText     = 1000 // bytes
	MaxCommand  = 4000 // bytes
)

// HumanSets makes the list the criteria of the run. It also replaces the Arbiter's criteria. An error says what
// a human has to change; the state is then unchanged.
func (s *State) HumanSets(list []Given, origin Origin) error {
	given, err := read(list, Human, origin)
	if err != nil {
		return err
	}
	var own, kept []Criterion
	for _, c := range given {
		repeats := func(g Given) bool {
			return g.By == Arbiter && clean(g.Text) == c.Text && clean(g.Command) == c.Command
		}
		if !slices.ContainsFunc(list, repeats) {
			own = append(own, c)
			continue
		}
		i := slices.IndexFunc(s.Criteria, func(old Criterion) bool { return old.By == Arbiter && old.same(c) })
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
func (s *State) HumanAdds(g Given, origin Origin) error {
	added, err := read([]Given{g}, Human, origin)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(s.Criteria, added[0].same); i >= 0 && s.Criteria[i].By == Human {
		return nil
	}
	criteria := slices.DeleteFunc(slices.Clone(s.Criteria), added[0].same)
	own := slices.IndexFunc(criteria, func(c Criterion) bool { return c.By == Arbiter })
	if own < 0 {
		own = len(criteria)
	}
	return s.replaceBounded(slices.Insert(criteria, own, added[0]))
}

// HumanDrops drops the criterion with a number, counted from 1.
func (s *State) HumanDrops(number int) error {
	if number < 1 || number > len(s.Criteria) {
		return fmt.Errorf("there is no criterion %d: %s", number, s.count())
	}
	s.replace(slices.Delete(slices.Clone(s.Criteria), number-1, number))
	return nil
}

// ArbiterSets makes the list the criteria of the run, if it contains each criterion of the human with its text
// and command unchanged. The error is the answer to the tool's call.
func (s *State) ArbiterSets(list []Given) error {
	given, err := read(list, Arbiter, FromTool)
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
func (s *State) BeginTask() {
	s.replace(s.ofHuman())
	s.Results, s.Rejections, s.Unanswered = nil, 0, false
}

// HandedOver records that work was handed over: criteria that failed before may hold now.
func (s *State) HandedOver() { s.Unanswered = false }

// Failing returns the results that rejected the last COMPLETE, if nothing was handed over since.
func (s *State) Failing() []Result {
	var list []Result
	if s.Unanswered {
		for _, i := range s.failed() {
			list = append(list, s.Results[i])
		}
	}
	return list
}

// Answered resets the count of rejections: the human has answered after [Exhausted].
func (s *State) Answered() { s.Rejections = 0 }

// AskHow returns, once for each list of criteria, a question for an Arbiter that completes although some
// criteria have no command; empty: there are none, or it was asked already.
func (s *State) AskHow() string {
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
func (s *State) replace(criteria []Criterion) {
	if slices.Equal(s.Criteria, criteria) {
		return
	}
	s.Criteria, s.Round, s.AskedHow = criteria, nil, false
}

func (s *State) replaceBounded(criteria []Criterion) error {
	if len(criteria) > MaxCriteria {
		return fmt.Errorf("there can be %d acceptance criteria, these would be %d", MaxCriteria, len(criteria))
	}
	s.replace(criteria)
	return nil
}

// ofHuman returns the human's criteria, as a new slice.
func (s *State) ofHuman() []Criterion {
	return slices.DeleteFunc(slices.Clone(s.Criteria), func(c Criterion) bool { return c.By != Human })
}

func (s *State) count() string {
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
func read(list []Given, by By, origin Origin) ([]Criterion, error) {
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
func (s *State) Text() string {
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
func (s *State) IsHumansCommand() bool {
	pending := s.Pending()
	return len(pending) > 0 && s.Criteria[pending[0].Criterion-1].By == Human
}
