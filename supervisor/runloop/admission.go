package runloop

// This file bounds the subagents of a run: how many work at once, how many start within an hour, and how many in all.

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// AdmissionLimits are how many subagents of one agent may work at once, and how many of all agents may start in the
// run, and within an hour. A limit of 0 is no limit.
type AdmissionLimits struct{ AtOnce, Total, PerHour int }

// Subagents counts the subagents of a run. Its zero value is ready for use, and it is safe for concurrent use: an agent
// may call for many of them at the same moment, before any has started.
type Subagents struct {
	mu      sync.Mutex
	working []call
	started []time.Time // within the last hour, oldest first
	total   int         // of the run
}

// call is the tool call that a subagent works for.
type call struct {
	agent   bridge.AgentRef
	toolUse string
}

// Restore resumes a run that has started so many subagents, those of the last hour at these times, oldest first.
func (s *Subagents) Restore(total int, started []time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total, s.started = total, slices.Clone(started)
}

// Admit counts a subagent that an agent wants to start, or says why it may not start, and what to do instead: a text
// after which a model asks again at once would feed a storm. living are the living agents; subagents of other agents
// have ended. A call that was admitted before is admitted again, and counts once. A subagent that starts another counts
// for its agent.
func (s *Subagents) Admit(agent bridge.AgentRef, toolUse string, living []bridge.AgentRef, l AdmissionLimits,
	at time.Time) (refusal string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.working = slices.DeleteFunc(s.working, func(c call) bool { return !slices.Contains(living, c.agent) })
	s.started = slices.DeleteFunc(s.started, func(t time.Time) bool { return at.Sub(t) >= time.Hour })
	c, own := call{agent, toolUse}, 0
	for _, w := range s.working {
		if w.agent == agent {
			own++
		}
	}
	switch {
	case toolUse != "" && slices.Contains(s.working, c):
		return ""
	case l.Total > 0 && s.total >= l.Total:
		return fmt.Sprintf("this run has started %s, all that it may (--max-subagents-total). No other starts, so do not "+
			"ask again: do the work yourself, one part after the other, or end your turn and say what is left",
			words.Count(s.total, "subagent"))
	case l.AtOnce > 0 && own >= l.AtOnce:
		return fmt.Sprintf("%s of this session already at work, all that it may have at once (--max-subagents). Asking "+
			"again before one has ended changes nothing: wait for their results, or do this part yourself. If you are a "+
			"subagent, do your work without others", words.Count(own, "subagent"))
	case l.PerHour > 0 && len(s.started) >= l.PerHour:
		return fmt.Sprintf("%s started within an hour, all that may (--max-subagents-per-hour). The next may start in %s: "+
			"do the work yourself until then", words.Count(len(s.started), "subagent"),
			max(s.started[0].Add(time.Hour).Sub(at).Round(time.Second), time.Second))
	}
	s.working, s.started = append(s.working, c), append(s.started, at)
	s.total++
	return ""
}

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
