package decider

import (
	"slices"
	"strings"
	"time"
)

// What a history keeps. Windows, statistics and the explanation of a decision need no more, and a run may have
// ten thousand executions.
const (
	keptExecutions = 64
	keptOutputs    = 16 // of them, with their full output; earlier ones shortened as for a summary
	keptFailures   = 5
)

// DecisionHistory is the executions of a task, oldest first. It is a value: Add returns another one and does not change
// the one it was given, so that any goroutine can read both. It keeps the last 64 executions, the last 5
// failures and the statistics of all; older executions are only counted. What is added must not be changed
// afterwards.
type DecisionHistory struct {
	Count    int
	Recent   []*KeptExecution `json:",omitempty"` // the last ones, at most keptExecutions
	Failures []numbered       `json:",omitempty"` // the last ones, at most keptFailures, in full
	Agents   []tally          `json:",omitempty"` // by name
	Tokens   Tokens
	Worked   time.Duration // of those that have a duration
	Timed    int           // how many these are
}

// KeptExecution is an execution, and its output as summaries contain it: shortened once, when it is added, and not for
// each input.
type KeptExecution struct {
	DecisionExecution
	Summary string
	Brief   *DecisionDocument `json:",omitempty"`
}

// numbered is an execution with its place in the whole history, counted from 0.
type numbered struct {
	At int
	KeptExecution
}

// tally counts what one agent has done.
type tally struct {
	DecisionCount
	Tries                 int               // since its last success
	SucceededAt           int               // place of its last success in the history
	Left                  *DecisionDocument `json:",omitempty"` // its last document, if that leaves something open
	LeftAt, LeftIteration int               // place and iteration of the execution that gave it
}

// Failed reports whether the execution counts as a failure. A timeout does: SPEC-0006 counts only failures, and
// says that an agent fails when it runs out of time.
func (e *DecisionExecution) Failed() bool {
	return e.Status == StatusFailure || e.Status == StatusTimeout
}

// Duration is how long it worked; 0 if it is not over or clocks went backwards.
func (e *DecisionExecution) Duration() time.Duration {
	if e.CompletedAt.IsZero() || e.StartedAt.IsZero() {
		return 0
	}
	return max(e.CompletedAt.Sub(e.StartedAt), 0)
}

// Add returns the history with one more execution. Its cost depends on what is kept, not on the length of the
// history.
func (h DecisionHistory) Add(e DecisionExecution) DecisionHistory {
	// a substring would keep the whole text in memory
	k := &KeptExecution{
		DecisionExecution: e, Summary: strings.Clone(Cut(e.Output, SummaryRunes)), Brief: e.Document.brief()}
	next := h
	next.Count++
	next.Recent = push(h.Recent, k, keptExecutions)
	if i := len(next.Recent) - keptOutputs - 1; i >= 0 {
		old := *next.Recent[i]
		old.Output, old.Document = old.Summary, old.Brief
		next.Recent[i] = &old
	}
	if e.Failed() {
		next.Failures = push(h.Failures, numbered{h.Count, *k}, keptFailures)
	}
	next.Agents = count(h.Agents, &e, h.Count)
	next.Tokens = Tokens{h.Tokens.Input + e.Tokens.Input, h.Tokens.Output + e.Tokens.Output,
		h.Tokens.Total + e.Tokens.Total}
	if d := e.Duration(); d > 0 {
		next.Worked += d
		next.Timed++
	}
	return next
}

// push returns a new slice with x after the last most-1 of list.
func push[T any](list []T, x T, most int) []T {
	list = list[max(len(list)-most+1, 0):]
	return append(append(make([]T, 0, len(list)+1), list...), x)
}

