package hooks

import "math"

// Roles of an agent: what a warning asks for depends on it.
const (
	RoleArbiter      = "arbiter"
	RoleOrchestrator = "orchestrator"
)

// Level is how full the context is.
type Level string

// The levels. LevelNone is the zero value: nothing to report.
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

// Policy configures an agent's hooks.
type Policy struct {
	Role string // any other value than arbiter means orchestrator
	// Warn and Critical are the levels' thresholds in percent of the effective window; 0 or less: the level
	// does not exist.
	Warn, Critical float64
	// Reminder is sent once after each compaction; empty: none.
	Reminder string
	// KeepContext blocks automatic compactions.
	KeepContext bool
}

// Reading is the current size of the main thread's context. Window 0 means that it is not known; then no level
// is reached.
type Reading struct {
	Tokens int
	Window int     // effective, in tokens
	Pct    float64 // of Window
}

// known returns the reading, or the zero value if the reading cannot be used.
func (r Reading) known() Reading {
	if r.Window <= 0 || math.IsNaN(r.Pct) || math.IsInf(r.Pct, 0) {
		return Reading{}
	}
	return r
}

// level returns the level that a reading has reached.
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
	warnPoints     = 5  // points more than at the last report
	criticalPoints = 1  // points more, and
	criticalCalls  = 10 // calls of the main thread since the last report
)

// MaxBlocks is how many compactions are blocked in one turn. The CLI asks again before every call of the model
// (observed with CLI 2.1.329), so without a limit a model that ignores the warnings would be blocked forever.
const MaxBlocks = 25

// Spent is what was reported to a session since its last compaction. It is a value; the zero value is that of a
// new session.
type Spent struct {
	Level Level   // highest level reported
	Pct   float64 // at the last report; 0: not known
	Calls int     // of the main thread since then

	Blocks   int  // compactions blocked in this turn
	Pressing bool // one was blocked in this turn: warn at every call

	Owed bool // the reminder is due

	trigger string   // of the compaction that was not blocked
	seen    followUp // of the last compaction
}

// SpentLevel returns the state of a session whose earlier process was notified of a level: warn, critical, or
// anything else for none.
func SpentLevel(level string) Spent {
	switch l := Level(level); l {
	case LevelWarn, LevelCritical:
		return Spent{Level: l}
	}
	return Spent{}
}

// followUp is one of the two events that follow a compaction: a SessionStart, which can
// carry text, and then PostCompact, which cannot (observed with CLI 2.1.329).
type followUp string

const (
	followUpStart followUp = "start"
	followUpPost  followUp = "post"
)
