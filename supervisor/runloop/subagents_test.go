package runloop

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// subagentCall is a call that starts a subagent.
func subagentCall(n int) bridge.JudgeParams {
	p := toolClasses["agent"]
	p.ToolUse = fmt.Sprintf("toolu_%d", n)
	return p
}

// TestSubagentsAreBounded: with any rules, the number of subagents is bounded, at once until one ends, and
// within an hour. Denied calls do not count.
func TestSubagentsAreBounded(t *testing.T) {
	l := court(t, runconfig.Options{Permissions: "allow-all", Deny: []string{"Agent(forbidden)"}},
		func(s *supervisor.State) {
			s.Options.MaxSubagents, s.Options.MaxSubagentsPerHour, s.Options.MaxSubagentsTotal = 2, 4, 5
		})
	calls := 0
	call := func(want, reason string) {
		t.Helper()
		calls++
		r, f := judgement(t, l, "orch-1", subagentCall(calls))
		if got := r.Behavior + " " + f.By; got != want || !strings.Contains(f.Reason, reason) {
			t.Errorf("call %d: %s (%s), want %s", calls, got, f.Reason, want)
		}
		if r.Behavior == bridge.Deny && !strings.Contains(r.Message, reason) {
			t.Errorf("call %d: the agent reads %q", calls, r.Message)
		}
	}
	denied := toolClasses["agent"]
	denied.Input = []byte(`{"description":"d","prompt":"p","subagent_type":"forbidden"}`)
	for range 5 {
		if r, f := judgement(t, l, "orch-1", denied); r.Behavior != bridge.Deny || f.By != contract.ByRule {
			t.Errorf("%+v by %s", r, f.By)
		}
	}
	ref := bridge.AgentRef{ID: "orch-1", Generation: 2}
	call("pass ", "")
	call("pass ", "")
	call("deny limit", "--max-subagents")
	l.Event(bridge.Event{AgentRef: ref, Body: bridge.SubagentStop{ToolUse: "toolu_1"}})
	<-l.inbox
	call("pass ", "")
	call("deny limit", "--max-subagents")
	l.Event(bridge.Event{AgentRef: ref, Body: bridge.Turn{}})
	<-l.inbox
	call("pass ", "")
	call("deny limit", "--max-subagents-per-hour")
	if r, _ := judgement(t, l, "orch-1", bashCall("make")); r.Behavior != bridge.Pass {
		t.Errorf("another tool: %+v", r)
	}
}

// TestNoSubagentPastALimit: when a cost limit is reached, running turns continue to their end, and start no
// subagents.
func TestNoSubagentPastALimit(t *testing.T) {
	l := court(t, runconfig.Options{Permissions: "allow-all"}, func(s *supervisor.State) {
		s.Options.MaxCostUSD, s.Budget.CostUSD = 2, 2.5
	})
	if r, f := judgement(t, l, "orch-1", subagentCall(1)); r.Behavior != bridge.Deny || f.By != contract.ByLimit ||
		!strings.Contains(r.Message, "--max-cost") {
		t.Errorf("%+v by %s", r, f.By)
	}
}

// TestSubagentsOfTheHourCountAfterAResume: subagents that a run started before it was resumed count against its
// limit.
func TestSubagentsOfTheHourCountAfterAResume(t *testing.T) {
	l := court(t, runconfig.Options{Permissions: "allow-all"}, func(s *supervisor.State) {
		s.Options.MaxSubagents, s.Options.MaxSubagentsPerHour = 9, 3
		now := time.Now()
		s.Budget.SubagentStarts = []time.Time{now.Add(-2 * time.Hour), now.Add(-2 * time.Minute), now.Add(-time.Minute)}
	})
	for n, want := range []string{bridge.Pass, bridge.Deny} {
		r, f := judgement(t, l, "orch-1", subagentCall(n))
		if r.Behavior != want || want == bridge.Deny && !strings.Contains(r.Message, "--max-subagents-per-hour") {
			t.Errorf("call %d: %+v by %s, want %s", n, r, f.By, want)
		}
	}
}

// TestSubagentsOfTheRunCountAfterAResume: however a run was interrupted, it does not start more subagents than it may.
func TestSubagentsOfTheRunCountAfterAResume(t *testing.T) {
	l := court(t, runconfig.Options{Permissions: "allow-all"}, func(s *supervisor.State) {
		s.Options.MaxSubagents, s.Options.MaxSubagentsTotal, s.Budget.Subagents = 9, 3, 2
	})
	for n, want := range []string{bridge.Pass, bridge.Deny} {
		r, f := judgement(t, l, "orch-1", subagentCall(n))
		if r.Behavior != want || want == bridge.Deny && !strings.Contains(r.Message, "--max-subagents-total") {
			t.Errorf("call %d: %+v by %s, want %s", n, r, f.By, want)
		}
	}
}
