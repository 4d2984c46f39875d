package runloop

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
)

var (
	noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	one  = bridge.AgentRef{ID: "orch-1", Generation: 1}
	two  = bridge.AgentRef{ID: "orch-2", Generation: 1}
	both = []bridge.AgentRef{one, two}
)

func admitted(
	t *testing.T,
	s *Subagents,
	l AdmissionLimits,
	at time.Time,
	agent bridge.AgentRef,
	toolUse, refusal string,
) {
	t.Helper()
	got := s.Admit(agent, toolUse, both, l, at)
	if (got == "") != (refusal == "") || !strings.Contains(got, refusal) {
		t.Errorf("%s of %s: %q, want %q", toolUse, agent.ID, got, refusal)
	}
}

// TestAtOnce: each agent has a limit of its own. A subagent frees its slot when it ends, when its call is answered, at
// the end of the turn, and when its agent has another process.
func TestAtOnce(t *testing.T) {
	var s Subagents
	l := AdmissionLimits{AtOnce: 2}
	full := "2 subagents of this session already at work, all that it may have at once (--max-subagents)"
	admitted(t, &s, l, noon, one, "a", "")
	admitted(t, &s, l, noon, one, "a", "") // the same call
	admitted(t, &s, l, noon, one, "b", "")
	admitted(t, &s, l, noon, one, "c", full)
	admitted(t, &s, l, noon, two, "d", "")                                       // another agent's
	s.Take(bridge.Event{AgentRef: two, Body: bridge.SubagentStop{ToolUse: "b"}}) // not of this agent
	admitted(t, &s, l, noon, one, "c", full)
	s.Take(bridge.Event{AgentRef: one, Body: bridge.SubagentStop{ToolUse: "b"}})
	admitted(t, &s, l, noon, one, "c", "")
	s.Take(bridge.Event{AgentRef: one, Body: bridge.ToolResult{ToolUse: "a"}})
	admitted(t, &s, l, noon, one, "e", "")
	admitted(t, &s, l, noon, one, "f", full)
	s.Take(bridge.Event{AgentRef: one, Body: bridge.Turn{}})
	admitted(t, &s, l, noon, one, "g", "")
	admitted(t, &s, l, noon, one, "h", "")
	next := bridge.AgentRef{ID: "orch-1", Generation: 2}
	if why := s.Admit(next, "i", []bridge.AgentRef{next, two}, l, noon); why != "" {
		t.Errorf("subagents of a process that ended count: %s", why)
	}
}

// TestTotal: the subagents of the whole run are counted, also after it was resumed, and whatever became of them.
func TestTotal(t *testing.T) {
	var s Subagents
	l := AdmissionLimits{AtOnce: 9, Total: 3, PerHour: 9}
	s.Restore(1, []time.Time{noon.Add(-2 * time.Hour)})
	for _, name := range []string{"a", "b"} {
		admitted(t, &s, l, noon, one, name, "")
		s.Take(bridge.Event{AgentRef: one, Body: bridge.SubagentStop{ToolUse: name}})
	}
	admitted(t, &s, l, noon.Add(5*time.Hour), two, "c", "started 3 subagents, all that it may (--max-subagents-total)")
	admitted(t, &s, AdmissionLimits{}, noon, two, "c", "") // without limits
}

// TestPerHour counts all subagents that were started within the last hour, whatever happened to them.
func TestPerHour(t *testing.T) {
	var s Subagents
	l := AdmissionLimits{AtOnce: 9, PerHour: 2}
	for i, name := range []string{"a", "b"} {
		admitted(t, &s, l, noon.Add(time.Duration(i)*time.Minute), one, name, "")
		s.Take(bridge.Event{AgentRef: one, Body: bridge.SubagentStop{ToolUse: name}})
	}
	admitted(t, &s, l, noon.Add(20*time.Minute), two, "c", "The next may start in 40m0s")
	admitted(t, &s, l, noon.Add(time.Hour), two, "c", "")
	admitted(t, &s, l, noon.Add(time.Hour), two, "d", "The next may start in 1m0s")
	admitted(t, &s, AdmissionLimits{}, noon.Add(time.Hour), two, "d", "") // without limits
}

// TestStorm: of a thousand simultaneous calls, no more are admitted than may work at once.
func TestStorm(t *testing.T) {
	var s Subagents
	var passed atomic.Int32
	var calls sync.WaitGroup
	for range 1000 {
		calls.Go(func() {
			if s.Admit(one, "", both, AdmissionLimits{AtOnce: 20, PerHour: 200}, noon) == "" {
				passed.Add(1)
			}
		})
	}
	calls.Wait()
	if n := passed.Load(); n != 20 {
		t.Errorf("%d were admitted at once, want 20", n)
	}
}
