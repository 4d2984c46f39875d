package supervisor

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

var lifecycleNoon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// silent is a probe of a process that runs a turn and shows no activity.
func silent(at time.Time) Probe {
	return Probe{Result: bridge.ProbeResult{SilentMS: LifecycleSilence.Milliseconds()}, At: at, Busy: true, Silence: LifecycleSilence}
}

func TestObserve(t *testing.T) {
	before := AgentWatch{At: lifecycleNoon.Add(-time.Minute), Quiet: 2, Hung: true}
	if w := Observe(before, silent(lifecycleNoon)); w.Quiet != 3 || !w.Hung || !w.At.Equal(lifecycleNoon) {
		t.Errorf("no sign of life: %+v", w)
	}
	for name, change := range map[string]func(*AgentWatch, *Probe){
		"no turn":       func(_ *AgentWatch, p *Probe) { p.Busy = false },
		"first probe":   func(w *AgentWatch, _ *Probe) { w.At = time.Time{} },
		"just woken":    func(w *AgentWatch, _ *Probe) { *w = Woken(*w, lifecycleNoon); w.At = lifecycleNoon.Add(-time.Minute) },
		"an answer":     func(_ *AgentWatch, p *Probe) { p.Result.Answered = true },
		"output":        func(_ *AgentWatch, p *Probe) { p.Result.SilentMS-- },
		"a transcript":  func(_ *AgentWatch, p *Probe) { p.Result.TranscriptBytes = 1 },
		"a task's file": func(_ *AgentWatch, p *Probe) { p.Result.OutputBytes = 1 },
		"CPU":           func(_ *AgentWatch, p *Probe) { p.Result.CPUMS = 1200 },
		"another group": func(w *AgentWatch, _ *Probe) { w.Last.CPUMS = 1 },
		"SIGSTOP":       func(_ *AgentWatch, p *Probe) { p.Result.Stopped = true },
	} {
		w, p := before, silent(lifecycleNoon)
		change(&w, &p)
		if w = Observe(w, p); w.Quiet != 0 || w.Hung || w.Stopped != p.Result.Stopped {
			t.Errorf("%s: %+v", name, w)
		}
	}
}

func TestGuard(t *testing.T) {
	limits := ResourceLimits{Memory: 1000, Output: 1000}
	w, warnings, exceeded := GuardContext(AgentWatch{},
		bridge.ProbeResult{RSSBytes: 750, OutputBytes: 999, OutputPath: "/t"}, limits)
	if want := []string{"750 B of 1000 B memory", "999 B of 1000 B task output (/t)"}; exceeded != "" ||
		!slices.Equal(warnings, want) {
		t.Errorf("warned of %q, exceeded %q", warnings, exceeded)
	}
	warned := slices.Clone(w.Warned)
	again, warnings, _ := GuardContext(w, bridge.ProbeResult{RSSBytes: 800}, limits)
	if len(warnings) > 0 || !slices.Equal(again.Warned, []string{"memory"}) || !slices.Equal(w.Warned, warned) {
		t.Errorf("warned again of %q, known %q, before %q", warnings, again.Warned, w.Warned)
	}
	if _, _, exceeded = GuardContext(w, bridge.ProbeResult{RSSBytes: 1000, OutputBytes: 2000},
		limits); exceeded != "1000 B of memory, at most 1000 B" {
		t.Errorf("exceeded: %q", exceeded)
	}
	if _, warnings, exceeded = GuardContext(w, bridge.ProbeResult{RSSBytes: 1 << 40}, ResourceLimits{}); exceeded != "" ||
		warnings != nil {
		t.Errorf("without limits: %q, %q", warnings, exceeded)
	}
}

