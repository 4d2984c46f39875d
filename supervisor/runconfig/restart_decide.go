package runconfig

// This part of the package decides what happens after an agent's process has ended: Arbiter restarts the
// agent, now or later, gives it a fresh session, or parks it until a person decides.
//
// [DecideRestart] is a pure function of the policy, the history of the run, the exit and the time. Jitter is a hash of
// the exit's Seed, so that replaying the same inputs gives the same decisions. The caller adds each decision
// that it carries out to the history:
//
//	d := DecideRestart(policy, history, exit, now)
//	history = history.Add(policy, d.Entry(exit, now), now)
//
// # Guarantees
//
//   - An agent is started at most Intensity times in any Window, whatever its exits were. An agent that failed
//     Intensity times in a Window is parked, and so is one that failed Streak times without a healthy process
//     run in between.
//   - Starts of different agents keep a distance: Stagger after limits, because many sessions that start at the
//     moment of a reset are refused again; otherwise CrashStagger.
//   - Waiting for the API (overload, a usage limit) does not count as a failure of the agent.
//   - A delay is never negative. After a failure it is at most Cap plus the wait for the agent's place in the
//     queue, for a limit at most MaxWait, even if the clock was set back and the history is in the future.
//
// The package is a leaf: no state, no goroutines, no clock, no imports from this module.

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"time"
)

// RestartExit is the end of a process.
type RestartExit struct {
	Agent    string
	Class    RestartClass
	At       time.Time // zero = now
	ResetsAt time.Time // when a usage limit ends; zero = not stated
	Seed     string    // of the jitter, such as run, agent and generation
	Reason   string    // what is known about it, in a few words
}

// RestartAction is what happens to the agent.
type RestartAction string

// Actions. Restart and Wait both start the agent again after the delay, on its session; Wait means that nothing
// is broken.
const (
	RestartSession RestartAction = "restart"
	RestartFresh   RestartAction = "fresh" // a new session; the supervisor reports to it what the old one knew
	RestartWait    RestartAction = "wait"
	RestartPark    RestartAction = "park" // nothing is started until a person asks for it
	RestartNone    RestartAction = "none"
)

// RestartDecision is the answer to an exit.
type RestartDecision struct {
	Action  RestartAction
	Delay   time.Duration // before the start; 0 for Park and None
	Attempt int           // number of this exit among those of its kind in a row, from 1
	Reason  string        // one terse line, for the screen and the event
}

// Entry is the entry for the history once the decision is carried out.
func (d RestartDecision) Entry(e RestartExit, now time.Time) RestartAttempt {
	a := RestartAttempt{Agent: e.Agent, Class: e.Class, At: e.at(now)}
	if d.Starts() {
		a.StartAt = now.Round(0).Add(d.Delay)
	}
	return a
}

// Starts reports whether the agent is started again.
func (d RestartDecision) Starts() bool {
	return d.Action == RestartSession || d.Action == RestartFresh || d.Action == RestartWait
}

func (e RestartExit) at(now time.Time) time.Time {
	if e.At.IsZero() || e.At.After(now) {
		return now.Round(0)
	}
	return e.At.Round(0)
}

// DecideRestart decides what happens to the agent whose process ended. The history must not contain this exit yet.
func DecideRestart(p RestartPolicy, h RestartHistory, e RestartExit, now time.Time) RestartDecision {
	now = now.Round(0) // wall time only: replaying the journal has no other
	e.At = e.at(now)
	h = h.settled(p, now)
	switch e.Class {
	case UserStop:
		return RestartDecision{Action: RestartNone, Reason: e.Class.traits().words}
	case CouldNotStart, RestartAuth:
		return park(e, 1, e.Class.traits().words)
	case InvalidResume:
		return p.invalidResume(h, e, now)
	case RestartOverload:
		return p.overload(h, e, now)
	case UsageLimit:
		return p.usageLimit(h, e, now)
	}
	return p.failure(h, e, now)
}

func (p RestartPolicy) failure(h RestartHistory, e RestartExit, now time.Time) RestartDecision {
	n := 1 + len(h.row(p, e, RestartClass.failure))
	recent := 1 + h.failures(e.Agent, e.At.Add(-p.Window))
	switch {
	case recent >= p.Intensity:
		return park(e, n, fmt.Sprintf("%d failures in %s", recent, terse(p.Window)))
	case n >= p.Streak:
		return park(e, n, fmt.Sprintf("%d failures in a row", n))
	}
	delay := scale(p.backoff(p.Base, p.Cap, n), e.jitter(n))
	return p.start(h, e, now, now.Add(delay), RestartDecision{
		Action: RestartSession, Attempt: n,
		Reason: fmt.Sprintf("%s, failure %d of %d", e.what(), recent, p.Intensity),
	})
}

// invalidResume begins a new session once. A new session has no history that could be refused, so a second time
// means that our assumption about the cause is wrong.
func (p RestartPolicy) invalidResume(h RestartHistory, e RestartExit, now time.Time) RestartDecision {
	n := 1 + len(h.row(p, e, func(c RestartClass) bool { return c == InvalidResume }))
	if n > 1 {
		return park(e, n, "resume refused again")
	}
	return p.start(h, e, now, now, RestartDecision{
		Action: RestartFresh, Attempt: n, Reason: e.what() + ", begun afresh",
	})
}

