package machine

import "slices"

// State is the state of a run.
type State string

// The states of a run.
const (
	Idle       State = "idle"           // the Arbiter talks to the human
	Selecting  State = "selecting"      // no Orchestrator works, one is to be chosen
	Executing  State = "executing"      // at least one works; questions and progress stay here
	Evaluating State = "evaluating"     // a `done` or `handoff` waits for a decision
	Error      State = "error_handling" // an agent failed and there is no decision about it yet
	Complete   State = "complete"
	Failed     State = "failed"
	Cancelled  State = "cancelled"

	// Same and Before are targets of rows: the present state, and the state before the last process ended.
	Same   State = ""
	Before State = "before"
)

var (
	live = []State{Idle, Selecting, Executing, Evaluating, Error}
	ends = []State{Complete, Failed, Cancelled}
	all  = slices.Concat(live, ends)
	// tasked are the live states with a task.
	tasked = []State{Selecting, Executing, Evaluating, Error}
)

// Live reports whether the run continues in this state.
func (s State) Live() bool { return slices.Contains(live, s) }

// Trigger is an event of the task machine.
type Trigger string

// The triggers.
const (
	StartTask       Trigger = "START_TASK"
	Cancel          Trigger = "CANCEL"
	Reset           Trigger = "RESET"
	AgentSelected   Trigger = "AGENT_SELECTED"         // an Orchestrator was spawned
	SelectionFailed Trigger = "AGENT_SELECTION_FAILED" // the chosen one cannot be spawned
	AgentMessage    Trigger = "AGENT_MESSAGE"          // an Orchestrator sent a message: progress, a question
	AgentToolCall   Trigger = "AGENT_TOOL_CALL"
	AgentToolResult Trigger = "AGENT_TOOL_RESULT"
	AgentComplete   Trigger = "AGENT_COMPLETE" // one is done, or hands off
	AgentError      Trigger = "AGENT_ERROR"    // one failed
	Decision        Trigger = "ARBITER_DECISION"
	ArbiterError    Trigger = "ARBITER_ERROR" // no valid decision was available
	ForceAgent      Trigger = "FORCE_AGENT"
	SkipStep        Trigger = "SKIP_STEP"
	Retry           Trigger = "RETRY"

	// Triggers of a run that are not about one task.
	AgentStopped Trigger = "AGENT_STOPPED" // the human ended one
	LimitReached Trigger = "LIMIT"         // cost, time or exchanges
	GiveUp       Trigger = "FAIL"          // nothing could be ruled on
	Resume       Trigger = "RESUME"        // a run is resumed

	// Always is not an event: its rows are tried whenever their state was entered.
	Always Trigger = ""
)
