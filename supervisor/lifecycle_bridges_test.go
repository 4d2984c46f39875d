package supervisor

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

var start = time.Unix(1_800_000_000, 0)

// collect returns the effects of f at a time after the start, without events.
func collect(after time.Duration, f func(*effect.Collector)) (list []effect.Effect) {
	c := effect.Collector{Now: start.Add(after)}
	f(&c)
	for _, e := range c.Effects() {
		if _, event := e.(effect.Emit); !event {
			list = append(list, e)
		}
	}
	return list
}

func (s *LifecycleState) lost(host string) (was bool) {
	collect(0, func(c *effect.Collector) { was = s.Lost(c, host, "it ended", time.Time{}) })
	return was
}

func (s *LifecycleState) back(host string, claude bridge.ClaudeInfo) (is bool) {
	collect(0, func(c *effect.Collector) { is = s.Back(c, host, claude, "/d") })
	return is
}

// TestABridgeFollowsALostOne: on the host where it was lost; nothing changes elsewhere or in earlier states.
func TestABridgeFollowsALostOne(t *testing.T) {
	var s LifecycleState
	s.Start(bridge.ClaudeInfo{Version: "2"})
	before := s
	if !s.lost(LifecycleHere) || s.IsUp(LifecycleHere) || !before.IsUp(LifecycleHere) {
		t.Errorf("lost: %+v, before: %+v", s.Bridges, before.Bridges)
	}
	got := collect(0, func(c *effect.Collector) {
		if d := s.Retry(c, LifecycleHere, runconfig.DefaultRestarts(), "seed", "it ended"); !d.Starts() {
			t.Errorf("after one loss: %+v", d)
		}
	})
	if set, ok := got[0].(effect.SetTimer); len(got) != 1 || !ok || set.Key != "restart/bridge" || set.After <= 0 {
		t.Errorf("after the loss: %+v", got)
	}
	got = collect(time.Second, func(c *effect.Collector) { s.Due(c, LifecycleHere) })
	if diff := cmp.Diff([]effect.Effect{effect.OpenBridge{}}, got); diff != "" {
		t.Error(diff)
	}
	if !s.back(LifecycleHere, bridge.ClaudeInfo{Version: "3"}) || !s.IsUp(LifecycleHere) || s.Claude().Version != "3" {
		t.Errorf("back: %+v", s.Bridges)
	}
	if got = collect(time.Second, func(c *effect.Collector) { s.Due(c, LifecycleHere) }); len(got) != 0 {
		t.Errorf("a second bridge is opened: %v", got)
	}
}

// TestABridgeThatIsLostBeforeItsStartWasTold: it does not count as up.
func TestABridgeThatIsLostBeforeItsStartWasTold(t *testing.T) {
	var s LifecycleState
	s.Start(bridge.ClaudeInfo{})
	s.lost(LifecycleHere)
	if s.lost(LifecycleHere) || s.back(LifecycleHere, bridge.ClaudeInfo{}) || s.IsUp(LifecycleHere) {
		t.Errorf("%+v", s.Bridges)
	}
	if !s.back(LifecycleHere, bridge.ClaudeInfo{}) {
		t.Error("the next one is up")
	}
}

// TestRetriesEnd: retries for a bridge that is lost again and again end, whatever other bridges do.
func TestRetriesEnd(t *testing.T) {
	var s LifecycleState
	n := 0
	for ; n < 20; n++ {
		starts := false
		collect(time.Duration(n)*time.Second, func(c *effect.Collector) {
			starts = s.Retry(c, "box", runconfig.DefaultRestarts(), "seed", "no").Starts()
		})
		if !starts {
			break
		}
	}
	if p := runconfig.DefaultRestarts(); n != min(p.Streak, p.Intensity)-1 {
		t.Errorf("given up after %d retries", n)
	}
	collect(time.Minute, func(c *effect.Collector) {
		if !s.Retry(c, LifecycleHere, runconfig.DefaultRestarts(), "seed", "no").Starts() {
			t.Error("the bridge of this host is given up for that of another")
		}
	})
}

// TestAMuteBridgeIsDropped: after three unanswered rounds of probes in a row; agents that are probed together
// are one round.
func TestAMuteBridgeIsDropped(t *testing.T) {
	var s LifecycleState
	s.Start(bridge.ClaudeInfo{})
	const every = 30 * time.Second
	probe := func(n int, together time.Duration) []effect.Effect {
		return collect(time.Duration(n)*every+together, func(c *effect.Collector) { s.Unanswered(c, LifecycleHere, every) })
	}
	for n := range 2 {
		if got := append(probe(n, 0), probe(n, time.Second)...); len(got) != 0 {
			t.Errorf("round %d: %v", n, got)
		}
	}
	s.Answered(LifecycleHere)
	for n := 2; n < 4; n++ {
		if got := probe(n, 0); len(got) != 0 {
			t.Errorf("round %d, after an answer: %v", n, got)
		}
	}
	if diff := cmp.Diff([]effect.Effect{effect.DropBridge{}}, probe(4, 0)); diff != "" {
		t.Error(diff)
	}
}

func TestTimersNameTheirHost(t *testing.T) {
	for _, host := range []string{LifecycleHere, "box", "gpu-1"} {
		if got, ok := TimerHost(LifecycleTimerKey(host)[len(LifecycleTimerPrefix):]); !ok || got != host {
			t.Errorf("%q: %q, %v", host, got, ok)
		}
	}
	if host, ok := TimerHost("orch-1/2"); ok {
		t.Errorf("an agent's timer is for the bridge of %q", host)
	}
}
