package machine

import "slices"

// State is the state of a run.
type State string

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

// Situation is what guards read when a trigger comes.
type Situation struct {
	Decision string // of ARBITER_DECISION: COMPLETE, RETRY, CONTINUE, …

	AgentKnown bool // the requested mode is one of the run's, or none was requested
	AgentAlive bool // the decision continues with an Orchestrator that is alive
	Engaged    bool // an Orchestrator works, or has asked and waits
	Awaited    bool // a `done` or `handoff` waits for a decision

	HasTask bool // there is a task
	HasStep bool // the plan has a step that can be skipped
	HasLast bool // there is an agent that can try again

	Iterations, MaxIterations       int  // spawns of this task
	Failures, MaxFailures           int  // failed executions in a row
	TotalFailures, MaxTotalFailures int  // of this task; maximum 0: no limit
	Recoverable                     bool // the error can pass: rate limit, overload, network
	RulesLeft                       bool // the deterministic rules can still decide in the Arbiter's place

	WasComplete bool  // RESUME: the task was finished
	Before      State // RESUME: the run's state when its last process ended
}

// Guard is a condition of a row, by the name in the graph.
type Guard string

// The guards. The first five are from SPEC-0003.
const (
	IsComplete           Guard = "isComplete"
	ShouldRetry          Guard = "shouldRetry"
	MaxIterationsReached Guard = "maxIterationsReached"
	MaxFailuresReached   Guard = "maxFailuresReached"
	IsRecoverableError   Guard = "isRecoverableError"
	HasAgent             Guard = "hasAgent"
	GoesOn               Guard = "goesOn"     // CONTINUE, RETRY or a message to an Orchestrator
	AgentAlive           Guard = "agentAlive" // and that Orchestrator is alive
	SomeoneWorks         Guard = "someoneWorks"
	NobodyWorks          Guard = "nobodyWorks"
	RulingAwaited        Guard = "rulingAwaited"
	TaskGiven            Guard = "taskGiven"
	StepLeft             Guard = "stepLeft"
	LastAgentThere       Guard = "lastAgentThere"
	RulesCanDecide       Guard = "rulesCanDecide"
	TaskFinished         Guard = "taskFinished"
)

// Guards are the conditions by name.
var Guards = map[Guard]func(Situation) bool{
	IsComplete:           func(s Situation) bool { return s.Decision == "COMPLETE" },
	ShouldRetry:          func(s Situation) bool { return s.Decision == "RETRY" },
	MaxIterationsReached: func(s Situation) bool { return s.Iterations >= s.MaxIterations },
	MaxFailuresReached: func(s Situation) bool {
		return s.Failures >= s.MaxFailures || s.MaxTotalFailures > 0 && s.TotalFailures >= s.MaxTotalFailures
	},
	IsRecoverableError: func(s Situation) bool { return s.Recoverable },
	HasAgent:           func(s Situation) bool { return s.AgentKnown },
	GoesOn: func(s Situation) bool {
		return s.Decision == "CONTINUE" || s.Decision == "RETRY" || s.Decision == "ADDRESS_ORCHESTRATOR"
	},
	AgentAlive:     func(s Situation) bool { return s.AgentAlive },
	SomeoneWorks:   func(s Situation) bool { return s.Engaged },
	NobodyWorks:    func(s Situation) bool { return !s.Engaged },
	RulingAwaited:  func(s Situation) bool { return s.Awaited },
	TaskGiven:      func(s Situation) bool { return s.HasTask },
	StepLeft:       func(s Situation) bool { return s.HasStep },
	LastAgentThere: func(s Situation) bool { return s.HasLast },
	RulesCanDecide: func(s Situation) bool { return s.RulesLeft },
	TaskFinished:   func(s Situation) bool { return s.WasComplete },
}
