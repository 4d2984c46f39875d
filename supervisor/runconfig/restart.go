package runconfig

// This part of the package decides what happens after an agent's process has ended: Arbiter restarts the
// agent, now or later, gives it a fresh session, or parks it until a person decides.
//
// [DecideRestart] is a pure function of the policy, the history of the run and the exit. Jitter is a hash of
// the exit's Seed, so that replaying the same inputs gives the same decisions. The caller adds each decision
// that it carries out to the history:
//
//	d := DecideRestart(policy, history, exit)
//	history = history.Add(policy, d.Entry(exit))
//
// # Guarantees
//
//   - An agent is started at most Intensity times in any Window, whatever its exits were. An agent that failed
//     Intensity times in a Window is parked, and so is one that failed Streak times without a healthy process
//     run in between.
//   - Starts of different agents keep a distance: Stagger after limits, because many sessions that start at the
//     moment of a reset are refused again; otherwise CrashStagger.
//   - Waiting for the API (overload, a usage limit) does not count as a failure of the agent, and waiting for
//     another host does not count as a failure of its bridge.
//   - A delay is never negative. After a failure it is at most Cap plus the wait for the agent's place in the
//     queue, for a limit at most MaxWait, even if the clock was set back and the history is in the future.
//
// The functions here have no state, no goroutines and no clock.

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// RestartExit is the end of a process.
type RestartExit struct {
	Agent    string
	Class    RestartClass
	At       time.Time // now
	ResetsAt time.Time // when a usage limit ends; zero = not stated
	Seed     string    // of the jitter, such as run, agent and generation
	Reason   string    // what is known about it, in a few words
}

// RestartAction is what happens to the agent.
type RestartAction string

// Actions. All but Park start the agent again after the delay.
const (
	RestartSession RestartAction = "restart" // on its session
	RestartFresh   RestartAction = "fresh"   // a new session; the supervisor reports to it what the old one knew
	RestartPark    RestartAction = "park"    // nothing is started until a person asks for it
)

// RestartDecision is the answer to an exit.
type RestartDecision struct {
	Action  RestartAction
	Delay   time.Duration // before the start; 0 for Park
	Attempt int           // number of this exit among those of its kind in a row, from 1
	Reason  string        // one terse line, for the screen and the event
}

// Entry is the entry for the history once the decision is carried out.
func (d RestartDecision) Entry(e RestartExit) RestartAttempt {
	a := RestartAttempt{Agent: e.Agent, Class: e.Class, At: e.At.Round(0)}
	if d.Starts() {
		a.StartAt = a.At.Add(d.Delay)
	}
	return a
}

// Starts reports whether the agent is started again.
func (d RestartDecision) Starts() bool { return d.Action != RestartPark }

// DecideRestart decides what happens to the agent whose process ended. The history must not contain this exit yet.
func DecideRestart(p RestartPolicy, h RestartHistory, e RestartExit) RestartDecision {
	e.At = e.At.Round(0)              // wall time only: replaying the journal has no other
	h = slices.Clone(h).Trim(p, e.At) // as it is seen from now
	switch e.Class {
	case CouldNotStart, HookRefused:
		return park(e, 1, e.Class.traits().words)
	case InvalidResume:
		return p.invalidResume(h, e)
	case RestartOverload:
		return p.passing(h, e, p.OverloadBase, p.Horizon)
	case HostUnreachable:
		return p.passing(h, e, p.Base, p.HostHorizon)
	case UsageLimit:
		return p.usageLimit(h, e)
	}
	return p.failure(h, e)
}

func (p RestartPolicy) failure(h RestartHistory, e RestartExit) RestartDecision {
	n := 1 + len(h.row(p, e, RestartClass.failure))
	recent := 1 + h.failures(e.Agent, e.At.Add(-p.Window))
	switch {
	case recent >= p.Intensity:
		return park(e, n, fmt.Sprintf("%d failures in %s", recent, terse(p.Window)))
	case n >= p.Streak:
		return park(e, n, fmt.Sprintf("%d failures in a row", n))
	}
	delay := scale(p.backoff(p.Base, p.Cap, n), e.jitter(n))
	return p.start(h, e, e.At.Add(delay), RestartDecision{
		Action: RestartSession, Attempt: n,
		Reason: fmt.Sprintf("%s, failure %d of %d", e.what(), recent, p.Intensity),
	})
}

