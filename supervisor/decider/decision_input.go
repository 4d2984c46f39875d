package decider

import (
	"math"
	"time"
)

// DecisionPoint is a point of decision.
type DecisionPoint string

// The points of decision of the task machine.
const (
	PointSelect   DecisionPoint = "select"   // in selecting: which agent works next
	PointEvaluate DecisionPoint = "evaluate" // in evaluating: what follows from the last execution
	PointTalk     DecisionPoint = "talk"     // any other turn of the Arbiter: no input is built
)

// SelectAgentInput is the input for the choice of an agent (SPEC-0006, «Arbiter Input Types»). JSON names are
// the specification's.
type SelectAgentInput struct {
	TaskInput
	LastError *ErrorContext `json:"lastError"`
}

// EvaluateProgressInput is the input for the judgement of progress.
type EvaluateProgressInput struct {
	TaskInput
	LastExecution ExecutionSummary `json:"lastExecution"`
}

// TaskInput is the state of the task, as both inputs have it.
type TaskInput struct {
	Task       string             `json:"task"`
	Plan       *DecisionPlan      `json:"plan"`
	History    []ExecutionSummary `json:"history"`
	OpenPoints []OpenPoint        `json:"openPoints,omitempty"` // beyond the specification
	// FailedChecks, also beyond the specification, are those that kept a COMPLETE from taking effect.
	FailedChecks []DecisionCheck `json:"failedChecks,omitempty"`
	// AvailableAgents is in an evaluation beyond the specification: it may choose the next one.
	AvailableAgents []AgentDescription  `json:"availableAgents"`
	Constraints     DecisionConstraints `json:"constraints"`
}

// DecisionPlan is a plan with its present step.
type DecisionPlan struct {
	Steps []DecisionStep `json:"steps"`
	// from 0: the first step that is not over; len(Steps) when all are
	CurrentStepIndex int  `json:"currentStepIndex"`
	IsComplete       bool `json:"isComplete"`
}

// DecisionStep is one of its steps.
type DecisionStep struct {
	Index       int    `json:"index"` // counted from 1
	Description string `json:"description"`
	Status      string `json:"status"` // pending, in_progress, complete, failed, skipped
	Mode        string `json:"mode,omitempty"`
	AgentUsed   string `json:"agentUsed,omitempty"`
}

// ExecutionSummary is an execution, shortened for its reader.
type ExecutionSummary struct {
	Agent       string            `json:"agent"`
	Iteration   int               `json:"iteration"`
	Status      DecisionStatus    `json:"status"`
	DurationMS  int64             `json:"duration_ms"`
	Output      *DecisionOutput   `json:"output,omitempty"`
	Error       *ErrorSummary     `json:"error,omitempty"`
	Document    *DecisionDocument `json:"document,omitempty"` // beyond the specification: in full only for the last one
	Tokens      *Tokens           `json:"tokens,omitempty"`
	StartedAt   string            `json:"startedAt"`             // RFC 3339, UTC, milliseconds
	CompletedAt string            `json:"completedAt,omitempty"` // empty: not over
}

// DecisionOutput is what an execution said and changed.
type DecisionOutput struct {
	Summary       string   `json:"summary"`                 // at most 300 characters
	Full          string   `json:"full,omitempty"`          // of the judged execution, at most 2,000 characters
	FilesModified []string `json:"filesModified,omitempty"` // at most 40, and how many more there are
}

// ErrorSummary is the error that made an execution fail.
type ErrorSummary struct {
	Message         string           `json:"message"`
	Category        DecisionCategory `json:"category"`
	Step            int              `json:"step,omitempty"` // counted from 1
	Tool            string           `json:"tool,omitempty"`
	RecoveryOptions []string         `json:"recoveryOptions,omitempty"`
}

// Tokens counts what an execution used.
type Tokens struct {
	Input  int `json:"input"`
	Output int `json:"output"`
	Total  int `json:"total"`
}

// ErrorContext is the last error with what was tried and the possible responses.
type ErrorContext struct {
	Agent           string           `json:"agent"`
	Tool            string           `json:"tool,omitempty"`
	PlanStep        int              `json:"planStep,omitempty"` // counted from 1
	Attempted       string           `json:"attempted"`
	Message         string           `json:"message"`
	Category        DecisionCategory `json:"category"`
	RecoveryOptions []RecoveryOption `json:"recoveryOptions"`
	Timestamp       string           `json:"timestamp"`
	Context         ErrorSurround    `json:"context"`
}

// ErrorSurround is what happened around an error.
type ErrorSurround struct {
	FilesAccessed   []string `json:"filesAccessed,omitempty"`
	CommandExecuted string   `json:"commandExecuted,omitempty"`
	InputSize       int      `json:"inputSize,omitempty"`
	OutputSize      int      `json:"outputSize,omitempty"`
}

// RecoveryOption is a possible response to an error.
type RecoveryOption struct {
	Action      DecisionAction `json:"action"`
	Description string         `json:"description"`
	Reason      string         `json:"reason"`
}

// DecisionAction is what a recovery option does, and its name for the command `choose`.
type DecisionAction string

const (
	DecisionRetry    DecisionAction = "retry"
	DecisionSkip     DecisionAction = "skip"
	DecisionFallback DecisionAction = "fallback" // another agent
	DecisionAbort    DecisionAction = "abort"
)

// DecisionStatus is how an execution ended.
type DecisionStatus string

const (
	StatusSuccess   DecisionStatus = "success"
	StatusFailure   DecisionStatus = "failure"
	StatusTimeout   DecisionStatus = "timeout"
	StatusCancelled DecisionStatus = "cancelled"
)