// count adds the execution at a place of the history to its agent's statistics.
func count(agents []tally, e *DecisionExecution, at int) []tally {
	if e.Status == StatusCancelled {
		return agents // it says nothing about the agent
	}
	i, known := slices.BinarySearchFunc(agents, e.Agent, func(t tally, name string) int {
		return strings.Compare(t.Agent, name)
	})
	agents = slices.Clone(agents)
	if !known {
		agents = slices.Insert(agents, i, tally{DecisionCount: DecisionCount{Agent: e.Agent}})
	}
	t := &agents[i]
	t.Tries++
	t.Tokens, t.Worked = t.Tokens+e.Tokens.Total, t.Worked+e.Duration()
	if e.Failed() {
		t.Failed++
		t.LastFailure = e.ended()
	} else {
		t.Succeeded++
		t.TriesToSuccess += t.Tries
		t.Tries = 0
		t.LastSuccess, t.SucceededAt = e.ended(), at
	}
	if d := e.Document; d != nil {
		t.Left, t.LeftAt, t.LeftIteration = nil, at, e.Iteration
		if len(d.Remaining)+len(d.OpenQuestions) > 0 {
			t.Left = &DecisionDocument{Remaining: d.Remaining, OpenQuestions: d.OpenQuestions}
		}
	}
	return agents
}

func (e *DecisionExecution) ended() time.Time {
	if e.CompletedAt.IsZero() {
		return e.StartedAt
	}
	return e.CompletedAt
}

// Len is how many executions there were, kept or not.
func (h DecisionHistory) Len() int { return h.Count }

// Last returns the last n, oldest first; fewer if there were fewer or n is above 64.
func (h DecisionHistory) Last(n int) []DecisionExecution {
	last := h.Recent[max(len(h.Recent)-max(n, 0), 0):]
	list := make([]DecisionExecution, len(last))
	for i, e := range last {
		list[i] = e.DecisionExecution
	}
	return list
}

// Mean is the mean duration of an execution; 0: not known.
func (h DecisionHistory) Mean() time.Duration {
	if h.Timed == 0 {
		return 0
	}
	return h.Worked / time.Duration(h.Timed)
}

// Performance is how well an agent has done; nil if it has not worked yet. Cancelled executions do not count.
func (h DecisionHistory) Performance(agent string) *DecisionPerformance {
	i, known := slices.BinarySearchFunc(h.Agents, agent, func(t tally, name string) int {
		return strings.Compare(t.Agent, name)
	})
	if !known {
		return nil
	}
	return h.Agents[i].Performance()
}

// DecisionCount is how the executions of one agent ended. Cancelled executions do not count.
type DecisionCount struct {
	Agent                    string
	Succeeded, Failed        int
	TriesToSuccess           int // number of executions up to each success, summed over all successes
	LastSuccess, LastFailure time.Time
	Tokens                   int           `json:",omitempty"`
	Worked                   time.Duration `json:",omitempty"`
}

// Performance is how well these executions went; nil: there were none.
func (c DecisionCount) Performance() *DecisionPerformance {
	if c.Succeeded+c.Failed == 0 {
		return nil
	}
	p := &DecisionPerformance{
		LastSuccess: stamp(c.LastSuccess),
		LastFailure: stamp(c.LastFailure),
		SuccessRate: tenth(100 * float64(c.Succeeded) / float64(c.Succeeded+c.Failed)),
	}
	if c.Succeeded > 0 {
		p.IterationAverage = tenth(float64(c.TriesToSuccess) / float64(c.Succeeded))
	}
	return p
}

// Counts returns a Count for each agent that has worked, by name.
func (h DecisionHistory) Counts() []DecisionCount {
	list := make([]DecisionCount, len(h.Agents))
	for i, t := range h.Agents {
		list[i] = t.DecisionCount
	}
	return list
}

// window returns the last n with their places.
func (h DecisionHistory) window(n int) []numbered {
	last := h.Recent[max(len(h.Recent)-n, 0):]
	list := make([]numbered, len(last), len(last)+keptFailures)
	for i, e := range last {
		list[i] = numbered{h.Count - len(last) + i, *e}
	}
	return list
}

// lastOf is the last execution of one agent, by its ID; if it has none, the last of all.
func (h DecisionHistory) lastOf(id string) (numbered, bool) {
	for i := len(h.Recent) - 1; i >= 0 && id != ""; i-- {
		if h.Recent[i].ID == id {
			return numbered{h.Count - len(h.Recent) + i, *h.Recent[i]}, true
		}
	}
	if i := len(h.Recent) - 1; i >= 0 {
		return numbered{h.Count - 1, *h.Recent[i]}, true
	}
	return numbered{}, false
}
