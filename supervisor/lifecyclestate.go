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

// TrustQuestion is a workspace that waits for the human to look at it. No agent is started
// meanwhile.
type TrustQuestion struct {
	Hash string // of what is there now; empty: it cannot be told
	At   time.Time
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
