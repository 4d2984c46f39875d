package roster

import (
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/restart"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// AgentProcess tracks the process of an agent.
type AgentProcess struct {
	Status       Status
	Since        time.Time     // of Status
	EndReason    string        // why it is being ended: released, killed, shutdown …
	Dismissed    bool          // the agent itself has ended, not only the run: it is not started again
	HasHistory   bool          // its session has a history
	NewSession   bool          // its next process begins a new session
	RestartClass restart.Class // why it is Restarting
	RestartCause string        // the same in words
	Watch        Watch
	Backoff      *Backoff           `json:",omitempty"` // it waits for another attempt
	Own          runconfig.Worktree `json:",omitzero"`  // its own directory
}

// Status is the state of an agent's process.
type Status string

// The statuses of an agent.
const (
	Starting   Status = "starting"
	Down       Status = "down"       // the process has ended; another follows
	Restarting Status = "restarting" // it is being ended, and another follows
	Parked     Status = "parked"     // it failed too often; a human has to restart it
	Ready      Status = "ready"      // no turn runs
	Busy       Status = "busy"       // a turn runs
	InHand     Status = "taken"      // a human has its session (Agent.Takeover)
	Stopping   Status = "stopping"
	Ended      Status = "ended"
)

// Backoff is the wait of an agent that failed to reach the API, or whose process failed, before the next
// attempt. It is only for display: timers control what happens next.
type Backoff struct {
	Category bridge.Category // of the failure
	Attempt  int             // number of the next attempt
	Until    time.Time
}

// Watch is what the watchdog and the resource guard know about an agent.
type Watch struct {
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
func (a *Agent) Waiting() *Backoff {
	switch a.Status {
	case Ready, Busy, Down:
		return a.Backoff
	}
	return nil
}

// Trouble names what keeps an agent from reaching the API; empty if its process is being restarted.
func (b *Backoff) Trouble() string {
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
