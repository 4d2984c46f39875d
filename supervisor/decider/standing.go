package decider

import (
	"slices"
	"strings"
)

// The agents whose roles the rules know. Every other agent does a developer's work.
const (
	planner   = "planner"
	developer = "developer"
	tester    = "tester"
	reviewer  = "reviewer"

	modeless = "orchestrator" // the agent of an execution without a mode
)

// standing is the state of a task, as both inputs contain it.
type standing SelectAgentInput

// whole drops a plan without steps.
func (s standing) whole() standing {
	if s.Plan != nil && len(s.Plan.Steps) == 0 {
		s.Plan = nil
	}
	return s
}

func (s standing) has(name string) bool { return known(s.AvailableAgents, name) }

// step returns the first step that is not over, or nil.
func (s standing) step() *DecisionStep {
	if s.Plan == nil {
		return nil
	}
	for i, step := range s.Plan.Steps {
		if !step.Over() {
			return &s.Plan.Steps[i]
		}
	}
	return nil
}

// lastSuccess is the agent of the last successful execution; empty: none within the window.
func (s standing) lastSuccess() string {
	for _, e := range slices.Backward(s.History) {
		if e.Status == StatusSuccess {
			return e.Agent
		}
	}
	return ""
}

// succeeded reports whether the last execution was successful.
func (s standing) succeeded() bool {
	n := len(s.History)
	return n > 0 && s.History[n-1].Status == StatusSuccess
}

// checked reports whether a tester or reviewer has succeeded since another agent changed something, or whether
// neither exists.
func (s standing) checked() bool {
	if !s.has(tester) && !s.has(reviewer) {
		return true
	}
	for _, e := range slices.Backward(s.History) {
		switch e.Agent {
		case tester, reviewer:
			if e.Status == StatusSuccess {
				return true
			}
		case planner:
		default:
			return false
		}
	}
	return false
}

// pick is the first of the names that exists, otherwise the agent that has failed least.
func (s standing) pick(preferred ...string) string {
	for _, name := range preferred {
		if s.has(name) {
			return name
		}
	}
	return s.soundest(nil)
}

// soundest is the agent with the fewest failures within the window, the first if there are several; empty:
// there is none besides those in without.
func (s standing) soundest(without []string) string {
	best, fewest := "", -1
	for _, a := range s.AvailableAgents {
		if slices.Contains(without, a.Name) {
			continue
		}
		n := 0
		for _, e := range s.History {
			if e.Agent == a.Name && failed(e.Status) {
				n++
			}
		}
		if fewest < 0 || n < fewest {
			best, fewest = a.Name, n
		}
	}
	return best
}

// failing are the agents of the failures in a row at the end of the history, the last first, each as often as
// it has failed.
func (s standing) failing() []string {
	var list []string
	for _, e := range slices.Backward(s.History) {
		if !failed(e.Status) || len(list) > 0 && len(list) >= s.Constraints.ConsecutiveFailures {
			break
		}
		list = append(list, e.Agent)
	}
	return list
}

// other is an agent to try where one has failed: not one of those that are failing now, if there is another.
// After a developer's failure a planner is preferred, after any other failure a developer.
func (s standing) other(agent string) string {
	bad := append(s.failing(), agent)
	for _, name := range []string{developer, planner, reviewer, tester} {
		if s.has(name) && !slices.Contains(bad, name) {
			return name
		}
	}
	if name := s.soundest(bad); name != "" {
		return name
	}
	return s.soundest([]string{agent})
}

// stretches counts the executions since the last spawn: an agent that continues after the same spawn causes
// no iteration, so no limit stops it.
func (s standing) stretches() int {
	n := 0
	for _, e := range slices.Backward(s.History) {
		if last := s.History[len(s.History)-1]; e.Agent != last.Agent || e.Iteration != last.Iteration {
			break
		}
		n++
	}
	return n
}

// spent reports whether a limit of failures is reached.
func (s standing) spent() bool {
	l := s.Constraints
	return l.MaxConsecutiveFailures > 0 && l.ConsecutiveFailures >= l.MaxConsecutiveFailures ||
		l.MaxTotalFailures > 0 && l.TotalFailures >= l.MaxTotalFailures
}

// failed excludes cancelled executions: nothing went wrong with them.
func failed(status DecisionStatus) bool {
	return status == StatusFailure || status == StatusTimeout
}

// trouble is the error of an execution, as both inputs contain it.
type trouble struct {
	agent, message, tool string
	category             DecisionCategory
	retry                bool // retry is among the recovery options, or there are none
}

func troubleOf(e *ErrorContext) trouble {
	again := func(o RecoveryOption) bool { return o.Action == DecisionRetry }
	return trouble{agent: e.Agent, message: e.Message, tool: e.Tool, category: e.Category,
		retry: len(e.RecoveryOptions) == 0 || slices.ContainsFunc(e.RecoveryOptions, again)}
}

// troubleIn reads an execution. Its recovery options are prose that begins with the action.
func troubleIn(e ExecutionSummary) trouble {
	t := trouble{agent: e.Agent, category: UnknownError, retry: true}
	if e.Status == StatusTimeout {
		t.category = TimeoutError
	}
	if e.Error == nil {
		return t
	}
	t.message, t.tool, t.category = e.Error.Message, e.Error.Tool, e.Error.Category
	if len(e.Error.RecoveryOptions) > 0 {
		t.retry = slices.ContainsFunc(e.Error.RecoveryOptions, func(o string) bool {
			return strings.HasPrefix(strings.ToLower(strings.TrimSpace(o)), string(DecisionRetry))
		})
	}
	return t
}

// passes reports whether it is an error of the provider that waiting can solve: a retry is offered for no other
// error (SPEC-0006, «Construction Rules»).
func (t trouble) passes() bool { return t.category == ProviderError && t.retry }