// DecisionCategory classifies errors. SPEC-0006 has two lists; this is the one of its ErrorContext, with `agent_error`
// for what its other list calls agent.
type DecisionCategory string

const (
	ToolFailure     DecisionCategory = "tool_failure"
	ProviderError   DecisionCategory = "provider_error"
	ValidationError DecisionCategory = "validation_error"
	TimeoutError    DecisionCategory = "timeout"
	PermissionError DecisionCategory = "permission_error"
	AgentError      DecisionCategory = "agent_error"
	UnknownError    DecisionCategory = "unknown"
)

// DecisionConstraints are the limits and how much of them is used.
type DecisionConstraints struct {
	MaxIterations          int     `json:"maxIterations"`
	CurrentIteration       int     `json:"currentIteration"` // summons of this task so far
	IterationsRemaining    int     `json:"iterationsRemaining"`
	ConsecutiveFailures    int     `json:"consecutiveFailures"`
	MaxConsecutiveFailures int     `json:"maxConsecutiveFailures"`
	TotalFailures          int     `json:"totalFailures"`
	MaxTotalFailures       int     `json:"maxTotalFailures,omitempty"` // 0: no limit
	EstimatedTokensUsed    int     `json:"estimatedTokensUsed"`
	TimeElapsedMS          int64   `json:"timeElapsedMs"`
	EstimatedTimeRemaining int64   `json:"estimatedTimeRemaining"` // milliseconds; 0: not known
	CostUSD                float64 `json:"costUsd"`
	MaxCostUSD             float64 `json:"maxCostUsd,omitempty"` // 0: no limit
}

// AgentDescription is a mode as a decider sees it.
type AgentDescription struct {
	Name              string               `json:"name"`
	DisplayName       string               `json:"displayName"`
	WhenToUse         string               `json:"whenToUse"`
	Tools             ToolLists            `json:"tools"`
	RecentPerformance *DecisionPerformance `json:"recentPerformance,omitempty"`
}

// ToolLists are the tools that a mode may or must not use.
type ToolLists struct {
	Allowed []string `json:"allowed,omitempty"` // nil: all
	Blocked []string `json:"blocked,omitempty"`
}

// DecisionPerformance is how well a mode has done in this run.
type DecisionPerformance struct {
	LastSuccess      string  `json:"lastSuccess,omitempty"`
	LastFailure      string  `json:"lastFailure,omitempty"`
	SuccessRate      float64 `json:"successRate"`      // 0–100
	IterationAverage float64 `json:"iterationAverage"` // executions up to a success
}

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

	DecisionConstraints               // what follows from other members is filled in
	Elapsed, Timeout    time.Duration // Timeout 0: none
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

// plan returns the steps in the specification's terms, and the current one; nil: no steps.
func plan(steps []DecisionStep) *DecisionPlan {
	if len(steps) == 0 {
		return nil
	}
	p := &DecisionPlan{Steps: make([]DecisionStep, len(steps)), CurrentStepIndex: len(steps)}
	for i, s := range steps {
		s.Index = i + 1
		s.Description = Cut(s.Description, stepRunes)
		s.Status = stepStatus(s.Status)
		p.Steps[i] = s
		if p.CurrentStepIndex == len(steps) && !s.Over() {
			p.CurrentStepIndex = i
		}
	}
	p.IsComplete = p.CurrentStepIndex == len(steps)
	return p
}

// stepStatus translates the statuses of plan events into the specification's.
func stepStatus(word string) string {
	switch word {
	case "active":
		return "in_progress"
	case "done":
		return "complete"
	case "":
		return "pending"
	}
	return word
}

// Over reports whether nothing more has to be done about the step. A failed step is not over.
func (s DecisionStep) Over() bool { return s.Status == "complete" || s.Status == "skipped" }

// Current is the current step; nil: all are over, or there is no plan.
func (p *DecisionPlan) Current() *DecisionStep {
	if p == nil || p.CurrentStepIndex < 0 || p.CurrentStepIndex >= len(p.Steps) {
		return nil
	}
	return &p.Steps[p.CurrentStepIndex]
}

// Near returns at most n steps around the current one.
func (p *DecisionPlan) Near(n int) []DecisionStep {
	switch {
	case p == nil || n <= 0:
		return nil
	case len(p.Steps) <= n:
		return p.Steps
	}
	from := min(max(p.CurrentStepIndex-n/4, 0), len(p.Steps)-n)
	return p.Steps[from : from+n]
}

func constraints(r DecisionRecord) DecisionConstraints {
	c := r.DecisionConstraints
	c.IterationsRemaining = max(c.MaxIterations-c.CurrentIteration, 0)
	c.EstimatedTokensUsed = max(c.EstimatedTokensUsed, 0)
	c.TimeElapsedMS = max(r.Elapsed, 0).Milliseconds()
	c.EstimatedTimeRemaining = remaining(r).Milliseconds()
	return c
}

// remaining estimates the time still needed: the mean duration of an execution for each step that is not over,
// but not more than the timeout leaves. 0: no basis for an estimate, nothing left to do, or no time.
func remaining(r DecisionRecord) time.Duration {
	left := 0
	for _, s := range r.Steps {
		s.Status = stepStatus(s.Status)
		if !s.Over() {
			left++
		}
	}
	mean := r.History.Mean()
	need := mean * time.Duration(left)
	if left > 0 && mean > math.MaxInt64/time.Duration(left) {
		need = math.MaxInt64
	}
	if r.Timeout > 0 {
		need = min(need, max(r.Timeout-max(r.Elapsed, 0), 0))
	}
	return need
}
