package decider

import "time"

// DecisionRecord is the state of the task as the supervisor knows it; inputs are built from it.
type DecisionRecord struct {
	Task  string
	Steps []DecisionStep // Index is filled in
	// [EvaluateInput]: the [DecisionExecution].ID whose last execution is judged; empty: the last of all
	Judged  string
	History DecisionHistory
	Error   *DecisionFailure   // the last error that is not solved yet
	Failed  []DecisionCheck    // checks for which a COMPLETE was sent back, if nothing was handed over since
	Agents  []AgentDescription // RecentPerformance is from earlier runs, unless History has one

	Iteration, MaxIterations        int
	Failures, MaxFailures           int
	TotalFailures, MaxTotalFailures int
	TokensUsed                      int
	CostUSD, MaxCostUSD             float64
	Elapsed, Timeout                time.Duration // Timeout 0: none
}

// DecisionExecution is one period of an Orchestrator's work, from a spawn or an instruction to its `done`, `handoff`
// or end.
type DecisionExecution struct {
	Agent       string // the mode, or "orchestrator" where there is none
	ID          string // orch-1
	Iteration   int    // the spawn it belongs to
	StartedAt   time.Time
	CompletedAt time.Time
	Status      DecisionStatus
	Output      string // its text, unchanged; bounded by the caller
	Files       []string
	Tokens      Tokens
	Error       *DecisionFailure  // nil on success
	Document    *DecisionDocument // that it handed over ([Handed]); nil: none
}

// DecisionFailure is an error as it happened.
type DecisionFailure struct {
	Agent                 string // mode
	Tool                  string
	Step                  int    // of the plan, counted from 1; 0: none
	Attempted             string // what the agent was doing
	Command               string // the command that was run, if any
	Message               string
	Category              DecisionCategory
	Transient             bool // rate limit, overload, network: waiting helps
	At                    time.Time
	Files                 []string
	InputSize, OutputSize int // bytes
}
