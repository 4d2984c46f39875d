package supervisor

import (
	"fmt"
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// BackOff records that an agent waits.
func (c *ProcessContext) BackOff(a *Agent, category bridge.Category, attempt int, delay time.Duration) {
	a.Backoff = &AgentBackoff{Category: category, Attempt: attempt, Until: c.Out.Now.Add(delay)}
}

// Decide asks the policy about the end of a process, and records the answer in the history.
func (c *ProcessContext) Decide(agent string, generation int, class runconfig.RestartClass, reason string,
	resets time.Time) runconfig.RestartDecision {
	return c.Lifecycle.Decide(c.Options.RestartPolicy(), runconfig.RestartExit{
		Agent: agent, Class: class, At: c.Out.Now, ResetsAt: resets, Reason: reason,
		Seed: fmt.Sprintf("%s/%s/%d", c.Options.Run, agent, generation),
	})
}

// restartUsageWaits resets the timers for usage limits after a sleep of the machine: the timers stood still,
// but limits end at a time of the day.
func (c *ProcessContext) restartUsageWaits(slept time.Duration) {
	earliest := time.Duration(0)
	for i := range c.Roster.Agents {
		a := c.Roster.Agents[i]
		if a.Status != AgentReady || a.Troubles == 0 {
			continue
		}
		for _, x := range slices.Backward(c.Lifecycle.Restarts) {
			if x.Agent != a.ID {
				continue
			}
			if x.Class == runconfig.UsageLimit && x.StartAt.After(c.Out.Now.Add(-slept)) {
				earliest += runconfig.DefaultRestarts().Stagger
				after := max(x.StartAt.Sub(c.Out.Now), earliest)
				if b := a.Backoff; b != nil {
					c.BackOff(c.Roster.Edit(a.ID), b.Category, b.Attempt, after)
				}
				c.Out.Do(effect.SetTimer{Key: RetryKey(a.AgentRef), After: after})
			}
			break
		}
	}
}

// LimitWork sets the time limit of an Orchestrator's mode.
func (c *ProcessContext) LimitWork(id string) {
	a, _ := c.Roster.Agent(id)
	if mode, ok := c.Options.ModeNamed(a.Mode); ok && mode.Limits.Timeout > 0 {
		c.Out.Do(effect.SetTimer{Key: WorkLimitKey(a.AgentRef), After: mode.Limits.Timeout})
	}
}
