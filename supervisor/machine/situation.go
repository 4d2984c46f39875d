package machine

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
