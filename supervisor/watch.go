package supervisor

import (
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/lifecycle"
	"github.com/arbiter-cli/arbiter/supervisor/restart"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// watch has an agent's process probed after a while.
func (st *step) watch(a *roster.Agent, after time.Duration) {
	st.do(effect.SetTimer{Key: watchKey(a.AgentRef), After: after})
}

// probed looks at the signs of life of a process, and at what it uses.
func (st *step) probed(f input.Probed) {
	a := st.Edit(f.Agent.ID)
	if a == nil || a.Generation != f.Agent.Generation || !a.Up() {
		return
	}
	silent := lifecycle.QuietFor(a, f.Result, st.at)
	st.watch(a, lifecycle.NextProbe(silent, st.Options.QuietAfter, st.Options.ProbeEvery()))
	if f.Failed != "" {
		// The bridge is busy, mute or gone, which tells nothing of the agent.
		if f.Silent {
			st.Lifecycle.Unanswered(&st.out, a.Host, st.Options.ProbeEvery())
		}
		return
	}
	st.Lifecycle.Answered(a.Host)
	wasStopped := a.Watch.Stopped
	a.Watch = lifecycle.Observe(a.Watch, lifecycle.Probe{
		Result: f.Result, At: st.at, Busy: a.Status == roster.Busy, Silence: st.Options.Scaled(lifecycle.Silence),
	})
	st.tellQuiet(a, silent)
	if a.Watch.Stopped && !wasStopped {
		st.emit(a.ID, contract.Notice{Text: a.Name + " is stopped (SIGSTOP); it goes on when it gets SIGCONT"})
	}
	if a.Watch.Quiet == 0 {
		st.guard(a, f.Result)
		return
	}
	if a.Watch.Quiet == 1 {
		st.emit(a.ID, contract.Notice{Text: fmt.Sprintf("%s gives no sign of life: no output for %s, no CPU, no answer",
			a.Name, (time.Duration(f.Result.SilentMS) * time.Millisecond).Round(time.Second))})
	}
	st.hung(a)
}

// tellQuiet tells once of each long silence of an agent. It informs, and ends nothing.
func (st *step) tellQuiet(a *roster.Agent, silent time.Duration) {
	limit := st.Options.QuietAfter
	was := a.Watch.Silent
	a.Watch.Silent = limit > 0 && silent >= limit && !st.Permission.Awaits(a.ID)
	if a.Watch.Silent && !was {
		st.emit(a.ID, contract.Quiet{Seconds: int(silent.Seconds()), Doing: lifecycle.Doing(a)})
	}
}

// hung decides about an agent without any sign of life. The Arbiter is notified of an
// Orchestrator, and chooses.
func (st *step) hung(a *roster.Agent) {
	w := &a.Watch
	if a.Role == roster.RoleArbiter {
		if w.Quiet >= lifecycle.HungArbiter {
			st.relaunch(a.ID, restart.Hung, "no output, no CPU, no answer")
		}
		return
	}
	if w.Hung || w.Quiet < lifecycle.HungAfter {
		return
	}
	w.Hung = true
	st.mail().Tell(contract.Arbiter, conversation.KindNotice, fmt.Sprintf(
		"%s (%s) gives no sign of life: no output, no CPU, no answer. RETRY with to=%s starts its process again, on "+
			"the same history; release_orchestrator ends it; CONTINUE waits on.",
		a.Name, a.ID, a.ID))
}

// guard holds an agent's memory and output files against the limits.
func (st *step) guard(a *roster.Agent, r bridge.ProbeResult) {
	limits := lifecycle.ResourceLimits{Memory: st.Options.MaxMemory, Output: st.Options.MaxOutput}
	watch, warnings, exceeded := lifecycle.Guard(a.Watch, r, limits)
	a.Watch = watch
	for _, w := range warnings {
		st.emit(a.ID, contract.Notice{Text: a.Name + " uses " + w})
	}
	if exceeded != "" {
		st.emit(a.ID, contract.Notice{Text: a.Name + " is started again: " + exceeded})
		st.relaunch(a.ID, restart.Resource, exceeded)
	}
}

// wokeFromSleep begins the watch anew after the machine slept.
func (st *step) wokeFromSleep(f input.WokeFromSleep) {
	st.Budget.Runtime.Slept(f.Slept)
	st.emit(contract.Supervisor, contract.Notice{Text: "the machine slept, or its clock was moved, for " +
		f.Slept.Round(time.Second).String() + "; agents get time to find their way back"})
	for i := range st.Agents {
		if !st.Agents[i].Up() {
			continue
		}
		a := st.Edit(st.Agents[i].ID)
		a.Watch = lifecycle.Woken(a.Watch, st.at)
		st.watch(a, lifecycle.WakeGrace)
	}
	st.restartUsageWaits(f.Slept)
	st.Budget.AwaitReset(&st.out) // its timer stood still
}
