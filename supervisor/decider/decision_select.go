package decider

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Windows of the history, and when they are widened (SPEC-0006, «History Inclusion»).
const (
	selectWindow   = 10
	evaluateWindow = 5
	manyFailures   = 2 // more failures than this in a window add the last failures of all
)

// filesListed bounds a list of files; a last entry says how many more there are.
const filesListed = 40

// SelectInput builds the input for the selection of an agent.
func SelectInput(r DecisionRecord) SelectAgentInput {
	in := SelectAgentInput{TaskInput: taskInput(r, selectWindow), LastError: errorContext(r)}
	if last, ok := r.History.lastOf(""); ok {
		in.History[len(in.History)-1].Document = last.Document
	}
	return in
}

func taskInput(r DecisionRecord, window int) TaskInput {
	return TaskInput{
		Task:            strings.ToValidUTF8(r.Task, "\uFFFD"),
		Plan:            plan(r.Steps),
		History:         history(r.History, window),
		OpenPoints:      openDecisionPoints(r),
		FailedChecks:    r.Failed,
		AvailableAgents: agents(r),
		Constraints:     constraints(r),
	}
}

// EvaluateInput builds the input for the judgement of progress. The judged execution is the last one of the history,
// or of the agent whose work is judged; its full output is included.
func EvaluateInput(r DecisionRecord) EvaluateProgressInput {
	in := EvaluateProgressInput{TaskInput: taskInput(r, evaluateWindow)}
	if last, ok := r.History.lastOf(r.Judged); ok {
		in.LastExecution = evaluated(last)
	}
	return in
}

// history shortens the last executions. If failures repeat, the last five of the whole history are included.
// Everything is in the order of time, and only once: SPEC-0006's own algorithm put failures first, and dropped
// from its window those beyond five.
func history(h DecisionHistory, window int) []ExecutionSummary {
	list := h.window(window)
	failed := 0
	for _, e := range list {
		if e.Failed() {
			failed++
		}
	}
	if failed > manyFailures {
		first := h.Count - len(list)
		older := slices.IndexFunc(h.Failures, func(f numbered) bool { return f.At >= first })
		if older < 0 {
			older = len(h.Failures)
		}
		list = slices.Insert(list, 0, h.Failures[:older]...)
	}
	out := make([]ExecutionSummary, len(list))
	for i, e := range list {
		out[i] = summary(e)
	}
	return out
}

// summary is an execution as a history contains it: without tokens, full output and full document.
func summary(e numbered) ExecutionSummary {
	s := ExecutionSummary{
		Agent:       e.Agent,
		Iteration:   e.Iteration,
		Status:      e.Status,
		DurationMS:  e.Duration().Milliseconds(),
		StartedAt:   stamp(e.StartedAt),
		CompletedAt: stamp(e.CompletedAt),
		Document:    e.Brief,
	}
	if s.Iteration == 0 {
		s.Iteration = e.At + 1
	}
	if e.Output != "" || len(e.Files) > 0 {
		s.Output = &DecisionOutput{Summary: e.Summary, FilesModified: filesDecision(e.Files)}
	}
	if f := e.Error; f != nil {
		s.Error = &ErrorSummary{Message: Cut(f.Message, SummaryRunes), Category: f.category(), Step: f.Step,
			Tool: f.Tool}
		for _, o := range RecoveryOptions(*f) {
			s.Error.RecoveryOptions = append(s.Error.RecoveryOptions, string(o.Action)+": "+o.Description)
		}
	}
	return s
}

// evaluated is the judged execution, with everything that is known about it.
func evaluated(e numbered) ExecutionSummary {
	s := summary(e)
	s.Document = e.Document
	if e.Output != "" {
		s.Output.Full = Cut(e.Output, FullRunes)
	}
	if e.Tokens != (Tokens{}) {
		t := e.Tokens
		s.Tokens = &t
	}
	return s
}

func agents(r DecisionRecord) []AgentDescription {
	list := append([]AgentDescription{}, r.Agents...)
	slices.SortStableFunc(list, func(a, b AgentDescription) int { return strings.Compare(a.Name, b.Name) })
	for i := range list {
		a := &list[i]
		if a.DisplayName == "" {
			a.DisplayName = a.Name
		}
		a.WhenToUse = Cut(a.WhenToUse, agentRunes)
		if p := r.History.Performance(a.Name); p != nil { // this run takes precedence over earlier ones
			a.RecentPerformance = p
		}
	}
	return list
}

func filesDecision(list []string) []string {
	if len(list) <= filesListed {
		return list
	}
	return append(slices.Clone(list[:filesListed]), mark+" and "+strconv.Itoa(len(list)-filesListed)+" more")
}

// stamp formats a time for inputs; empty for no time.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

func tenth(x float64) float64 { return math.Round(x*10) / 10 }
