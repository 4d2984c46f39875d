package roster

import (
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/restart"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// AgentProcess follows the process of an agent.
type AgentProcess struct {
	Status       Status
	Since        time.Time     // of Status
	EndReason    string        // why we are ending it: released, killed, shutdown …
	Dismissed    bool          // its end was its own, not the run's: it does not come back
	HasHistory   bool          // its session has a history
	NewSession   bool          // its next process begins a new session
	RestartClass restart.Class // why it is Restarting
	RestartCause string        // the same in words
	Watch        Watch
	Backoff      *Backoff           `json:",omitempty"` // it waits for another attempt
	Own          runconfig.Worktree `json:",omitzero"`  // the directory that is its own
}

// Status is where an agent's process stands.
type Status string

// The statuses of an agent.
const (
	Starting   Status = "starting"
	Down       Status = "down"       // the process is gone; another follows
	Restarting Status = "restarting" // it is being ended, and another follows
	Parked     Status = "parked"     // it failed too often; a human has to say so
	Ready      Status = "ready"      // no turn runs
	Busy       Status = "busy"       // a turn runs
	InHand     Status = "taken"      // a human has its session (Agent.Takeover)
	Stopping   Status = "stopping"
	Ended      Status = "ended"
)

// Backoff is the wait of an agent that failed to reach the API, or whose process failed, before
// the next attempt. It is only told: what happens next hangs on timers.
type Backoff struct {
	Category bridge.Category // of the trouble
	Attempt  int             // that comes next
	Until    time.Time
}

// Watch is what the watchdog and the resource guard know of an agent.
type Watch struct {
	Last    bridge.ProbeResult
	At      time.Time // of Last; zero: none yet
	Quiet   int       // looks in a row without any sign of life
	Hung    bool      // so many that somebody was told
	Stopped bool      // its process is stopped, and that was reported
	Silent  bool      `json:",omitempty"` // it has been quiet for long, and that was reported
	Warned  []string  // the resources that were warned of
	Spared  time.Time // nothing is concluded before: the machine slept
}

// Waiting is the wait that an agent is in, nil for none.
func (a *Agent) Waiting() *Backoff {
	switch a.Status {
	case Ready, Busy, Down:
		return a.Backoff
	}
	return nil
}

// Trouble names what keeps an agent from getting through to the API; empty for one whose process
// is started again.
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
