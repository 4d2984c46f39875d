package decision

import "time"

// Record is the task as the supervisor knows it, from which inputs are built.
type Record struct {
	Task    string
	Steps   []Step // Index is filled in
	Judged  string // [Evaluate]: whose last execution is judged, by [Execution].ID; empty: the last of all
	History History
	Error   *Failure           // the last error that is not overcome yet
	Failed  []Check            // checks that a COMPLETE was sent back for, with nothing handed over since
	Agents  []AgentDescription // RecentPerformance is that of earlier runs, unless History has one

	Iteration, MaxIterations        int
	Failures, MaxFailures           int
	TotalFailures, MaxTotalFailures int
	TokensUsed                      int
	CostUSD, MaxCostUSD             float64
	Elapsed, Timeout                time.Duration // Timeout 0: none
}

// Execution is one stretch of an Orchestrator's work, from a summon or an instruction to
// its `done`, `handoff` or end.
type Execution struct {
	Agent       string // the mode, or "orchestrator" where there is none
	ID          string // orch-1
	Iteration   int    // the summon it belongs to
	StartedAt   time.Time
	CompletedAt time.Time
	Status      Status
	Output      string // what it said, as it was said; bounded by the caller
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
	Attempted             string // what was being done
	Command               string // that was run, if one was
	Message               string
	Category              Category
	Transient             bool // rate limit, overload, network: waiting helps
	At                    time.Time
	Files                 []string
	InputSize, OutputSize int // bytes
}
