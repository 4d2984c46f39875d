package supervisor

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
)

// A timer's key says what it is for, and which agent or process run it is about. The key is recorded when the
// timer fires, so these names must not change. Keys that contain a generation are about one process run.
const (
	WorkLimitPrefix         = "work-limit/"
	WatchPrefix             = "watch/"
	RestartPrefix           = LifecycleTimerPrefix
	CompactionBlockedPrefix = "compaction-blocked/"
	RetryPrefix             = "retry/"
)

// WorkLimitKey is the key of the timer for the time limit of an agent's mode.
func WorkLimitKey(a bridge.AgentRef) string { return WorkLimitPrefix + a.ID }

// WatchKey is the key of the timer for the next probe of a process run.
func WatchKey(a bridge.AgentRef) string { return WatchPrefix + RunOf(a) }

// RestartKey is the key of the timer that starts a process again.
func RestartKey(a bridge.AgentRef) string { return RestartPrefix + RunOf(a) }

// CompactionBlockedKey is the key of the timer that interrupts a turn whose compaction is blocked.
func CompactionBlockedKey(a bridge.AgentRef) string { return CompactionBlockedPrefix + RunOf(a) }

// RetryKey is the key of the timer that resumes a turn.
func RetryKey(a bridge.AgentRef) string { return RetryPrefix + RunOf(a) }

// RunOf names a process run in keys: an agent and its generation.
func RunOf(a bridge.AgentRef) string { return fmt.Sprintf("%s/%d", a.ID, a.Generation) }
