package runconfig

import "time"

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
	RestartAuth     RestartClass = "auth"           // not logged in, key refused
	InvalidResume   RestartClass = "invalid_resume" // the session's history is refused or lost
	UserStop        RestartClass = "user_stop"      // requested: takes precedence over everything
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
	RestartAuth:     {words: "not logged in"},
	InvalidResume:   {words: "resume refused"},
	UserStop:        {words: "stopped on request"},
}

func (c RestartClass) traits() traits {
	if t, known := classes[c]; known {
		return t
	}
	return classes[RestartCrash]
}

// failure reports whether an end of this class is a failure of the agent.
func (c RestartClass) failure() bool { return c.traits().failure }

// limit reports whether the agent has to wait for the API.
func (c RestartClass) limit() bool { return c.traits().limit }

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
		OverloadBase: 10 * time.Second, Horizon: 10 * time.Minute,
		WaitForLimits: true, MaxWait: 6 * time.Hour, LimitBase: 5 * time.Minute,
		ResetJitter: 15 * time.Second, ResetGrace: 5 * time.Second,
	}
}

// gap is the minimal distance between starts after exits of these classes.
func (p RestartPolicy) gap(a, b RestartClass) time.Duration {
	if a.limit() && b.limit() {
		return p.Stagger
	}
	return p.CrashStagger
}

// retention is how long an attempt can still matter.
func (p RestartPolicy) retention() time.Duration {
	return max(24*time.Hour, 2*min(p.MaxWait, maxDuration/4), p.Window, p.Healthy, 2*p.Horizon)
}

const maxDuration = time.Duration(1<<63 - 1)
