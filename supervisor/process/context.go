package process

import (
	"github.com/arbiter-cli/arbiter/supervisor/agentconfig"
	"github.com/arbiter-cli/arbiter/supervisor/budget"
	"github.com/arbiter-cli/arbiter/supervisor/delivery"
	"github.com/arbiter-cli/arbiter/supervisor/lifecycle"
	"github.com/arbiter-cli/arbiter/supervisor/permission"
	"github.com/arbiter-cli/arbiter/supervisor/question"
	"github.com/arbiter-cli/arbiter/supervisor/renewal"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// Context is what a step uses to start, stop and watch processes: the parts of the state that they concern, and
// the collector of effects. It is created for one use within a step, which owns everything that it points to.
type Context struct {
	*delivery.Context
	Lifecycle  *lifecycle.State
	Permission *permission.State
	Question   *question.State
	Renewal    *renewal.State
	Budget     *budget.State

	Halted  bool   // the human stopped everything: no process starts
	Ordered bool   // the input is a command of the human
	Channel string // of that command
}

// Dirs returns where the agents work.
func (c *Context) Dirs() roster.Dirs { return c.Lifecycle.Dirs(c.Options, c.Roster) }

// Configuration is the configuration that each agent's process starts with.
func (c *Context) Configuration() agentconfig.Run {
	return agentconfig.Run{
		Dirs: c.Dirs(), Task: c.Task.Text, Plan: c.Task.Plan, Spent: c.Roster.SpentWith(c.Budget.CostUSD),
		Untrusted: c.Lifecycle.Untrusted(),
	}
}
