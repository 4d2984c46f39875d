package lifecycle

import (
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/restart"
)

// State is the lifecycle part of a run. It is a value: slices are cloned before they are written.
type State struct {
	Bridges  []Bridge        // one per host; the first is that of [Here]
	Restarts restart.History // of agents and of bridges
	Crashes  int             // processes that ended unexpectedly
	Waking   bool            // agents are being restarted; afterwards check that the dialogue continues
	// ReturnedAgent is the agent whose session a human gave back meanwhile.
	ReturnedAgent string         `json:",omitempty"`
	TrustQuestion *TrustQuestion `json:",omitempty"` // keeps agents from being started
}

// Decide asks the restart policy about the end of a process, and records the answer in the history.
func (s *State) Decide(p restart.Policy, e restart.Exit) restart.Decision {
	d := restart.Decide(p, s.Restarts, e, e.At)
	s.Restarts = slices.Clone(s.Restarts).Add(p, d.Entry(e, e.At), e.At)
	return d
}

// MayStart reports whether the process of an agent on a host may be started.
func (s *State) MayStart(host string) bool { return !s.AwaitsTrust(host) && s.IsUp(host) }
