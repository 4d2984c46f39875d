package hooks

import "math"

// Roles of an agent: what a warning asks for depends on it.
const (
	RoleArbiter      = "arbiter"
	RoleOrchestrator = "orchestrator"
)

// Level is how full the context is.
type Level string

// The levels. LevelNone is the zero value: nothing to tell.
const (
	LevelNone     Level = ""
	LevelWarn     Level = "warn"
	LevelCritical Level = "critical"
)

// above reports whether a level is higher than another.
func (l Level) above(other Level) bool { return l.rank() > other.rank() }

func (l Level) rank() int {
	switch l {
	case LevelCritical:
		return 2
	case LevelWarn:
		return 1
	}
	return 0
}

// Policy is what an agent's hooks go by.
type Policy struct {
	Role string // arbiter; everybody else is an orchestrator
	// Warn and Critical are the levels' thresholds in percent of the effective
	// window; 0 or less: there is no such level.
	Warn, Critical float64
	// Reminder is sent once after each compaction; empty: none.
	Reminder string
	// KeepContext blocks automatic compactions.
	KeepContext bool
}

// Reading is the main thread's context as it stands. Window 0: not known, and then
// no level is reached.
type Reading struct {
	Tokens int
	Window int     // effective, in tokens
	Pct    float64 // of Window
}

// known is the reading, or the zero value for one that tells nothing.
func (r Reading) known() Reading {
	if r.Window <= 0 || math.IsNaN(r.Pct) || math.IsInf(r.Pct, 0) {
		return Reading{}
	}
	return r
}

// level is the level that a reading has reached.
func (p Policy) level(r Reading) Level {
	switch {
	case r.Window <= 0:
		return LevelNone
	case p.Critical > 0 && r.Pct >= p.Critical:
		return LevelCritical
	case p.Warn > 0 && r.Pct >= p.Warn:
		return LevelWarn
	}
	return LevelNone
}

// The rules by which a level is reported again.
const (
	warnPoints     = 5  // points more since it was reported
	criticalPoints = 1  // points more, and
	criticalCalls  = 10 // calls of the main thread since it was reported
)

// MaxBlocks is how many compactions are held back in one turn. The CLI asks again
// before every call of the model (observed with CLI 2.1.329), so that a model that
// does not heed the warnings would never be let go.
const MaxBlocks = 25

// Spent is what a session was told since its last compaction. It is a value; the
// zero value is that of a new session.
type Spent struct {
	Level Level   // the highest that was reported
	Pct   float64 // when it was reported last; 0: not known
	Calls int     // of the main thread since then

	Blocks   int  // compactions held back in this turn
	Pressing bool // one was blocked since the last turn began: remind at every call

	Owed bool // the reminder is

	trigger string // of the compaction that was let through
	seen    half   // of the last compaction
}

// SpentLevel is what a session has spent whose earlier process was notified of a level:
// warn, critical, or anything else for none.
func SpentLevel(level string) Spent {
	switch l := Level(level); l {
	case LevelWarn, LevelCritical:
		return Spent{Level: l}
	}
	return Spent{}
}

// half is one of the two events that follow a compaction: a SessionStart, which can
// carry text, and then PostCompact, which cannot (observed with CLI 2.1.329).
type half string

const (
	halfStart half = "start"
	halfPost  half = "post"
)
