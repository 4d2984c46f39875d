package decision

import "time"

// Record is the state of the task as the supervisor knows it; inputs are built from it.
type Record struct {
	Task    string
	Steps   []Step // Index is filled in
	Judged  string // [Evaluate]: the [Execution].ID whose last execution is judged; empty: the last of all
	History History
	Error   *Failure           // the last error that is not solved yet
	Failed  []Check            // checks for which a COMPLETE was sent back, if nothing was handed over since
	Agents  []AgentDescription // RecentPerformance is from earlier runs, unless History has one

	Iteration, MaxIterations        int
	Failures, MaxFailures           int
	TotalFailures, MaxTotalFailures int
	TokensUsed                      int
	CostUSD, MaxCostUSD             float64
	Elapsed, Timeout                time.Duration // Timeout 0: none
}

// Execution is one period of an Orchestrator's work, from a spawn or an instruction to its `done`, `handoff`
// or end.
type Execution struct {
	Agent       string // the mode, or "orchestrator" where there is none
	ID          string // orch-1
	Iteration   int    // the spawn it belongs to
	StartedAt   time.Time
	CompletedAt time.Time
	Status      Status
	Output      string // its text, unchanged; bounded by the caller
	Files       []string
	Tokens      Tokens
	Error       *Failure  // nil on success
	Document    *Document // that it handed over ([Handed]); nil: none
}

// Failure is an error as it happened.
type Failure struct {
	Agent                 string // mode
	Tool                  string
	Step                  int    // of the plan, counted from 1; 0: none
	Attempted             string // what the agent was doing
	Command               string // the command that was run, if any
	Message               string
	Category              Category
	Transient             bool // rate limit, overload, network: waiting helps
	At                    time.Time
	Files                 []string
	InputSize, OutputSize int // bytes
}
