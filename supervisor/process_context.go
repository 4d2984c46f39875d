package supervisor

import (
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// ProcessContext is what a step uses to start, stop and watch processes: the parts of the state that they concern, and
// the collector of effects. It is created for one use within a step, which owns everything that it points to.
type ProcessContext struct {
	*DeliveryContext
	Lifecycle  *LifecycleState
	Permission *input.PermissionState
	Question   *QuestionState
	Renewal    *RenewalState
	Budget     *BudgetState

	Halted  bool   // the human stopped everything: no process starts
	Ordered bool   // the input is a command of the human
	Channel string // of that command
}

// Dirs returns where the agents work.
func (c *ProcessContext) Dirs() AgentDirs { return c.Lifecycle.Dirs(c.Options, c.Roster) }

// Configuration is the configuration that each agent's process starts with.
func (c *ProcessContext) Configuration() ConfigRun {
	return ConfigRun{
		AgentDirs: c.Dirs(), Task: c.Task.Text, Plan: c.Task.Plan, Spent: c.Roster.SpentWith(c.Budget.CostUSD),
		Untrusted: c.Lifecycle.Untrusted(),
	}
}
