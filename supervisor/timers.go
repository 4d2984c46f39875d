package supervisor

import (
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/lifecycle"
)

// A timer's key says what it is for and whom or what it is about. It is recorded when it
// rings, so that these names stay as they are. What is about a process names its generation.
const (
	timeoutKey              = "timeout" // the time of the run
	handoverPrefix          = "handover/"
	workLimitPrefix         = "work-limit/"
	watchPrefix             = "watch/"
	restartPrefix           = lifecycle.TimerPrefix
	compactionBlockedPrefix = "compaction-blocked/"
	retryPrefix             = "retry/"
)

func handoverKey(serial int) string { return fmt.Sprint(handoverPrefix, serial) }

func workLimitKey(a bridge.AgentRef) string { return workLimitPrefix + a.ID }

func watchKey(a bridge.AgentRef) string { return watchPrefix + processOf(a) }

func restartKey(a bridge.AgentRef) string { return restartPrefix + processOf(a) }

func compactionBlockedKey(a bridge.AgentRef) string { return compactionBlockedPrefix + processOf(a) }

func retryKey(a bridge.AgentRef) string { return retryPrefix + processOf(a) }

func processOf(a bridge.AgentRef) string { return fmt.Sprintf("%s/%d", a.ID, a.Generation) }

// takenGrace is how often a run whose time is over looks whether a human still has a session.
const takenGrace = time.Minute
