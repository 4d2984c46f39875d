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

// TestAtOnce: all agents share the limit. A subagent frees its slot when it ends, when its call is answered, at
// the end of the turn, and when its agent has another process.
func TestAtOnce(t *testing.T) {
	var s Subagents
	l := AdmissionLimits{AtOnce: 2}
	full := "2 subagents already at work, which is the limit (--max-subagents)"
	admitted(t, &s, l, noon, one, "a", "")
	admitted(t, &s, l, noon, one, "a", "") // the same call
	admitted(t, &s, l, noon, two, "b", "")
	admitted(t, &s, l, noon, two, "c", full)
	s.Take(bridge.Event{AgentRef: one, Body: bridge.SubagentStop{ToolUse: "b"}}) // another agent's
	admitted(t, &s, l, noon, two, "c", full)
	s.Take(bridge.Event{AgentRef: two, Body: bridge.SubagentStop{ToolUse: "b"}})
	admitted(t, &s, l, noon, two, "c", "")
	s.Take(bridge.Event{AgentRef: one, Body: bridge.ToolResult{ToolUse: "a"}})
	admitted(t, &s, l, noon, two, "d", "")
	admitted(t, &s, l, noon, one, "e", full)
	s.Take(bridge.Event{AgentRef: two, Body: bridge.Turn{}})
	admitted(t, &s, l, noon, one, "e", "")
	admitted(t, &s, l, noon, one, "f", "")
	if why := s.Admit(two, "g", []bridge.AgentRef{{ID: "orch-1", Generation: 2}, two}, l, noon); why != "" {
		t.Errorf("subagents of a process that ended count: %s", why)
	}
}

// TestPerHour counts all subagents that were started within the last hour, whatever happened to them.
func TestPerHour(t *testing.T) {
	var s Subagents
	l := AdmissionLimits{AtOnce: 9, PerHour: 2}
	for i, name := range []string{"a", "b"} {
		admitted(t, &s, l, noon.Add(time.Duration(i)*time.Minute), one, name, "")
		s.Take(bridge.Event{AgentRef: one, Body: bridge.SubagentStop{ToolUse: name}})
	}
	admitted(t, &s, l, noon.Add(20*time.Minute), two, "c", "the next may start in 40m0s")
	admitted(t, &s, l, noon.Add(time.Hour), two, "c", "")
	admitted(t, &s, l, noon.Add(time.Hour), two, "d", "the next may start in 1m0s")
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
