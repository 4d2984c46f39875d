package supervisor

import (
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// AgentTurn tracks the running turn of an agent, and the failures of its last turns.
type AgentTurn struct {
	Turn                []string     // ids of the messages in the running turn
	InterruptedTurn     []string     // messages of a turn that the end of its process cut off, and that continues
	Corrections         int          // how often it was asked again for the present verdict
	Fallbacks           int          // how often in a row the rules decided in its place
	Troubles            int          // turns in a row lost to API errors
	APIFailures         int          // those of them that were neither overload nor a limit
	CurrentTool         string       // the current tool or subagent
	ToolCall            *RunningTool // the current tool call
	Delivered           int          `json:",omitempty"` // messages and reports that it has proven to have read
	UnansweredQuestions int          // questions in a row without a ruling
}

// RunningTool is a tool call that runs.
type RunningTool struct {
	Tool, ToolUse string
	What          string // its command, path or pattern
	Since         time.Time
	Cut           bool `json:",omitempty"` // its process has ended: shown until the agent does something else
}

// AgentWork is the work of an Orchestrator, and its progress.
type AgentWork struct {
	Standing     AgentStanding
	Work         *Work  // the present execution
	PlanStep     int    // the step of the plan it was chosen for, counted from 1; 0: none
	Turns        int    // of this Orchestrator that answered a message
	ReachedLimit string // which limit it has reached
}

// AgentStanding is the state of an Orchestrator as the Arbiter sees it.
type AgentStanding string

// The standings of an Orchestrator.
const (
	AgentWorking  AgentStanding = "working"    // it has something to do
	AgentWaiting  AgentStanding = "waiting"    // for a message of the Arbiter
	AgentFinished AgentStanding = "done"       // it said `done`
	HandedOff     AgentStanding = "handed_off" // it said `handoff`
)

// Work is a running execution: one period of an Orchestrator's work, from a spawn or an instruction to its
// `done`, `handoff` or end.
type Work struct {
	Since     time.Time
	Iteration int
	Files     []string
	Tokens    decider.Tokens
	Failed    *bridge.FailedTool        // the last tool call, if it failed
	Said      string                    // with `done` or `handoff`
	Completed time.Time                 // it was reported; the document's checks may still run
	Document  *decider.DecisionDocument // that it handed over, as deciders see it
}

// AgentContext tracks how full the context of an agent is, and what was done about it.
type AgentContext struct {
	Context           bridge.Context
	WarnedLevel       string // the level of context_warning reached last
	NotifiedLevel     string // the level reported to its model in a turn that is over
	NotifyingLevel    string // the same in the running turn: a crash may have lost it
	CompactionBlocked bool   // a compaction was prevented: the context has no space left
	Interrupting      bool   // its turn is being stopped because of that
	Compactions       int
	HandoffDemands    int // how often it was told to hand off
}

// Levels of a context_warning.
const (
	AgentLevelWarn = "warn"
	LevelCritical  = "critical"
)

// AgentHandoff holds the documents of an agent, or for the Arbiter those of its predecessor.
type AgentHandoff struct {
	Document       *verdict.Document // the last one about its work
	Receipts       []verdict.Receipt // of the document's checks
	DocumentSerial int               // serial of the document
	GeneratedWhy   string            // why the supervisor wrote it; empty: the agent did
	HandoffBrief   string            // of a new Arbiter: sent with the first message it reads
}
