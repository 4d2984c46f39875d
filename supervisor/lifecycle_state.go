package supervisor

import (
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// LifecycleState is the lifecycle part of a run. It is a value: slices are cloned before they are written.
type LifecycleState struct {
	Bridges  []Bridge                 // one per host; the first is that of [LifecycleHere]
	Restarts runconfig.RestartHistory // of agents and of bridges
	Crashes  int                      // processes that ended unexpectedly
	Waking   bool                     // agents are being restarted; afterwards check that the dialogue continues
	// ReturnedAgent is the agent whose session a human gave back meanwhile.
	ReturnedAgent string         `json:",omitempty"`
	TrustQuestion *TrustQuestion `json:",omitempty"` // keeps agents from being started
}

// Decide asks the restart policy about the end of a process, and records the answer in the history.
func (s *LifecycleState) Decide(p runconfig.RestartPolicy, e runconfig.RestartExit) runconfig.RestartDecision {
	d := runconfig.DecideRestart(p, s.Restarts, e, e.At)
	s.Restarts = slices.Clone(s.Restarts).Add(p, d.Entry(e, e.At), e.At)
	return d
}

// MayStart reports whether the process of an agent on a host may be started.
func (s *LifecycleState) MayStart(host string) bool { return !s.AwaitsTrust(host) && s.IsUp(host) }
