package supervisor

import (
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/permission"
	"github.com/arbiter-cli/arbiter/supervisor/restart"
)

// LifecycleState follows the bridge, the restarts, and the end of the run.
type LifecycleState struct {
	Claude           bridge.ClaudeInfo
	BridgeUp         bool // there is one to speak to
	BridgeGone       bool // the one on its way is lost already
	UnansweredProbes int  // looks in a row that the bridge did not answer
	UnansweredAt     time.Time
	Restarts         restart.History
	Crashes          int            // processes that ended unasked
	Waking           bool           // agents come back; then see that the talk goes on
	ReturnedAgent    string         `json:",omitempty"` // whose session a human gave back meanwhile
	TrustQuestion    *TrustQuestion `json:",omitempty"` // what keeps agents from being started
	Ending           *Ending
}

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
	Backoff      *Backoff `json:",omitempty"` // it waits for another attempt
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

// Ending is set once the run is over and its agents are being stopped.
type Ending struct {
	Status  string
	Summary string
	Exit    contract.Exit
	Said    bool          // `result` was said
	Was     machine.State // where the task stood
	// HalfDone is what was being done when the run was stopped.
	HalfDone []string
	// What was open is asked again when the run is taken up again.
	Question *Question
	Requests []permission.Request
}

// Backoff is the wait of an agent that failed to reach the API, or whose process failed, before
// the next attempt. It is only told: what happens next hangs on timers.
type Backoff struct {
	Category bridge.Category // of the trouble
	Attempt  int             // that comes next
	Until    time.Time
}

// TrustQuestion is a workspace that waits for the human to look at it. No agent is started
// meanwhile.
type TrustQuestion struct {
	Hash string // of what is there now; empty: it cannot be told
	At   time.Time
}

// Watch is what the watchdog and the resource guard know of an agent.
type Watch struct {
	Last    bridge.ProbeResult
	At      time.Time // of Last; zero: none yet
	Quiet   int       // looks in a row without any sign of life
	Hung    bool      // so many that somebody was told
	Stopped bool      // its process is stopped, and that was told
	Warned  []string  // the resources that were warned of
	Spared  time.Time // nothing is concluded before: the machine slept
}

func exitText(e bridge.Exit) string {
	text := fmt.Sprintf("exit code %d", e.Code)
	if e.Signal != "" {
		text = "signal: " + e.Signal
	}
	if e.Stderr != "" {
		text += "; " + e.Stderr
	}
	return text
}
