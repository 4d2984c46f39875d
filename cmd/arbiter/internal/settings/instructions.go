package settings

import (
	"fmt"
	"os"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/agents"
)

// ReadInstructions reads the instructions for deciders and agents: the user's prompt templates, and the agents that
// can be spawned. An invalid template is an error; an invalid agent file is skipped, and Notice reports it. A
// rehearsal uses none of the user's files.
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

// maxListedProblems is how many problems of agent files a notice lists.
const maxListedProblems = 3

// agentNotice returns the problems of agent files in one line; empty if there are none.
func agentNotice(problems []agents.Problem) string {
	var listed []string
	more := 0
	for _, p := range problems {
		switch {
		case p.Warning:
		case len(listed) < maxListedProblems:
			listed = append(listed, p.Error())
		default:
			more++
		}
	}
	if len(listed) == 0 {
		return ""
	}
	if more > 0 {
		listed = append(listed, fmt.Sprintf("%d more (arbiter agents check)", more))
	}
	return "agent files: " + strings.Join(listed, "; ")
}
