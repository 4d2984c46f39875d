package view

// This part of the package turns slash commands into commands of a run, and answers those that only read its
// state. All frontends share it. It is pure.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// Draft is a plan that a person changes. It becomes the run's plan only when it is saved. Changes of the
// run to its plan are merged in, field by field; the person's changes take precedence. What both have
// changed is kept as a Clash.
type Draft struct {
	base    []contract.Step // the run's plan on which it is based
	steps   []drafted
	clashes []string
}

// drafted is a step of a draft, with the index of its step in the base; -1: a new one.
type drafted struct {
	contract.Step
	from int
}

// NewDraft returns a draft without changes.
func NewDraft(plan []contract.Step) *Draft {
	d := &Draft{base: slices.Clone(plan)}
	for i, s := range plan {
		d.steps = append(d.steps, drafted{s, i})
	}
	return d
}

// Steps returns the changed plan; never nil.
func (d *Draft) Steps() []contract.Step {
	steps := make([]contract.Step, len(d.steps))
	for i, s := range d.steps {
		steps[i] = s.Step
	}
	return steps
}

// Len returns how many steps there are.
func (d *Draft) Len() int { return len(d.steps) }

// Changed reports whether saving would change the run's plan.
func (d *Draft) Changed() bool { return !slices.Equal(d.Steps(), d.base) }

// Touched reports whether a step is new or differs from the run's.
func (d *Draft) Touched(i int) bool {
	s := d.steps[i]
	return s.from < 0 || s.Step != d.base[s.from]
}

// Clashes describes what the person and the run have both changed; the draft holds the person's version.
func (d *Draft) Clashes() []string { return d.clashes }

// Add inserts a step before the one with that number, counted from 0.
func (d *Draft) Add(at int, text string) {
	d.steps = slices.Insert(d.steps, min(max(at, 0), len(d.steps)),
		drafted{contract.Step{Text: text, Status: contract.StepPending}, -1})
}

// SetText, SetMode and Mark change a step.
func (d *Draft) SetText(i int, text string) { d.steps[i].Text = text }
func (d *Draft) SetMode(i int, mode string) { d.steps[i].Mode = mode }
func (d *Draft) Mark(i int, status string)  { d.steps[i].Status = status }

// Delete removes a step.
func (d *Draft) Delete(i int) { d.steps = slices.Delete(d.steps, i, i+1) }

// Move moves a step by so many places, and returns its new place.
func (d *Draft) Move(i, by int) int {
	s := d.steps[i]
	to := min(max(i+by, 0), len(d.steps)-1)
	d.steps = slices.Insert(slices.Delete(d.steps, i, i+1), to, s)
	return to
}

// Follow takes over the run's new plan, and reports whether some of it had to be merged with changes of the
// person.
func (d *Draft) Follow(plan []contract.Step) (merged bool) {
	if slices.Equal(plan, d.base) {
		return false
	}
	if !d.Changed() {
		*d = *NewDraft(plan)
		return false
	}
	partner := pairs(d.base, plan)
	d.gone(plan, partner)
	var steps []drafted
	taken := make([]bool, len(plan))
	for _, s := range d.steps {
		if kept, ok := d.rebased(s, plan, partner, taken); ok {
			steps = append(steps, kept)
		}
	}
	for _, t := range partner { // including those that the person deleted
		if t >= 0 {
			taken[t] = true
		}
	}
	for t, s := range plan {
		if !taken[t] {
			behind := slices.IndexFunc(steps, func(s drafted) bool { return t > 0 && s.from == t-1 })
			if behind < 0 && t > 0 {
				behind = len(steps) - 1
			}
			steps = slices.Insert(steps, behind+1, drafted{s, t})
		}
	}
	d.base, d.steps = slices.Clone(plan), steps
	return true
}

// pairs finds for each step of one plan the matching step of another, -1 for none: the step with the same
// text, otherwise, if both plans have the same length, the step at the same place.
func pairs(old, plan []contract.Step) []int {
	partner := make([]int, len(old))
	used := make([]bool, len(plan))
	byText := map[string][]int{}
	for t, s := range plan {
		byText[s.Text] = append(byText[s.Text], t)
	}
	for i, s := range old {
		partner[i] = -1
		if list := byText[s.Text]; len(list) > 0 {
			partner[i], byText[s.Text] = list[0], list[1:]
			used[list[0]] = true
		}
	}
	for i := range old {
		if partner[i] < 0 && len(old) == len(plan) && !used[i] {
			partner[i], used[i] = i, true
		}
	}
	return partner
}

// gone records steps that the person deleted and the run has changed.
func (d *Draft) gone(plan []contract.Step, partner []int) {
	for i, t := range partner {
		deleted := !slices.ContainsFunc(d.steps, func(s drafted) bool { return s.from == i })
		if deleted && t >= 0 && plan[t] != d.base[i] {
			d.clash("%s: you have deleted it; it is %s now", plan[t].Text, state(plan[t].Status))
		}
	}
}

// rebased returns a step of the draft on the run's new plan; false: the run has dropped it, and the person
// had not changed it.
func (d *Draft) rebased(s drafted, plan []contract.Step, partner []int, taken []bool) (drafted, bool) {
	t := -1
	if s.from >= 0 {
		t = partner[s.from]
	} else if t = slices.IndexFunc(plan, func(p contract.Step) bool { return p.Text == s.Text }); t >= 0 &&
		(taken[t] || slices.Contains(partner, t)) {
		t = -1
	}
	switch {
	case t < 0 && s.from < 0:
		return s, true
	case t < 0 && s.Step == d.base[s.from]:
		return s, false
	case t < 0:
		d.clash("%s: it was taken out of the plan; you have changed it", s.Text)
		return drafted{s.Step, -1}, true
	}
	taken[t] = true
	theirs, base := plan[t], contract.Step{}
	if s.from >= 0 {
		base = d.base[s.from]
	} else { // both have added it
		base = contract.Step{Text: s.Text, Status: contract.StepPending}
	}
	merge := func(mine *string, base, theirs, what string) {
		switch {
		case *mine == base || *mine == theirs:
			*mine = theirs
		case theirs != base:
			d.clash("%s: its %s is %s now; you have set %s", s.Text, what, state(theirs), state(*mine))
		}
	}
	merge(&s.Status, base.Status, theirs.Status, "status")
	merge(&s.Mode, base.Mode, theirs.Mode, "mode")
	merge(&s.Agent, base.Agent, theirs.Agent, "agent")
	merge(&s.Text, base.Text, theirs.Text, "text")
	return drafted{s.Step, t}, true
}

func (d *Draft) clash(format string, args ...any) {
	for i, a := range args {
		if text, ok := a.(string); ok {
			args[i] = SlashWord(text)
		}
	}
	if text := fmt.Sprintf(format, args...); !slices.Contains(d.clashes, text) {
		d.clashes = append(d.clashes, text)
	}
}

// state returns a value in words.
func state(s string) string {
	if s == "" {
		return "none"
	}
	return strings.ReplaceAll(s, "_", " ")
}
