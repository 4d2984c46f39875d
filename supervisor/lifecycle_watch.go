package supervisor

import (
	"fmt"
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

const (
	// LifecycleSilence is how long there must be no output for it to count. The CLI is silent for minutes while it waits
	// for the API (observed with CLI 2.1.329: 300 s and 360 s), so silence alone proves nothing.
	LifecycleSilence = time.Minute
	// idleCPU is above the share of one CPU that an idle CLI uses (observed with CLI 2.1.329: 0.4–0.7 %).
	idleCPU = 0.02
	// HungAfter is the number of probes in a row without a sign of activity after which an agent counts as
	// hung.
	HungAfter = 3
	// HungArbiter is the same for the Arbiter. It is larger, because no other session can judge the Arbiter,
	// and so it is restarted without a decision.
	HungArbiter = 8
	// WakeGrace is how long no conclusion is drawn after the machine slept: connections are dead, and the CLI
	// needs time to notice.
	WakeGrace = 5 * time.Minute
	// lifecycleWarnShare is the share of a limit at which Guard warns.
	lifecycleWarnShare = 0.75
)

// Probe is the result of a probe, and when it was made.
type Probe struct {
	Result  bridge.ProbeResult
	At      time.Time
	Busy    bool          // a turn runs: only then is activity expected
	Silence time.Duration // how long no output has to last to count
}

// Observe adds a probe to the watch of a process. Quiet of the result counts the probes in a row without
// activity. Only all signs together count: no output, no CPU, an unchanged transcript, and no answer to a ping.
func Observe(w AgentWatch, p Probe) AgentWatch {
	quiet := p.Busy && !w.At.IsZero() && !p.At.Before(w.Spared) && lifeless(w.Last, p.Result, p.At.Sub(w.At), p.Silence)
	w.Last, w.At, w.Stopped = p.Result, p.At, p.Result.Stopped
	if !quiet || w.Stopped {
		w.Quiet, w.Hung = 0, false
		return w
	}
	w.Quiet++
	return w
}

// lifeless reports whether two probes of a process show no activity between them.
func lifeless(before, now bridge.ProbeResult, between, silence time.Duration) bool {
	cpu := time.Duration(now.CPUMS-before.CPUMS) * time.Millisecond
	return !now.Answered &&
		time.Duration(now.SilentMS)*time.Millisecond >= silence &&
		now.TranscriptBytes == before.TranscriptBytes &&
		now.OutputBytes == before.OutputBytes &&
		cpu >= 0 && cpu < time.Duration(float64(between)*idleCPU)
}

// Woken is the watch of a process after the machine slept: nothing is concluded before WakeGrace is over.
func Woken(w AgentWatch, now time.Time) AgentWatch {
	return AgentWatch{Stopped: w.Stopped, Warned: w.Warned, Spared: now.Add(WakeGrace)}
}

// ResourceLimits bound what one agent may use, in bytes; 0: no limit.
type ResourceLimits struct {
	Memory int64
	Output int64 // of its background tasks, on disk
}

// GuardContext checks what a process uses against the limits. It warns once about each resource that is nearly used
// up, and returns which limit was exceeded; empty: none.
func GuardContext(w AgentWatch, r bridge.ProbeResult, limits ResourceLimits) (
	next AgentWatch, warnings []string, exceeded string,
) {
	for _, x := range []struct {
		what      string
		is, limit int64
		path      string
	}{
		{"memory", r.RSSBytes, limits.Memory, ""},
		{"task output", r.OutputBytes, limits.Output, r.OutputPath},
	} {
		switch {
		case x.limit <= 0 || float64(x.is) < lifecycleWarnShare*float64(x.limit):
			w.Warned = without(w.Warned, x.what)
		case x.is < x.limit:
			if !slices.Contains(w.Warned, x.what) {
				w.Warned = append(slices.Clip(w.Warned), x.what)
				warnings = append(warnings, fmt.Sprintf("%s of %s %s%s", words.Size(x.is), words.Size(x.limit), x.what,
					inFile(x.path)))
			}
		default:
			return w, warnings, fmt.Sprintf("%s of %s, at most %s%s", words.Size(x.is), x.what, words.Size(x.limit),
				inFile(x.path))
		}
	}
	return w, warnings, ""
}

// without does not change the list, which older states share.
func without(list []string, x string) []string {
	i := slices.Index(list, x)
	if i < 0 {
		return list
	}
	return slices.Delete(slices.Clone(list), i, i+1)
}

func inFile(path string) string {
	if path == "" {
		return ""
	}
	return " (" + path + ")"
}
