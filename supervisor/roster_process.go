package supervisor

import (
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// AgentProcess tracks the process of an agent.
type AgentProcess struct {
	Status       AgentStatus
	Since        time.Time              // of Status
	EndReason    string                 // why it is being ended: released, killed, shutdown …
	Dismissed    bool                   // the agent itself has ended, not only the run: it is not started again
	HasHistory   bool                   // its session has a history
	NewSession   bool                   // its next process begins a new session
	RestartClass runconfig.RestartClass // why it is Restarting
	RestartCause string                 // the same in words
	Watch        AgentWatch
	Backoff      *AgentBackoff      `json:",omitempty"` // it waits for another attempt
	Own          runconfig.Worktree `json:",omitzero"`  // its own directory
}

// AgentStatus is the state of an agent's process.
type AgentStatus string

// The statuses of an agent.
const (
	AgentStarting   AgentStatus = "starting"
	AgentDown       AgentStatus = "down"       // the process has ended; another follows
	AgentRestarting AgentStatus = "restarting" // it is being ended, and another follows
	AgentParked     AgentStatus = "parked"     // it failed too often; a human has to restart it
	AgentReady      AgentStatus = "ready"      // no turn runs
	AgentBusy       AgentStatus = "busy"       // a turn runs
	InHand          AgentStatus = "taken"      // a human has its session (Agent.Takeover)
	AgentStopping   AgentStatus = "stopping"
	AgentEnded      AgentStatus = "ended"
)

// AgentBackoff is the wait of an agent that failed to reach the API, or whose process failed, before the next
// attempt. It is only for display: timers control what happens next.
type AgentBackoff struct {
	Category bridge.Category // of the failure
	Attempt  int             // number of the next attempt
	Until    time.Time
}

// AgentWatch is what the watchdog and the resource guard know about an agent.
type AgentWatch struct {
	Last    bridge.ProbeResult
	At      time.Time // of Last; zero: none yet
	Quiet   int       // probes in a row without any activity
	Hung    bool      // it counts as hung, and that was reported
	Stopped bool      // its process is stopped, and that was reported
	Silent  bool      `json:",omitempty"` // it has been quiet for long, and that was reported
	Warned  []string  // the resources about which a warning was given
	Spared  time.Time // no conclusion before this time: the machine slept
}

// Waiting is the present wait of an agent, or nil.
func (a *Agent) Waiting() *AgentBackoff {
	switch a.Status {
	case AgentReady, AgentBusy, AgentDown:
		return a.Backoff
	}
	return nil
}

// Trouble names what keeps an agent from reaching the API; empty if its process is being restarted.
func (b *AgentBackoff) Trouble() string {
	switch b.Category {
	case bridge.CatOverloaded:
		return "API overloaded"
	case bridge.CatRateLimit:
		return "rate limited"
	case bridge.CatUsageLimit:
		return "usage limit"
	case bridge.CatServer, bridge.CatTimeout:
		return "API error"
	}
	return ""
}