func TestInterruptedTurns(t *testing.T) {
	a := Agent{}
	for status, want := range map[AgentStatus]bool{AgentBusy: true, AgentRestarting: true, AgentDown: false,
		AgentReady: false} {
		if a.Status = status; MidTurn(&a) != want {
			t.Errorf("%s: %v", status, !want)
		}
	}
	if a.Status, a.Turn = AgentDown, []string{"m"}; !MidTurn(&a) {
		t.Error("a turn that another process goes on with is under way")
	}
	call := &RunningTool{Tool: "Bash"}
	a.ToolCall = call
	if MarkCut(&a); !a.ToolCall.Cut || call.Cut {
		t.Error("the call is marked in a copy")
	}
	for input, want := range map[string]string{`{"command":"make\nall","path":"x"}`: "make", `{"path":""}`: "",
		`{"url":7}`: "", `[]`: ""} {
		testkit.Same(t, input, want, ToolSubject(json.RawMessage(input)))
	}
}

func TestFailures(t *testing.T) {
	for message, want := range map[string]runconfig.RestartClass{"fork: resource temporarily unavailable": runconfig.RestartCrash,
		"no such file": runconfig.CouldNotStart} {
		testkit.Same(t, message, want, StartClass(bridge.CatStart, message))
	}
	testkit.Same(t, "a refused history", runconfig.InvalidResume, StartClass(bridge.CatResume, "too many open files"))
	if AffectsAllAgents(bridge.CatStart) || !IsEnvironmental(bridge.CatStart) || !AffectsAllAgents(bridge.CatAuth) {
		t.Error("a start fails for one agent, a login for all")
	}
	for r, want := range map[bridge.Retry]bridge.Category{{Status: 529}: bridge.CatOverloaded,
		{Status: 429}: bridge.CatRateLimit, {Status: 500}: bridge.CatServer} {
		testkit.Same(t, r.Status, want, RetryCategory(r))
	}
	if got := ExitText(bridge.Exit{Signal: "KILL", Stderr: "oops"}); got != "signal: KILL; oops" {
		t.Error(got)
	}
	if got := RecoveryOptions(bridge.CatCredit, RoleArbiter); len(got) != 1 || !strings.Contains(got[0], "add credit") {
		t.Errorf("without credit: %q", got)
	}
	if got := RecoveryOptions(bridge.CatCrash, RoleOrchestrator); !slices.Equal(got,
		[]string{"retry", "skip", "cancel"}) {
		t.Error(got)
	}
}

func TestLimits(t *testing.T) {
	for pct, want := range map[float64]string{69: "", 70: AgentLevelWarn, 85: LevelCritical} {
		if got := ContextLevel(bridge.Context{Window: 1, Pct: pct}, 70, 85); got != want {
			t.Errorf("%v %%: %q, want %q", pct, got, want)
		}
	}
	testkit.Same(t, "an unknown window", "", ContextLevel(bridge.Context{Pct: 99}, 70, 85))
	a := Agent{}
	if a.Turns = 3; ReachedLimit(&a, agents.Limits{MaxTurns: 4, MaxCostUSD: 1}) != "" ||
		ReachedLimit(&a, agents.Limits{MaxTurns: 3}) == "" {
		t.Error("the third of three turns reaches the limit")
	}
	if a.CostUSD = 1; ReachedLimit(&a, agents.Limits{MaxCostUSD: 1}) == "" {
		t.Error("a dollar reaches the limit of one")
	}
	for failures, want := range map[int]time.Duration{1: time.Second, 2: 4 * time.Second, 4: 16 * time.Second} {
		if got := RetryDelay(failures, time.Second, 10*time.Second); got != want {
			t.Errorf("after %d failures: %s, want %s", failures, got, want)
		}
	}
}

var start = time.Unix(1_800_000_000, 0)

// collect returns the effects of f at a time after the start, without events.
func collect(after time.Duration, f func(*input.Collector)) (list []input.Effect) {
	c := input.Collector{Now: start.Add(after)}
	f(&c)
	for _, e := range c.Effects() {
		if _, event := e.(input.Emit); !event {
			list = append(list, e)
		}
	}
	return list
}

func (s *LifecycleState) lost(host string) (was bool) {
	collect(0, func(c *input.Collector) { was = s.Lost(c, host, "it ended", time.Time{}) })
	return was
}

func (s *LifecycleState) back(host string, claude bridge.ClaudeInfo) (is bool) {
	collect(0, func(c *input.Collector) { is = s.Back(c, host, claude, "/d", 0) })
	return is
}

