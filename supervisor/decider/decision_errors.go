package decider

import (
	"slices"
	"strings"
)

// errorContext is the last error with the possible responses; nil: there is none.
func errorContext(r DecisionRecord) *ErrorContext {
	f := r.Error
	if f == nil {
		return nil
	}
	options := RecoveryOptions(*f)
	if len(r.Steps) == 0 { // SPEC-0006 offers to skip even if there is nothing to skip
		options = slices.DeleteFunc(options, func(o RecoveryOption) bool { return o.Action == DecisionSkip })
	}
	return &ErrorContext{
		Agent:           f.Agent,
		Tool:            f.Tool,
		PlanStep:        f.Step,
		Attempted:       Cut(f.Attempted, SummaryRunes),
		Message:         Cut(f.Message, FullRunes),
		Category:        f.category(),
		RecoveryOptions: options,
		Timestamp:       stamp(f.At),
		Context: ErrorSurround{
			FilesAccessed:   filesDecision(f.Files),
			CommandExecuted: Cut(f.Command, SummaryRunes),
			InputSize:       max(f.InputSize, 0),
			OutputSize:      max(f.OutputSize, 0),
		},
	}
}

func (f *DecisionFailure) category() DecisionCategory {
	if f.Category == "" {
		return UnknownError
	}
	return f.Category
}

// RecoveryOptions are the possible responses to an error, the best first. They contain what SPEC-0006 offers
// for the category; where it offers nothing, what may help. Another agent may always help. The caller owns the
// slice.
func RecoveryOptions(f DecisionFailure) []RecoveryOption {
	var list []RecoveryOption
	add := func(a DecisionAction, description, reason string) {
		list = append(list, RecoveryOption{a, description, reason})
	}
	switch f.category() {
	case ToolFailure:
		add(DecisionRetry, "Try the same again with different parameters",
			"What made the tool fail may have passed, or be avoided")
		add(DecisionSkip, "Skip this step and go on with the next", "The step may not be needed for the task")
	case ProviderError:
		if f.Transient {
			add(DecisionRetry, "Wait, then try again", "Rate limits, overload and network trouble pass")
		}
	case TimeoutError:
		add(DecisionAbort, "Give the task up", "The agent makes no progress")
	case PermissionError:
		add(DecisionRetry, "Reach the same without what was denied", "What was denied once will be denied again")
		add(DecisionSkip, "Skip this step and go on with the next", "The step may need rights that nobody here has")
	case ValidationError:
		add(DecisionRetry, "Try again with the input put right", "The message says what was wrong with it")
	case AgentError:
		add(DecisionRetry, "Start the agent again", "A new process may not break where the last one did")
		add(DecisionAbort, "Give the task up", "What breaks every agent is not a fault of the work")
	default:
		add(DecisionRetry, "Try again, another way", "It is not known what failed, so it may not fail again")
		add(DecisionSkip, "Skip this step and go on with the next", "The step may not be needed for the task")
	}
	add(DecisionFallback, "Go on with another agent", "Another agent may have a better approach")
	return list
}

// Words in a tool's message that show why it failed.
var (
	deniedWords = []string{"permission denied", "permission to use", "operation not permitted", "access denied",
		"access is denied", "eacces", "eperm", "not allowed to", "requested permissions", "requires approval",
		"has been denied"}
	timeoutWords = []string{"timed out", "timeout", "deadline exceeded", "etimedout"}
	invalidWords = []string{"inputvalidationerror", "invalid tool input", "validation error", "invalid arguments",
		"required parameter"}
)

// ToolCategory classifies a failed tool call by its message, and by whether it was denied.
func ToolCategory(message string, denied bool) DecisionCategory {
	low := strings.ToLower(message)
	says := func(word string) bool { return strings.Contains(low, word) }
	switch {
	case denied || slices.ContainsFunc(deniedWords, says):
		return PermissionError
	case slices.ContainsFunc(invalidWords, says):
		return ValidationError
	case slices.ContainsFunc(timeoutWords, says):
		return TimeoutError
	}
	return ToolFailure
}
