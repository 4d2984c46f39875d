package decider

import (
	"slices"
)

// The possible decisions. SELECT_MODE spawns the named agent; CONTINUE continues with the one that worked
// last, RETRY lets it try again in another way; COMPLETE ends the task.
const (
	SelectMode = "SELECT_MODE"
	Continue   = "CONTINUE"
	Retry      = "RETRY"
	Complete   = "COMPLETE"
)

// kinds lists the decisions that are possible at a point. When an agent is to be selected, no agent works,
// so none can continue (ADR-0005's prompts). An evaluation may name the next
// agent at once: ADR-0005's interface allows it and its prompt omits it.
func kinds(p DecisionPoint) []string {
	switch p {
	case PointSelect:
		return []string{SelectMode, Complete, Retry}
	case PointEvaluate:
		return []string{Continue, Complete, Retry, SelectMode}
	default:
		return nil
	}
}

func known(agents []AgentDescription, name string) bool {
	return slices.ContainsFunc(agents, func(a AgentDescription) bool { return a.Name == name })
}

// actionable reports whether a decision can be acted on at a point.
func actionable(d Decision, p DecisionPoint, agents []AgentDescription) bool {
	return slices.Contains(kinds(p), d.Decision) && d.Reason != "" &&
		(d.Decision != SelectMode || known(agents, d.Mode))
}

func names(agents []AgentDescription) []string {
	list := make([]string, len(agents))
	for i, a := range agents {
		list[i] = a.Name
	}
	return list
}
