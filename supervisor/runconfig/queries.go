package runconfig

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"

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

// ClaudeMake is the make of each agent that names no other.
const ClaudeMake = "claude"

// Make is a program that an agent can be in place of Claude Code.
type Make struct {
	bridge.MakeSpec
	// MaxTurns is after how many messages it hands off while nobody knows how full its context is.
	MaxTurns int
}

// DefaultMakeTurns is MaxTurns unless the configuration sets it.
const DefaultMakeTurns = 15

// MakeNamed finds a make. Claude is none of them.
func (o *Options) MakeNamed(name string) (Make, bool) {
	i := slices.IndexFunc(o.Makes, func(m Make) bool { return m.Name == name })
	if i < 0 {
		return Make{}, false
	}
	return o.Makes[i], true
}

// MakeNames lists the names of all makes, Claude first.
func (o *Options) MakeNames() []string {
	names := []string{ClaudeMake}
	for _, m := range o.Makes {
		names = append(names, m.Name)
	}
	return names
}

// MakeProblem says why an agent cannot be of a make; empty: it can.
func (o *Options) MakeProblem(name string) string {
	if _, ok := o.MakeNamed(name); ok || name == "" || name == ClaudeMake {
		return ""
	}
	return fmt.Sprintf("There is no make %q. Makes: %s. The human configures more under makes.", name,
		strings.Join(o.MakeNames(), ", "))
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
