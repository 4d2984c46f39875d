package restart

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"time"
)

// Exit is the end of a process.
type Exit struct {
	Agent    string
	Class    Class
	At       time.Time // zero = now
	ResetsAt time.Time // when a usage limit ends; zero = not stated
	Seed     string    // of the jitter, such as run, agent and generation
	Reason   string    // what is known about it, in a few words
}

// Action is what happens to the agent.
type Action string

// Actions. Restart and Wait both start the agent again after the delay, on its session; Wait means that nothing
// is broken.
const (
	Restart Action = "restart"
	Fresh   Action = "fresh" // a new session; the supervisor reports to it what the old one knew
	Wait    Action = "wait"
	Park    Action = "park" // nothing is started until a person asks for it
	None    Action = "none"
)

// Decision is the answer to an exit.
type Decision struct {
	Action  Action
	Delay   time.Duration // before the start; 0 for Park and None
	Attempt int           // number of this exit among those of its kind in a row, from 1
	Reason  string        // one terse line, for the screen and the event
}

// Entry is the entry for the history once the decision is carried out.
func (d Decision) Entry(e Exit, now time.Time) Attempt {
	a := Attempt{Agent: e.Agent, Class: e.Class, At: e.at(now)}
	if d.Starts() {
		a.StartAt = now.Round(0).Add(d.Delay)
	}
	return a
}

// Starts reports whether the agent is started again.
func (d Decision) Starts() bool {
	return d.Action == Restart || d.Action == Fresh || d.Action == Wait
}

func (e Exit) at(now time.Time) time.Time {
	if e.At.IsZero() || e.At.After(now) {
		return now.Round(0)
	}
	return e.At.Round(0)
}

// Decide decides what happens to the agent whose process ended. The history must not contain this exit yet.
func Decide(p Policy, h History, e Exit, now time.Time) Decision {
	now = now.Round(0) // wall time only: replaying the journal has no other
	e.At = e.at(now)
	h = h.settled(p, now)
	switch e.Class {
	case UserStop:
		return Decision{Action: None, Reason: e.Class.traits().words}
	case CouldNotStart, Auth:
		return park(e, 1, e.Class.traits().words)
	case InvalidResume:
		return p.invalidResume(h, e, now)
	case Overload:
		return p.overload(h, e, now)
	case UsageLimit:
		return p.usageLimit(h, e, now)
	}
	return p.failure(h, e, now)
}

func (p Policy) failure(h History, e Exit, now time.Time) Decision {
	n := 1 + len(h.row(p, e, Class.failure))
	recent := 1 + h.failures(e.Agent, e.At.Add(-p.Window))
	switch {
	case recent >= p.Intensity:
		return park(e, n, fmt.Sprintf("%d failures in %s", recent, terse(p.Window)))
	case n >= p.Streak:
		return park(e, n, fmt.Sprintf("%d failures in a row", n))
	}
	delay := scale(p.backoff(p.Base, p.Cap, n), e.jitter(n))
	return p.start(h, e, now, now.Add(delay), Decision{
		Action: Restart, Attempt: n,
		Reason: fmt.Sprintf("%s, failure %d of %d", e.what(), recent, p.Intensity),
	})
}

// invalidResume begins a new session once. A new session has no history that could be refused, so a second time
// means that our assumption about the cause is wrong.
func (p Policy) invalidResume(h History, e Exit, now time.Time) Decision {
	n := 1 + len(h.row(p, e, func(c Class) bool { return c == InvalidResume }))
	if n > 1 {
		return park(e, n, "resume refused again")
	}
	return p.start(h, e, now, now, Decision{
		Action: Fresh, Attempt: n, Reason: e.what() + ", begun afresh",
	})
}

// overload waits at least half of the back-off: the horizon must not be used up by quick calls to an API that
// asks for fewer.
func (p Policy) overload(h History, e Exit, now time.Time) Decision {
	row := h.row(p, e, func(c Class) bool { return c == Overload })
	n := 1 + len(row)
	if n > 1 && e.At.Sub(row[len(row)-1].At) >= p.Horizon {
		return park(e, n, "still overloaded after "+terse(p.Horizon))
	}
	delay := scale(p.backoff(p.OverloadBase, p.Cap, n), (1+e.jitter(n))/2)
	return p.start(h, e, now, now.Add(delay), Decision{Action: Wait, Attempt: n, Reason: e.what()})
}

func (p Policy) usageLimit(h History, e Exit, now time.Time) Decision {
	row := h.row(p, e, func(c Class) bool { return c == UsageLimit })
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
	d := p.start(h, e, now, now.Add(wait), Decision{
		Action: Wait, Attempt: n, Reason: e.what() + e.resets(now),
	})
	if d.Delay > p.MaxWait {
		return park(e, n, "usage limit"+e.resets(now))
	}
	return d
}

// start determines the time of the start: due, or later if the agent was started too often, or if others start
// at that time.
func (p Policy) start(h History, e Exit, now, due time.Time, d Decision) Decision {
	due = h.slot(p, e.Class, h.room(p, e.Agent, due))
	d.Delay = max(0, due.Sub(now))
	return d
}

func park(e Exit, n int, why string) Decision {
	d := Decision{Action: Park, Attempt: n, Reason: "parked: " + why}
	if e.Reason != "" {
		d.Reason += ": " + e.Reason
	}
	return d
}

// what describes the exit.
func (e Exit) what() string {
	words := e.Class.traits().words
	if e.Reason != "" {
		words += " (" + e.Reason + ")"
	}
	return words
}

// resets is the time of the reset, with the day if that is more than a day away.
func (e Exit) resets(now time.Time) string {
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
func (p Policy) backoff(base, limit time.Duration, n int) time.Duration {
	return scale(base, math.Min(math.Pow(max(p.Factor, 1), float64(n-1)), ratio(limit, base)))
}

func (p Policy) doubled(base time.Duration, n int) time.Duration {
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
func (e Exit) jitter(n int) float64 {
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
