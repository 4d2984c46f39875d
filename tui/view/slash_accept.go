package view

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// accept returns the command for "/accept COMMAND" and "/accept drop N": the run's criteria with that one
// change. The error says what is wrong.
func accept(s *supervisor.State, c EditorCommand) (contract.SetAcceptance, error) {
	if s == nil {
		return contract.SetAcceptance{},
			errors.New("there is no run yet: say what is to be done, or start with --accept")
	}
	criteria := s.Task.Acceptance
	var err error
	if number, drop := strings.CutPrefix(c.Arg(0), "drop "); drop {
		n, wrong := strconv.Atoi(strings.TrimSpace(number))
		if wrong != nil {
			return contract.SetAcceptance{},
				fmt.Errorf("%q is not a number of a criterion: /accept lists them", SlashWord(number))
		}
		err = criteria.HumanDrops(n)
	} else {
		err = criteria.HumanAdds(supervisor.AcceptanceGiven{Command: c.Arg(0)}, supervisor.FromScreen)
	}
	if err != nil {
		return contract.SetAcceptance{}, err
	}
	set := contract.SetAcceptance{Criteria: []contract.AcceptanceCriterion{}}
	for _, c := range criteria.Criteria {
		given := contract.AcceptanceCriterion{Text: c.Text, Command: c.Command}
		if c.By == supervisor.AcceptanceArbiter {
			given.By = string(c.By)
		}
		set.Criteria = append(set.Criteria, given)
	}
	return set, nil
}

// criteria lists the acceptance criteria with their last results.
func criteria(s *supervisor.State) string {
	if s == nil || len(s.Task.Acceptance.Criteria) == 0 {
		return "There are no acceptance criteria. " +
			"/accept COMMAND adds a command that must pass before the task is complete."
	}
	var b strings.Builder
	found := map[string]supervisor.AcceptanceStatus{}
	for _, r := range s.Task.Acceptance.Results {
		found[r.Text+"\x00"+r.Command] = r.Status
	}
	for i, c := range s.Task.Acceptance.Criteria {
		fmt.Fprintf(&b, "%d. %s", i+1, SlashWord(c.Text))
		if c.Command != "" && c.Command != c.Text {
			fmt.Fprintf(&b, " (%s)", SlashWord(c.Command))
		}
		fmt.Fprintf(&b, ", set by the %s", c.By)
		if status := found[c.Text+"\x00"+c.Command]; status != "" {
			fmt.Fprintf(&b, ": %s when it was last judged", status)
		}
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n")
}
