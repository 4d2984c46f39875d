package settings

import (
	"fmt"
	"os"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/agents"
)

// ReadInstructions reads what deciders and agents are instructed with: the user's prompt templates,
// and the agents that can be summoned. A template that cannot be used is an error; an
// agent file is left out, and Notice says so. A rehearsal knows nothing of the user's.
func (c *Choices) ReadInstructions() error {
	trusted := c.Trusting.Trusted
	home := func(name string) string { return "" }
	if !c.Rehearse {
		home = os.Getenv
	}
	var err error
	if c.Options.Templates, err = ReadTemplates(c.Place, trusted, !c.Rehearse); err != nil {
		return err
	}
	found := agents.Discover(agents.UserPlaces(c.Place, trusted, home))
	c.Options.Modes, c.Notice = found.Agents, strings.Trim(agentNotice(found.Problems)+"; "+c.Unused, "; ")
	return c.Trusting.Unchanged(c.Place)
}

// toldProblems is how many problems of agent files a notice names.
const toldProblems = 3

// agentNotice is what is wrong with agent files, in a line; empty if nothing is.
func agentNotice(problems []agents.Problem) string {
	var told []string
	more := 0
	for _, p := range problems {
		switch {
		case p.Warning:
		case len(told) < toldProblems:
			told = append(told, p.Error())
		default:
			more++
		}
	}
	if len(told) == 0 {
		return ""
	}
	if more > 0 {
		told = append(told, fmt.Sprintf("%d more (arbiter agents check)", more))
	}
	return "agent files: " + strings.Join(told, "; ")
}
