package view

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// slashMarks are the words that set a step's status.
var slashMarks = map[string]string{
	"done": contract.StepDone,
	"skip": contract.StepSkipped, "skipped": contract.StepSkipped,
	"fail": contract.StepFailed, "failed": contract.StepFailed,
	"start": contract.StepActive, "active": contract.StepActive,
	"pending": contract.StepPending,
}

const planWords = "done, start, skip, fail, pending, up, down, delete, text … or mode …"

// amended returns the command for "/plan add TEXT" and "/plan N CHANGE": the run's plan with that one
// change. The error says what is wrong.
func amended(s *supervisor.State, c EditorCommand) (contract.SetPlan, error) {
	if s == nil {
		return contract.SetPlan{}, errors.New("there is no plan yet: say what is to be done")
	}
	d := NewDraft(s.Task.Plan)
	verb, rest := c.Arg(0), c.Arg(1)
	if verb == "add" {
		d.Add(d.Len(), rest)
		return contract.SetPlan{Steps: d.Steps()}, nil
	}
	n, err := strconv.Atoi(verb)
	if err != nil || n < 1 || n > d.Len() {
		return contract.SetPlan{}, fmt.Errorf("there is no step %s; the plan has %d", SlashWord(verb), d.Len())
	}
	if err := amend(d, s, n-1, rest); err != nil {
		return contract.SetPlan{}, fmt.Errorf("step %d: %w", n, err)
	}
	return contract.SetPlan{Steps: d.Steps()}, nil
}

// amend changes one step, counted from 0.
func amend(d *Draft, s *supervisor.State, i int, change string) error {
	word, rest, _ := strings.Cut(change, " ")
	rest = strings.TrimSpace(rest)
	word = strings.ToLower(word)
	if word != "text" && word != "mode" && rest != "" {
		return fmt.Errorf("%q is none of %s", SlashWord(change), planWords)
	}
	if status, ok := slashMarks[word]; ok {
		d.Mark(i, status)
		return nil
	}
	switch word {
	case "up":
		d.Move(i, -1)
	case "down":
		d.Move(i, 1)
	case "delete":
		d.Delete(i)
	case "text":
		if rest == "" {
			return errors.New("its new text is missing")
		}
		d.SetText(i, rest)
	case "mode":
		if rest != "" && !HasMode(s, rest) {
			return fmt.Errorf("there is no mode %q; modes: %s", SlashWord(rest), strings.Join(modeNames(s), ", "))
		}
		d.SetMode(i, rest)
	default:
		return fmt.Errorf("%q is none of %s", SlashWord(change), planWords)
	}
	return nil
}

// Modes returns the modes in which an Orchestrator of a run can be spawned.
func Modes(s *supervisor.State) []agents.Agent {
	if s != nil && s.Options.Modes != nil {
		return s.Options.Modes
	}
	return agents.List()
}

// HasMode reports whether a run has a mode.
func HasMode(s *supervisor.State, name string) bool {
	for _, m := range Modes(s) {
		if m.Name == name {
			return true
		}
	}
	return false
}

func modeNames(s *supervisor.State) []string {
	var names []string
	for _, m := range Modes(s) {
		names = append(names, SlashWord(m.Name))
	}
	return names
}

// SlashPlan returns a run's plan, one step per line.
func SlashPlan(s *supervisor.State) string {
	if s == nil || len(s.Task.Plan) == 0 {
		return "There is no plan yet."
	}
	var b strings.Builder
	for i, step := range s.Task.Plan {
		fmt.Fprintf(&b, "%d. %s: %s", i+1, SlashWord(step.Status), SlashWord(step.Text))
		if step.Agent != "" {
			fmt.Fprintf(&b, " (%s)", SlashName(s, step.Agent))
		} else if step.Mode != "" {
			fmt.Fprintf(&b, " (for a %s)", SlashWord(step.Mode))
		}
		b.WriteString("\n")
	}
	return b.String()
}
