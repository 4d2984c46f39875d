package hooks

// Effect is the sealed union of what a decision means to its caller.
type Effect interface{ effect() }

// Told: the answer tells the model of a level.
type Told struct {
	Level Level
	Pct   float64
	// Again marks a reminder: the level was told before, since the last compaction.
	Again bool
}

// Reminded: the answer carries [Policy.Reminder].
type Reminded struct{}

// CompactionBlocked: the answer keeps a compaction from happening. The hand-off is
// due.
type CompactionBlocked struct {
	Trigger string
	Count   int // in this turn: 1 is the first
}

// CompactionPassed: a compaction is about to happen.
type CompactionPassed struct {
	Trigger string
	// GaveUp: it was held back [MaxBlocks] times in this turn before.
	GaveUp bool
}

// Compacted: a compaction has happened, said once for each. What was read of the
// context before counts no more.
type Compacted struct {
	Trigger string // empty where the CLI did not say
}

// SubagentStarted and SubagentEnded frame a subagent.
type SubagentStarted struct{ ID, Type string }

// SubagentEnded is the end of one.
type SubagentEnded struct{ ID, Type string }

func (Told) effect()              {}
func (Reminded) effect()          {}
func (CompactionBlocked) effect() {}
func (CompactionPassed) effect()  {}
func (Compacted) effect()         {}
func (SubagentStarted) effect()   {}
func (SubagentEnded) effect()     {}