// TestABridgeThatIsLostBeforeItsStartWasTold: it does not count as up.
func TestABridgeThatIsLostBeforeItsStartWasTold(t *testing.T) {
	var s LifecycleState
	s.Start(bridge.ClaudeInfo{})
	s.lost(LifecycleHere)
	collect(0, func(c *input.Collector) { s.Due(c, LifecycleHere) })
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
		collect(time.Duration(n)*time.Second, func(c *input.Collector) {
			starts = s.Retry(c, LifecycleHere, runconfig.DefaultRestarts(), "seed", "no").Starts()
		})
		if !starts {
			break
		}
	}
	if p := runconfig.DefaultRestarts(); n != min(p.Streak, p.Intensity)-1 {
		t.Errorf("given up after %d retries", n)
	}
	collect(time.Minute, func(c *input.Collector) {
		if !s.Retry(c, "box", runconfig.DefaultRestarts(), "seed", "no").Starts() {
			t.Error("another host is given up for the bridge of this one")
		}
	})
}

// statusesLifecycle are the statuses in `host` events.
func statusesLifecycle(f func(*input.Collector)) (list []string) {
	c := input.Collector{Now: start}
	f(&c)
	for _, e := range c.Effects() {
		if emit, ok := e.(input.Emit); ok {
			if h, ok := emit.Event.Body.(contract.Host); ok {
				list = append(list, h.Name+" "+h.Status)
			}
		}
	}
	return list
}

// TestNothingStartsBeforeTheLeaseIsOver: neither after a loss, nor in another process of Arbiter.
func TestNothingStartsBeforeTheLeaseIsOver(t *testing.T) {
	var s LifecycleState
	s.Start(bridge.ClaudeInfo{})
	s.back("box", bridge.ClaudeInfo{})
	got := collect(0, func(c *input.Collector) {
		s.Lost(c, "box", "reset", start.Add(time.Minute))
		s.Retry(c, "box", runconfig.DefaultRestarts(), "seed", "reset")
	})
	if set, ok := got[0].(input.SetTimer); len(got) != 1 || !ok || set.After != time.Minute {
		t.Errorf("after a loss: %v", got)
	}
	s.back("gpu", bridge.ClaudeInfo{})
	if left := s.MayStillRun(); !slices.Equal(left, []string{"box", "gpu"}) {
		t.Errorf("may still run: %v", left)
	}
	s.Resume(bridge.ClaudeInfo{}, start, time.Minute, []string{"gpu"})
	got = collect(0, func(c *input.Collector) { s.Want(c, "box"); s.Want(c, "gpu"); s.Want(c, "new") })
	want := []input.Effect{input.SetTimer{Key: "restart/bridge/box", After: time.Minute + leaseGrace},
		input.OpenBridge{Host: "gpu"}, // it was fenced
		input.OpenBridge{Host: "new"}}
	testkit.Same(t, "", want, got)
}

// TestAParkedHostWaitsForAHuman: neither a timer nor an agent causes a retry.
func TestAParkedHostWaitsForAHuman(t *testing.T) {
	var s LifecycleState
	s.Start(bridge.ClaudeInfo{})
	got := statusesLifecycle(func(c *input.Collector) {
		s.Want(c, "box")
		s.Park(c, "box", "permission denied")
	})
	testkit.Same(t, "", []string{"box waiting", "box down"}, got)
	if got := collect(0, func(c *input.Collector) { s.Want(c, "box"); s.Due(c, "box") }); len(got) != 0 {
		t.Errorf("tried again: %v", got)
	}
	if got := s.Retriable(); !cmp.Equal(got, []string{"box"}) || s.Bridge("box").Reason != "permission denied" {
		t.Errorf("parked: %v, %+v", got, s.Bridge("box"))
	}
	got2 := collect(0, func(c *input.Collector) {
		if !s.RetryNow(c, "box") || s.RetryNow(c, "box") {
			t.Error("it is parked once")
		}
	})
	want := []input.Effect{input.SetTimer{Key: "restart/bridge/box"}, input.OpenBridge{Host: "box"}}
	testkit.Same(t, "", want, got2)
}
