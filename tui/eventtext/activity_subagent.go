package eventtext

import (
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// SubagentActivity is a subagent of an agent.
type SubagentActivity struct {
	ID      string // of the call that started it
	Name    string // what it was started for
	Type    string
	Began   time.Time
	Ended   time.Time // zero: it is working
	Failed  bool
	Tokens  int // of its own context
	Tools   int // called so far
	CostUSD float64
	Doing   ActivityItem // the running call; without a tool: there is none
}

// Works reports whether the subagent has not ended.
func (s SubagentActivity) Works() bool { return s.Ended.IsZero() }

// subagent returns the subagent that a call started, or nil.
func (a *AgentActivity) subagent(id string) *SubagentActivity {
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

// started adds a subagent: to those that work, or as the first of a new group. If there are too many, the
// oldest one that has ended is removed.
func (a *AgentActivity) started(at time.Time, b contract.SubagentStart) {
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
	a.Subagents = append(a.Subagents, SubagentActivity{
		ID:   b.ToolUse,
		Name: strings.Clone(FirstOf(One(b.Description, MaxSummary), "a subagent")),
		Type: strings.Clone(One(b.Type, MaxName)), Began: at,
	})
}

// calls records the running call.
func (s *SubagentActivity) calls(i ActivityItem) { s.Doing = i }

// progressed records what the subagent has used.
func (s *SubagentActivity) progressed(b contract.SubagentProgress) {
	s.Tokens, s.Tools, s.CostUSD = max(b.Tokens, 0), max(b.ToolUses, 0), max(b.CostUSD, s.CostUSD)
}

// stopped records its end.
func (s *SubagentActivity) stopped(at time.Time, b contract.SubagentStop) {
	_, s.Failed = SubagentEnd(b)
	s.Ended, s.Doing = at, ActivityItem{}
	if b.Tokens > 0 {
		s.Tokens = b.Tokens
	}
}

// Working counts the subagents that have not ended.
func (a AgentActivity) Working() int {
	n := 0
	for _, s := range a.Subagents {
		if s.Works() {
			n++
		}
	}
	return n
}

// Running returns the running call that was started last, ignoring those that started a subagent; without a
// tool: there is none.
func (a AgentActivity) Running() ActivityItem {
	for i := len(a.Items) - 1; i >= 0; i-- {
		if item := a.Items[i]; item.Runs() && a.subagent(item.Use) == nil {
			return item
		}
	}
	return ActivityItem{}
}
