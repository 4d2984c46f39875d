package runconfig

import (
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/agents"
)

// ModeNamed finds a mode that an Orchestrator can be spawned under.
func (o *Options) ModeNamed(name string) (agents.Agent, bool) {
	return agents.Lookup(o.AvailableModes(), name)
}

// ModeNames lists the names of the modes.
func (o *Options) ModeNames() []string {
	return agents.Names(o.AvailableModes())
}

// ProbeEvery is the time between two probes of an agent in this run.
func (o *Options) ProbeEvery() time.Duration {
	if every := o.WatchEvery; every > 0 {
		return every
	}
	return DefaultWatchEvery
}

// Scaled scales a duration that is meant for the default time between two probes.
func (o *Options) Scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (float64(o.ProbeEvery()) / float64(DefaultWatchEvery)))
}

// FailureLimit is how often a task may fail in total; 0: no limit. unled: the rules decide in the Arbiter's
// place.
func (o *Options) FailureLimit(unled bool) int {
	if o.MaxTotalFailures == 0 && (unled || o.Decider == DeciderRules) {
		return unledFailures * o.MaxFailures
	}
	return o.MaxTotalFailures
}

// unledFailures is how many times --max-failures a task may fail in total if only rules lead it: a success
// resets the count of failures in a row, and rules never give up.
const unledFailures = 4

// IsolationOf is the isolation of a new Orchestrator; wanted: the Arbiter asked to isolate it.
func (o *Options) IsolationOf(wanted bool) string {
	w := o.Workspace
	switch {
	case w.Isolated():
		return w.Isolation
	case wanted && w.Enabled():
		return IsolationWorktree
	}
	return ""
}

// Confinement names the sandbox of the agents, or says why there is none.
func (o *Options) Confinement() (what, why string) {
	switch {
	case o.Sandbox != nil:
		return "bubblewrap", ""
	case o.SandboxReason != "":
		return "unsandboxed", o.SandboxReason
	}
	return "unsandboxed", "not asked for (--sandbox)"
}
