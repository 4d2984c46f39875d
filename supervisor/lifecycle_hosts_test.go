package supervisor

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// statusesLifecycle are the statuses in `host` events.
func statusesLifecycle(f func(*effect.Collector)) (list []string) {
	c := effect.Collector{Now: start}
	f(&c)
	for _, e := range c.Effects() {
		if emit, ok := e.(effect.Emit); ok {
			if h, ok := emit.Event.Body.(contract.Host); ok {
				list = append(list, h.Name+" "+h.Status)
			}
		}
	}
	return list
}

// TestAHostIsOpenedForItsFirstAgent: once, however many follow; each change is reported.
func TestAHostIsOpenedForItsFirstAgent(t *testing.T) {
	var s LifecycleState
	s.Start(bridge.ClaudeInfo{})
	want := func(c *effect.Collector) { s.Want(c, "box") }
	if diff := cmp.Diff([]effect.Effect{effect.OpenBridge{Host: "box"}}, collect(0, want)); diff != "" {
		t.Error(diff)
	}
	if got := collect(0, want); len(got) != 0 {
		t.Errorf("for the second agent: %v", got)
	}
	got := statusesLifecycle(func(c *effect.Collector) {
		s.Back(c, "box", bridge.ClaudeInfo{}, "/d")
		s.Want(c, "box")
		s.Lost(c, "box", "reset", time.Time{})
		s.Retry(c, "box", runconfig.DefaultRestarts(), "seed", "reset")
		s.Due(c, "box")
		s.Back(c, "box", bridge.ClaudeInfo{}, "/d")
	})
	if diff := cmp.Diff([]string{"box up", "box lost", "box waiting", "box up"}, got); diff != "" {
		t.Error(diff)
	}
	if !s.IsUp(LifecycleHere) {
		t.Error("this host is lost with another")
	}
}

// TestNothingStartsBeforeTheLeaseIsOver: neither after a loss, nor in another process of Arbiter.
func TestNothingStartsBeforeTheLeaseIsOver(t *testing.T) {
	var s LifecycleState
	s.Start(bridge.ClaudeInfo{})
	s.back("box", bridge.ClaudeInfo{})
	got := collect(0, func(c *effect.Collector) {
		s.Lost(c, "box", "reset", start.Add(time.Minute))
		s.Retry(c, "box", runconfig.DefaultRestarts(), "seed", "reset")
	})
	if set, ok := got[0].(effect.SetTimer); len(got) != 1 || !ok || set.After != time.Minute {
		t.Errorf("after a loss: %v", got)
	}
	s.back("gpu", bridge.ClaudeInfo{})
	if left := s.MayStillRun(); !slices.Equal(left, []string{"box", "gpu"}) {
		t.Errorf("may still run: %v", left)
	}
	s.Resume(bridge.ClaudeInfo{}, start, time.Minute, []string{"gpu"})
	got = collect(0, func(c *effect.Collector) { s.Want(c, "box"); s.Want(c, "gpu"); s.Want(c, "new") })
	want := []effect.Effect{effect.SetTimer{Key: "restart/bridge/box", After: time.Minute + leaseGrace},
		effect.OpenBridge{Host: "gpu"}, // it was fenced
		effect.OpenBridge{Host: "new"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestAParkedHostWaitsForAHuman: neither a timer nor an agent causes a retry.
func TestAParkedHostWaitsForAHuman(t *testing.T) {
	var s LifecycleState
	s.Start(bridge.ClaudeInfo{})
	got := statusesLifecycle(func(c *effect.Collector) {
		s.Want(c, "box")
		s.Park(c, "box", "permission denied")
	})
	if diff := cmp.Diff([]string{"box waiting", "box down"}, got); diff != "" {
		t.Error(diff)
	}
	if got := collect(0, func(c *effect.Collector) { s.Want(c, "box"); s.Due(c, "box") }); len(got) != 0 {
		t.Errorf("tried again: %v", got)
	}
	if got := s.Parked(); !cmp.Equal(got, []string{"box"}) || s.Bridge("box").Reason != "permission denied" {
		t.Errorf("parked: %v, %+v", got, s.Bridge("box"))
	}
	got2 := collect(0, func(c *effect.Collector) {
		if !s.Unpark(c, "box") || s.Unpark(c, "box") {
			t.Error("it is parked once")
		}
	})
	if diff := cmp.Diff([]effect.Effect{effect.OpenBridge{Host: "box"}}, got2); diff != "" {
		t.Error(diff)
	}
}
