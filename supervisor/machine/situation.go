package machine

// Situation is what guards look at when a trigger comes.
type Situation struct {
	Decision string // of ARBITER_DECISION: COMPLETE, RETRY, CONTINUE, …

	AgentKnown bool // the mode asked for is one of the run's, or none was asked for
	AgentLives bool // the decision continues with an Orchestrator, and it lives
	Engaged    bool // an Orchestrator works, or has asked and waits
	Awaited    bool // a `done` or `handoff` waits for a decision

	HasTask bool // there is one
	HasStep bool // the plan has a step that can be skipped
	HasLast bool // there is an agent that can try again

	Iterations, MaxIterations       int  // summons of this task
	Failures, MaxFailures           int  // failed executions in a row
	TotalFailures, MaxTotalFailures int  // of this task; the most 0: no limit
	Recoverable                     bool // the error passes: rate limit, overload, network
	RulesLeft                       bool // the deterministic rules can still decide in the Arbiter's place

	WasComplete bool  // RESUME: the task was finished
	Before      State // RESUME: where the run stood when its last process ended
}

// Guard is a condition of a row, by the name the graph shows.
type Guard string

// The guards. The first five are SPEC-0003's.
const (
	IsComplete           Guard = "isComplete"
	ShouldRetry          Guard = "shouldRetry"
	MaxIterationsReached Guard = "maxIterationsReached"
	MaxFailuresReached   Guard = "maxFailuresReached"
	IsRecoverableError   Guard = "isRecoverableError"
	HasAgent             Guard = "hasAgent"
	GoesOn               Guard = "goesOn"     // CONTINUE, RETRY or a word to an Orchestrator
	AgentAlive           Guard = "agentAlive" // and that one lives
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
	AgentAlive:     func(s Situation) bool { return s.AgentLives },
	SomeoneWorks:   func(s Situation) bool { return s.Engaged },
	NobodyWorks:    func(s Situation) bool { return !s.Engaged },
	RulingAwaited:  func(s Situation) bool { return s.Awaited },
	TaskGiven:      func(s Situation) bool { return s.HasTask },
	StepLeft:       func(s Situation) bool { return s.HasStep },
	LastAgentThere: func(s Situation) bool { return s.HasLast },
	RulesCanDecide: func(s Situation) bool { return s.RulesLeft },
	TaskFinished:   func(s Situation) bool { return s.WasComplete },
}
