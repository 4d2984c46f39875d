package supervisor

import (
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// LifecycleThinking is the activity of an agent whose turn runs and that has not called a tool.
const LifecycleThinking = "thinking"

// QuietFor returns how long an agent has shown no activity, according to a probe at a moment: no output, no
// progress of a tool, no retry of an API call. It is 0 for an agent that is not expected to show any.
func QuietFor(a *Agent, r bridge.ProbeResult, at time.Time) time.Duration {
	waits := a.Backoff != nil && a.Backoff.Until.After(at)
	if a.Status != AgentBusy || waits || at.Before(a.Watch.Spared) {
		return 0
	}
	silent := time.Duration(r.SilentMS) * time.Millisecond
	return max(0, min(silent, at.Sub(a.Since))) // it may have been idle before its turn began
}

// NextProbe is the time until the next probe: every, or less if the silence of an agent reaches its limit before.
func NextProbe(silent, limit, every time.Duration) time.Duration {
	if left := limit - silent; silent > 0 && left > 0 {
		return max(min(every, left), time.Second)
	}
	return every
}

// Doing says on one line what an agent does while its turn runs.
func Doing(a *Agent) string {
	c := a.ToolCall
	if c == nil || c.Cut {
		return LifecycleThinking
	}
	return strings.TrimSpace(c.Tool + " " + words.FirstLine(c.What))
}