// overload waits at least half of the back-off: the horizon must not be used up by quick calls to an API that
// asks for fewer.
func (p RestartPolicy) overload(h RestartHistory, e RestartExit, now time.Time) RestartDecision {
	row := h.row(p, e, func(c RestartClass) bool { return c == RestartOverload })
	n := 1 + len(row)
	if n > 1 && e.At.Sub(row[len(row)-1].At) >= p.Horizon {
		return park(e, n, "still overloaded after "+terse(p.Horizon))
	}
	delay := scale(p.backoff(p.OverloadBase, p.Cap, n), (1+e.jitter(n))/2)
	return p.start(h, e, now, now.Add(delay), RestartDecision{Action: RestartWait, Attempt: n, Reason: e.what()})
}

func (p RestartPolicy) usageLimit(h RestartHistory, e RestartExit, now time.Time) RestartDecision {
	row := h.row(p, e, func(c RestartClass) bool { return c == UsageLimit })
	n := 1 + len(row)
	if !p.WaitForLimits {
		return park(e, n, "usage limit"+e.resets(now))
	}
	jitter := scale(p.ResetJitter, e.jitter(n))
	var wait time.Duration
	switch ahead := e.ResetsAt.Sub(now); {
	case !e.ResetsAt.IsZero() && ahead > 0:
		if wait = ahead; ahead <= p.MaxWait {
			wait = min(ahead+jitter, p.MaxWait)
		}
	case !e.ResetsAt.IsZero() && n == 1:
		wait = p.ResetGrace + jitter
	default:
		// No reset was stated, or it proved wrong.
		spent := time.Duration(0)
		if n > 1 {
			spent = max(0, e.At.Sub(row[len(row)-1].At))
		}
		wait = p.doubled(p.LimitBase, n)
		if wait > p.MaxWait-spent {
			return park(e, n, "usage limit for "+terse(spent))
		}
		wait = min(wait+jitter, p.MaxWait)
	}
	if wait > p.MaxWait {
		return park(e, n, "usage limit"+e.resets(now))
	}
	d := p.start(h, e, now, now.Add(wait), RestartDecision{
		Action: RestartWait, Attempt: n, Reason: e.what() + e.resets(now),
	})
	if d.Delay > p.MaxWait {
		return park(e, n, "usage limit"+e.resets(now))
	}
	return d
}

// start determines the time of the start: due, or later if the agent was started too often, or if others start
// at that time.
func (p RestartPolicy) start(h RestartHistory, e RestartExit, now, due time.Time, d RestartDecision) RestartDecision {
	due = h.slot(p, e.Class, h.room(p, e.Agent, due))
	d.Delay = max(0, due.Sub(now))
	return d
}

func park(e RestartExit, n int, why string) RestartDecision {
	d := RestartDecision{Action: RestartPark, Attempt: n, Reason: "parked: " + why}
	if e.Reason != "" {
		d.Reason += ": " + e.Reason
	}
	return d
}

// what describes the exit.
func (e RestartExit) what() string {
	words := e.Class.traits().words
	if e.Reason != "" {
		words += " (" + e.Reason + ")"
	}
	return words
}

// resets is the time of the reset, with the day if that is more than a day away.
func (e RestartExit) resets(now time.Time) string {
	if e.ResetsAt.IsZero() {
		return ""
	}
	layout := "15:04 MST"
	if d := e.ResetsAt.Sub(now); d < 0 || d > 23*time.Hour {
		layout = "2006-01-02 15:04 MST"
	}
	return ", resets at " + e.ResetsAt.Format(layout)
}

// backoff is the range of the n-th delay in a row.
func (p RestartPolicy) backoff(base, limit time.Duration, n int) time.Duration {
	return scale(base, math.Min(math.Pow(max(p.Factor, 1), float64(n-1)), ratio(limit, base)))
}

func (p RestartPolicy) doubled(base time.Duration, n int) time.Duration {
	return scale(base, math.Pow(2, float64(n-1)))
}

func ratio(a, b time.Duration) float64 {
	if b <= 0 {
		return 1
	}
	return float64(a) / float64(b)
}

// scale multiplies without overflow.
func scale(d time.Duration, f float64) time.Duration {
	if x := float64(d) * f; x < float64(maxDuration/4) {
		return time.Duration(x)
	}
	return maxDuration / 4
}

// jitter is a number in [0, 1) that depends only on the exit's agent and seed and on n.
func (e RestartExit) jitter(n int) float64 {
	sum := sha256.Sum256([]byte(e.Agent + "\x00" + e.Seed + "\x00" + strconv.Itoa(n)))
	return float64(binary.BigEndian.Uint64(sum[:8])>>11) / (1 << 53)
}

// terse formats a duration for people.
func terse(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < 10*time.Minute:
		return d.Round(time.Second).String()
	}
	s := d.Round(time.Minute).String()
	return s[:len(s)-len("0s")]
}