// invalidResume begins a new session once. A new session has no history that could be refused, so a second time
// before it has answered means that our assumption about the cause is wrong.
func (p RestartPolicy) invalidResume(h RestartHistory, e RestartExit) RestartDecision {
	row := h.row(p, e, func(c RestartClass) bool { return c == InvalidResume })
	n := 1 + len(row)
	switch {
	case n >= p.Intensity:
		return park(e, n, fmt.Sprintf("refused %d times in %s", n, terse(p.Window)))
	case n > 1 && !row[0].Answered:
		return park(e, n, "session refused again")
	}
	return p.start(h, e, e.At, RestartDecision{
		Action: RestartFresh, Attempt: n, Reason: e.what() + ", begun afresh",
	})
}

// passing waits for what passes by itself, for as long as horizon. It waits at least half of the back-off: the horizon
// must not be used up by quick attempts at what needs fewer.
func (p RestartPolicy) passing(h RestartHistory, e RestartExit, base, horizon time.Duration) RestartDecision {
	row := h.row(p, e, func(c RestartClass) bool { return c == e.Class })
	n := 1 + len(row)
	if n > 1 && e.At.Sub(row[len(row)-1].At) >= horizon {
		return park(e, n, fmt.Sprintf("%s, still after %s", e.Class.traits().words, terse(horizon)))
	}
	delay := scale(p.backoff(base, p.Cap, n), (1+e.jitter(n))/2)
	return p.start(h, e, e.At.Add(delay), RestartDecision{Action: RestartSession, Attempt: n, Reason: e.what()})
}

func (p RestartPolicy) usageLimit(h RestartHistory, e RestartExit) RestartDecision {
	row := h.row(p, e, func(c RestartClass) bool { return c == UsageLimit })
	n := 1 + len(row)
	if !p.WaitForLimits {
		return park(e, n, "usage limit"+e.resets())
	}
	jitter := scale(p.ResetJitter, e.jitter(n))
	var wait time.Duration
	switch ahead := e.ResetsAt.Sub(e.At); {
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
		wait = scale(p.LimitBase, math.Pow(2, float64(n-1)))
		if wait > p.MaxWait-spent {
			return park(e, n, "usage limit for "+terse(spent))
		}
		wait = min(wait+jitter, p.MaxWait)
	}
	if wait > p.MaxWait {
		return park(e, n, "usage limit"+e.resets())
	}
	d := p.start(h, e, e.At.Add(wait), RestartDecision{
		Action: RestartSession, Attempt: n, Reason: e.what() + e.resets(),
	})
	if d.Delay > p.MaxWait {
		return park(e, n, "usage limit"+e.resets())
	}
	return d
}

