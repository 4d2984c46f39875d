package hooks

// Effect is a sealed union: what a decision means to its caller.
type Effect interface{ effect() }

// LevelReported: the answer reports a level to the model.
type LevelReported struct {
	Level Level
	Pct   float64
	// Again marks a reminder: the level was already reported since the last compaction.
	Again bool
}

// Reminded: the answer carries [Policy.Reminder].
type Reminded struct{}

// CompactionBlocked: the answer blocks a compaction. A hand-off is due.
type CompactionBlocked struct {
	Trigger string
	Count   int // in this turn: 1 is the first
}

// CompactionPassed: a compaction is about to happen.
type CompactionPassed struct {
	Trigger string
	// GaveUp: compactions were blocked [MaxBlocks] times in this turn before.
	GaveUp bool
}

// Compacted: a compaction has happened; it is reported once for each. Earlier readings of the context are no
// longer valid.
type Compacted struct {
	Trigger string // empty if the CLI did not say
}

// SubagentStarted reports the start of a subagent.
type SubagentStarted struct{ ID, Type string }

// SubagentEnded reports the end of a subagent.
type SubagentEnded struct{ ID, Type string }

func (LevelReported) effect()     {}
func (Reminded) effect()          {}
func (CompactionBlocked) effect() {}
func (CompactionPassed) effect()  {}
func (Compacted) effect()         {}
func (SubagentStarted) effect()   {}
func (SubagentEnded) effect()     {}
