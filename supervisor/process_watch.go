package supervisor

import (
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// Watch sets the timer for the next probe of an agent's process.
func (c *ProcessContext) Watch(a *Agent, after time.Duration) {
	c.Out.Do(effect.SetTimer{Key: WatchKey(a.AgentRef), After: after})
}

// Probed evaluates a probe: the process's signs of activity, and the resources it uses.
func (c *ProcessContext) Probed(f input.Probed) {
	a := c.Roster.Edit(f.Agent.ID)
	if a == nil || a.Generation != f.Agent.Generation || !a.Up() {
		return
	}
	silent := QuietFor(a, f.Result, c.Out.Now)
	c.Watch(a, NextProbe(silent, c.Options.QuietAfter, c.Options.ProbeEvery()))
	if f.Failed != "" {
		// The bridge is busy, hangs or is lost, which says nothing about the agent.
		if f.Silent {
			c.Lifecycle.Unanswered(c.Out, a.Host, c.Options.ProbeEvery())
		}
		return
	}
	c.Lifecycle.Answered(a.Host)
	wasStopped := a.Watch.Stopped
	a.Watch = Observe(a.Watch, Probe{
		Result: f.Result, At: c.Out.Now, Busy: a.Status == AgentBusy, Silence: c.Options.Scaled(LifecycleSilence),
	})
	c.reportQuiet(a, silent)
	if a.Watch.Stopped && !wasStopped {
		c.Out.Emit(a.ID, contract.Notice{Text: a.Name + " is stopped (SIGSTOP); it continues when it gets SIGCONT"})
	}
	if a.Watch.Quiet == 0 {
		c.guard(a, f.Result)
		return
	}
	if a.Watch.Quiet == 1 {
		c.Out.Emit(a.ID, contract.Notice{Text: fmt.Sprintf("%s gives no sign of life: no output for %s, no CPU, no answer",
			a.Name, (time.Duration(f.Result.SilentMS) * time.Millisecond).Round(time.Second))})
	}
	c.hung(a)
}

// reportQuiet reports each long silence of an agent once. It only informs.
func (c *ProcessContext) reportQuiet(a *Agent, silent time.Duration) {
	limit := c.Options.QuietAfter
	was := a.Watch.Silent
	a.Watch.Silent = limit > 0 && silent >= limit && !c.Permission.Awaits(a.ID)
	if a.Watch.Silent && !was {
		c.Out.Emit(a.ID, contract.Quiet{Seconds: int(silent.Seconds()), Doing: Doing(a)})
	}
}

// hung handles an agent without any sign of activity. A hung Arbiter is restarted. For an Orchestrator the
// Arbiter is notified, and decides.
func (c *ProcessContext) hung(a *Agent) {
	w := &a.Watch
	if a.Role == RoleArbiter {
		if w.Quiet >= HungArbiter {
			c.Relaunch(a.ID, runconfig.RestartHung, "no output, no CPU, no answer")
		}
		return
	}
	if w.Hung || w.Quiet < HungAfter {
		return
	}
	w.Hung = true
	c.Notify(contract.Arbiter, KindNotice, fmt.Sprintf(
		"%s (%s) gives no sign of life: no output, no CPU, no answer. RETRY with to=%s starts its process again, on "+
			"the same history; release_orchestrator ends it; CONTINUE waits on.",
		a.Name, a.ID, a.ID))
}

// guard checks an agent's memory and output files against the limits.
func (c *ProcessContext) guard(a *Agent, r bridge.ProbeResult) {
	limits := ResourceLimits{Memory: c.Options.MaxMemory, Output: c.Options.MaxOutput}
	watch, warnings, exceeded := GuardContext(a.Watch, r, limits)
	a.Watch = watch
	for _, w := range warnings {
		c.Out.Emit(a.ID, contract.Notice{Text: a.Name + " uses " + w})
	}
	if exceeded != "" {
		c.Out.Emit(a.ID, contract.Notice{Text: a.Name + " is being restarted: " + exceeded})
		c.Relaunch(a.ID, runconfig.RestartResource, exceeded)
	}
}

// WokeFromSleep restarts the watch after the machine slept.
func (c *ProcessContext) WokeFromSleep(f input.WokeFromSleep) {
	c.Budget.Runtime.Slept(f.Slept)
	c.Out.Emit(contract.Supervisor, contract.Notice{Text: "the machine slept, or its clock was changed, for " +
		f.Slept.Round(time.Second).String() + "; agents get time to recover"})
	for i := range c.Roster.Agents {
		if !c.Roster.Agents[i].Up() {
			continue
		}
		a := c.Roster.Edit(c.Roster.Agents[i].ID)
		a.Watch = Woken(a.Watch, c.Out.Now)
		c.Watch(a, WakeGrace)
	}
	c.restartUsageWaits(f.Slept)
	c.Budget.AwaitReset(c.Out) // its timer stood still
}