// start determines the time of the start: due, or later if the agent was started too often, or if others start
// at that time.
func (p RestartPolicy) start(h RestartHistory, e RestartExit, due time.Time, d RestartDecision) RestartDecision {
	due = h.slot(p, e.Class, h.room(p, e.Agent, due))
	d.Delay = max(0, due.Sub(e.At))
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
func (e RestartExit) resets() string {
	if e.ResetsAt.IsZero() {
		return ""
	}
	layout := "15:04 MST"
	if d := e.ResetsAt.Sub(e.At); d < 0 || d > 23*time.Hour {
		layout = "2006-01-02 15:04 MST"
	}
	return ", resets at " + e.ResetsAt.Format(layout)
}

// backoff is the range of the n-th delay in a row.
func (p RestartPolicy) backoff(base, limit time.Duration, n int) time.Duration {
	return scale(base, math.Min(math.Pow(max(p.Factor, 1), float64(n-1)), ratio(limit, base)))
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

// RestartAttempt is an exit with the decision about it.
type RestartAttempt struct {
	Agent   string       `json:"agent"`
	Class   RestartClass `json:"class"`
	At      time.Time    `json:"at"`                // when the process ended
	StartAt time.Time    `json:"start_at,omitzero"` // when the next one was due; zero if none was
	// Answered is set once the session that was begun afresh has done a turn.
	Answered bool `json:"answered,omitempty"`
}

// maxHistory bounds a history, whatever the exits are: 20 agents fill a quarter of it during a retention period
// full of failures.
const maxHistory = 4096

// RestartHistory are the attempts of all agents of a run, oldest first.
type RestartHistory []RestartAttempt

// Add returns the history with an attempt that is made now, trimmed. The receiver's array may be reused: use only the
// result.
func (h RestartHistory) Add(p RestartPolicy, a RestartAttempt) RestartHistory {
	a.At, a.StartAt = a.At.Round(0), a.StartAt.Round(0)
	return append(h, a).Trim(p, a.At)
}

// Answered returns the history with the note that an agent's session has done a turn.
func (h RestartHistory) Answered(agent string) RestartHistory {
	for i, a := range slices.Backward(h) {
		if a.Agent == agent && a.Class == InvalidResume && !a.Answered {
			h = slices.Clone(h)
			h[i].Answered = true
			break
		}
	}
	return h
}

// Trim returns the history without attempts that no longer matter. Attempts after now, because the clock was
// set back, are moved to now, so that they age from there.
func (h RestartHistory) Trim(p RestartPolicy, now time.Time) RestartHistory {
	now = now.Round(0)
	keep := h[:0:len(h)]
	if drop := len(h) - maxHistory; drop > 0 {
		h = h[drop:]
	}
	oldest := now.Add(-p.retention())
	for _, a := range h {
		a = a.settle(p, now)
		if a.At.After(oldest) || a.StartAt.After(oldest) {
			keep = append(keep, a)
		}
	}
	return keep
}

// settle moves an attempt in the future to now, and bounds how far its start may be ahead.
func (a RestartAttempt) settle(p RestartPolicy, now time.Time) RestartAttempt {
	started := !a.StartAt.IsZero()
	if a.At.After(now) {
		if started {
			a.StartAt = now.Add(a.StartAt.Sub(a.At))
		}
		a.At = now
	}
	if latest := now.Add(p.retention()); started && a.StartAt.After(latest) {
		a.StartAt = latest
	}
	return a
}

// row returns the exits in a row that end with e, newest first and without e: those of the same agent that fit,
// back to the last healthy process run. Exits that do not fit are skipped.
func (h RestartHistory) row(p RestartPolicy, e RestartExit, fits func(RestartClass) bool) RestartHistory {
	var row RestartHistory
	end := e.At
	for _, a := range slices.Backward(h) {
		if a.Agent != e.Agent {
			continue
		}
		if !a.StartAt.IsZero() && end.Sub(a.StartAt) >= p.Healthy {
			break
		}
		if fits(a.Class) {
			row = append(row, a)
		}
		end = a.At
	}
	return row
}

// failures counts the failures of an agent since a time.
func (h RestartHistory) failures(agent string, since time.Time) int {
	n := 0
	for _, a := range h {
		if a.Agent == agent && a.Class.failure() && a.At.After(since) {
			n++
		}
	}
	return n
}

// room is the earliest time from due on at which a start keeps the agent within the policy's Intensity.
func (h RestartHistory) room(p RestartPolicy, agent string, due time.Time) time.Time {
	starts := slices.DeleteFunc(h.started(), func(a RestartAttempt) bool { return a.Agent != agent })
	if p.Intensity < 1 || len(starts) < p.Intensity {
		return due
	}
	if free := starts[len(starts)-p.Intensity].StartAt.Add(p.Window); free.After(due) {
		return free
	}
	return due
}

// started returns the attempts that were followed by a start, in the order of these.
func (h RestartHistory) started() RestartHistory {
	h = slices.DeleteFunc(slices.Clone(h), func(a RestartAttempt) bool { return a.StartAt.IsZero() })
	slices.SortFunc(h, func(a, b RestartAttempt) int { return a.StartAt.Compare(b.StartAt) })
	return h
}

// slot is the earliest time from due on that keeps the distance to all starts of the history.
func (h RestartHistory) slot(p RestartPolicy, c RestartClass, due time.Time) time.Time {
	others := h.started()
	// Starts before due are checked, too: each may move it past the next.
	for moved := true; moved; {
		moved = false
		for _, a := range others {
			gap := p.gap(a.Class, c)
			if d := due.Sub(a.StartAt); d < gap && d > -gap {
				due, moved = a.StartAt.Add(gap), true
			}
		}
	}
	return due
}

// RestartClass classifies the ends of a process by what helps against them.
type RestartClass string

// Classes. Decide treats an unknown one as a Crash.
const (
	RestartCrash    RestartClass = "crash"    // ended unexpectedly
	RestartHung     RestartClass = "hung"     // alive, but it answers nothing
	RestartResource RestartClass = "resource" // ended by us: memory or disk
	// ended before it was ready; EAGAIN, ENOMEM and similar errors are a Crash
	CouldNotStart   RestartClass = "could_not_start"
	RestartOverload RestartClass = "overload"       // of the API, after the CLI's own retries
	UsageLimit      RestartClass = "usage_limit"    // the plan's
	InvalidResume   RestartClass = "invalid_resume" // the session's history is refused or lost
	HookRefused     RestartClass = "hook_refused"   // a hook of the user's settings refuses its messages
	// HostUnreachable: a bridge on another host was lost, or did not start
	HostUnreachable RestartClass = "host_unreachable"
)

// traits are the properties of a class, besides what [DecideRestart] does about it.
type traits struct {
	words   string // for a person
	failure bool   // a failure of the agent, which is counted
	limit   bool   // a limit of the API, which is waited for
}

var classes = map[RestartClass]traits{
	RestartCrash:    {words: "ended unasked", failure: true},
	RestartHung:     {words: "no sign of life", failure: true},
	RestartResource: {words: "over its limits", failure: true},
	CouldNotStart:   {words: "could not start"},
	RestartOverload: {words: "the API is overloaded", limit: true},
	UsageLimit:      {words: "usage limit", limit: true},
	InvalidResume:   {words: "session refused"},
	HookRefused:     {words: "a hook of the settings refuses its messages"},
	HostUnreachable: {words: "out of reach"},
}

func (c RestartClass) traits() traits {
	if t, known := classes[c]; known {
		return t
	}
	return classes[RestartCrash]
}

// failure reports whether an end of this class is a failure of the agent.
func (c RestartClass) failure() bool { return c.traits().failure }

// RestartPolicy holds the numbers. Start from Default: a zero Policy parks every failed agent.
type RestartPolicy struct {
	// Base is the back-off after the first failure in a row; each further one multiplies it by Factor, up to
	// Cap. The delay is a random part of the back-off, from 0 on (full jitter).
	Base, Cap time.Duration
	Factor    float64
	// Intensity failures of one agent within Window park it.
	Intensity int
	Window    time.Duration
	// Healthy is how long a process must run for earlier failures to be forgotten.
	Healthy time.Duration
	// Streak failures without a healthy process run in between park the agent, however slowly they come.
	Streak int

	// Stagger is the minimal distance between two starts after a limit, CrashStagger between any two.
	Stagger, CrashStagger time.Duration

	// OverloadBase is the back-off after the first overload. An agent is parked if the API is still overloaded
	// Horizon after that.
	OverloadBase, Horizon time.Duration
	// HostHorizon is how long another host is tried: it is parked if it is still out of reach that long after the
	// first failure in a row.
	HostHorizon time.Duration

	// WaitForLimits reports whether usage limits are waited for at all.
	WaitForLimits bool
	// MaxWait bounds the wait for a stated reset, and if none is stated, the total of all waits in a row.
	MaxWait time.Duration
	// LimitBase is the first wait for a limit without a stated reset; each further one is twice as long.
	LimitBase time.Duration
	// ResetJitter is added at most to a stated reset. A reset in the past is
	// tried after ResetGrace and that jitter.
	ResetJitter, ResetGrace time.Duration
}

// DefaultRestarts is the policy of a run without flags.
func DefaultRestarts() RestartPolicy {
	return RestartPolicy{
		Base: time.Second, Cap: 5 * time.Minute, Factor: 2,
		Intensity: 5, Window: time.Minute,
		Healthy: 5 * time.Minute, Streak: 20,
		Stagger: 5 * time.Second, CrashStagger: 500 * time.Millisecond,
		OverloadBase: 10 * time.Second, Horizon: 10 * time.Minute, HostHorizon: DefaultMaxWait,
		WaitForLimits: true, MaxWait: DefaultMaxWait, LimitBase: 5 * time.Minute,
		ResetJitter: 15 * time.Second, ResetGrace: 5 * time.Second,
	}
}

// gap is the minimal distance between starts after exits of these classes.
func (p RestartPolicy) gap(a, b RestartClass) time.Duration {
	if a.traits().limit && b.traits().limit {
		return p.Stagger
	}
	return p.CrashStagger
}

// retention is how long an attempt can still matter.
func (p RestartPolicy) retention() time.Duration {
	return max(24*time.Hour, 2*min(p.MaxWait, maxDuration/4), p.Window, p.Healthy, 2*p.Horizon)
}

const maxDuration = time.Duration(1<<63 - 1)
