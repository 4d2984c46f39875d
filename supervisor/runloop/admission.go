package runloop

// This file bounds the subagents of a run: how many work at once, and how many start within an hour.

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// AdmissionLimits are how many subagents of all agents together may work at once, and start within an hour. A limit of
// 0 is no limit.
type AdmissionLimits struct{ AtOnce, PerHour int }

// Subagents counts the subagents of a run. Its zero value is ready for use, and it is safe for concurrent use: an agent
// may call for many of them at the same moment, before any has started.
type Subagents struct {
	mu      sync.Mutex
	working []call
	started []time.Time // within the last hour, oldest first
}

// call is the tool call that a subagent works for.
type call struct {
	agent   bridge.AgentRef
	toolUse string
}

// Restore resumes a run whose subagents had started at these times, oldest first.
func (s *Subagents) Restore(started []time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = slices.Clone(started)
}

// Admit counts a subagent that an agent wants to start, or says why it may not start now. living are the living
// agents; subagents of other agents have ended. A call that was admitted before is admitted again, and counts
// once.
func (s *Subagents) Admit(agent bridge.AgentRef, toolUse string, living []bridge.AgentRef, l AdmissionLimits,
	at time.Time) (refusal string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.working = slices.DeleteFunc(s.working, func(c call) bool { return !slices.Contains(living, c.agent) })
	s.started = slices.DeleteFunc(s.started, func(t time.Time) bool { return at.Sub(t) >= time.Hour })
	c := call{agent, toolUse}
	switch {
	case toolUse != "" && slices.Contains(s.working, c):
		return ""
	case l.AtOnce > 0 && len(s.working) >= l.AtOnce:
		return fmt.Sprintf("%s already at work, which is the limit (--max-subagents): wait until one has ended, or do "+
			"the work without one", subagents(len(s.working)))
	case l.PerHour > 0 && len(s.started) >= l.PerHour:
		return fmt.Sprintf("%s started within an hour, which is the limit (--max-subagents-per-hour): the next may start "+
			"in %s, so do the work without one", subagents(len(s.started)), s.wait(at))
	}
	s.working, s.started = append(s.working, c), append(s.started, at)
	return ""
}

// wait is the time until another subagent may start.
func (s *Subagents) wait(at time.Time) time.Duration {
	return max(s.started[0].Add(time.Hour).Sub(at).Round(time.Second), time.Second)
}

func subagents(n int) string { return words.Count(n, "subagent") }

// Take handles a bridge's event about an agent: the end of a subagent, the result of the call that started it,
// or the end of the turn, which also ends its subagents.
func (s *Subagents) Take(e bridge.Event) {
	switch b := e.Body.(type) {
	case bridge.SubagentStop:
		s.ended(func(c call) bool { return c == call{e.AgentRef, b.ToolUse} })
	case bridge.ToolResult:
		s.ended(func(c call) bool { return c == call{e.AgentRef, b.ToolUse} })
	case bridge.Turn:
		s.ended(func(c call) bool { return c.agent == e.AgentRef })
	}
}

func (s *Subagents) ended(which func(call) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.working = slices.DeleteFunc(s.working, which)
}
