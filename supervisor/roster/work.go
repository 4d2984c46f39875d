package roster

import (
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// AgentTurn follows the running turn of an agent, and the trouble with its last ones.
type AgentTurn struct {
	Turn                []string     // ids of the messages in the running turn
	InterruptedTurn     []string     // messages of a turn that its process's end cut off, and that continues
	Corrections         int          // how often the present verdict was asked for again
	Fallbacks           int          // how often in a row the rules decided in its place
	Troubles            int          // turns in a row lost to API trouble
	APIFailures         int          // those of them that were no overload and no limit
	CurrentTool         string       // the current tool or subagent
	ToolCall            *RunningTool // the current tool call
	Delivered           int          `json:",omitempty"` // messages and reports that it was proven to have read
	UnansweredQuestions int          // questions in a row without a ruling
}

// RunningTool is a tool call that runs.
type RunningTool struct {
	Tool, ToolUse string
	What          string // its command, path or pattern
	Since         time.Time
	Cut           bool `json:",omitempty"` // its process has ended: shown until the agent does another thing
}

// AgentWork says what an Orchestrator has to do, and how far it has come.
type AgentWork struct {
	Standing     Standing
	Work         *Work  // the execution under way
	PlanStep     int    // the step of the plan it was chosen for, counted from 1; 0: none
	Turns        int    // of this Orchestrator's, that answered a message
	ReachedLimit string // which limit it has reached
}

// Standing is where an Orchestrator stands with the Arbiter.
type Standing string

// The standings of an Orchestrator.
const (
	Working   Standing = "working"    // it has something to do
	Waiting   Standing = "waiting"    // for the Arbiter's word
	Finished  Standing = "done"       // it said `done`
	HandedOff Standing = "handed_off" // it said `handoff`
)

// Work is an execution that is under way: one stretch of an Orchestrator's work, from a
// summon or an instruction to its `done`, `handoff` or end.
type Work struct {
	Since     time.Time
	Iteration int
	Files     []string
	Tokens    decision.Tokens
	Failed    *bridge.FailedTool // the last tool call, if it failed
	Said      string             // with `done` or `handoff`
	Completed time.Time          // it was said; the document's checks may still run
	Document  *decision.Document // that it handed over, as deciders are shown it
}

// AgentContext follows how full the context of an agent is, and what was done about it.
type AgentContext struct {
	Context           bridge.Context
	WarnedLevel       string // the level of context_warning reached last
	NotifiedLevel     string // the level its model was told in a turn that is over
	NotifyingLevel    string // the same in the running turn: a crash may have lost it
	CompactionBlocked bool   // a compaction was prevented: there is no room left
	Interrupting      bool   // its turn is being stopped for that
	Compactions       int
	HandoffDemands    int // how often it was instructed to hand off
}

// Levels of a context_warning.
const (
	LevelWarn     = "warn"
	LevelCritical = "critical"
)

// AgentHandoff holds the documents of an agent, and of the Arbiter before it.
type AgentHandoff struct {
	Document       *verdict.Document // the last one about its work
	Receipts       []verdict.Receipt // of the document's checks
	DocumentSerial int               // serial of the document
	GeneratedWhy   string            // why the supervisor wrote it; empty: it did itself
	HandoffBrief   string            // of a new Arbiter: goes with the first message it reads
}
