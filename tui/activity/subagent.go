package activity

import (
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

// Subagent is a subagent of an agent.
type Subagent struct {
	ID      string // of the call that started it
	Name    string // what it was started for
	Type    string
	Began   time.Time
	Ended   time.Time // zero: it is at work
	Failed  bool
	Tokens  int // of its own context
	Tools   int // that it has called
	CostUSD float64
	Doing   Item // the call that runs; without a tool: none does
}

// Works reports whether it has not ended.
func (s Subagent) Works() bool { return s.Ended.IsZero() }

// subagent finds one by the call that started it; nil: there is none of that id.
func (a *Agent) subagent(id string) *Subagent {
	if id == "" {
		return nil
	}
	for i := len(a.Subagents) - 1; i >= 0; i-- {
		if a.Subagents[i].ID == id {
			return &a.Subagents[i]
		}
	}
	return nil
}

// started adds a subagent: to those that are at work, or as the first of others. The oldest that has
// ended goes where there are too many.
func (a *Agent) started(at time.Time, b contract.SubagentStart) {
	if b.ToolUse == "" || a.subagent(b.ToolUse) != nil {
		return
	}
	if a.Working() == 0 {
		a.Subagents = nil // another group begins
	}
	if len(a.Subagents) >= keptSubagents {
		drop := 0
		for i, s := range a.Subagents {
			if !s.Works() {
				drop = i
				break
			}
		}
		a.Subagents = append(a.Subagents[:drop:drop], a.Subagents[drop+1:]...)
	}
	a.Subagents = append(a.Subagents, Subagent{
		ID:   b.ToolUse,
		Name: strings.Clone(eventtext.FirstOf(eventtext.One(b.Description, eventtext.MaxSummary), "a subagent")),
		Type: strings.Clone(eventtext.One(b.Type, eventtext.MaxName)), Began: at,
	})
}

// calls notes the call that runs.
func (s *Subagent) calls(i Item) { s.Doing = i }

// progressed takes over what it has used.
func (s *Subagent) progressed(b contract.SubagentProgress) {
	s.Tokens, s.Tools, s.CostUSD = max(b.Tokens, 0), max(b.ToolUses, 0), max(b.CostUSD, s.CostUSD)
}

// stopped ends it.
func (s *Subagent) stopped(at time.Time, b contract.SubagentStop) {
	_, s.Failed = eventtext.SubagentEnd(b)
	s.Ended, s.Doing = at, Item{}
	if b.Tokens > 0 {
		s.Tokens = b.Tokens
	}
}

// Working counts the subagents that are at work.
func (a Agent) Working() int {
	n := 0
	for _, s := range a.Subagents {
		if s.Works() {
			n++
		}
	}
	return n
}

// Running is the call that runs and was begun last, one that started a subagent aside; without a
// tool: none does.
func (a Agent) Running() Item {
	for i := len(a.Items) - 1; i >= 0; i-- {
		if item := a.Items[i]; item.Runs() && a.subagent(item.Use) == nil {
			return item
		}
	}
	return Item{}
}
