package supervisor

import (
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
)

// TaskState says where the task stands, and what its executions came to.
type TaskState struct {
	Task          string // what the human wants, as first said
	Phase         machine.State
	Plan          []contract.Step
	AgentTasks    []contract.Tasks  // what agents keep in lists of their own
	Iterations    int               // entries into `executing` by a summon, for this task
	Failures      int               // failed executions in a row
	TotalFailures int               // failed executions of this task
	History       decision.History  // of its executions
	LastError     *decision.Failure // that nobody has got over yet
}

// AgentWork says what an Orchestrator has to do, and how far it has come.
type AgentWork struct {
	Standing     Standing
	Work         *Work  // the execution under way
	PlanStep     int    // the step of the plan it was chosen for, counted from 1; 0: none
	Turns        int    // of this Orchestrator's, that answered a message
	ReachedLimit string // which limit of its mode it has reached
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
