package supervisor

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
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

func TestReconcile(t *testing.T) {
	status := func(id, s string) bridge.DeliveryStatus { return bridge.DeliveryStatus{MessageID: id, Status: s} }
	for _, c := range []struct {
		name       string
		history    []bridge.DeliveryStatus
		end        TurnEnd
		over, open []string
		ruled      string
	}{
		{name: "no history", open: []string{"a", "b"}},
		{"seen", []bridge.DeliveryStatus{status("a", bridge.DeliverySeen)}, TurnUnanswered, []string{"a"},
			[]string{"b"}, ""},
		{"begun, then seen",
			[]bridge.DeliveryStatus{status("a", bridge.DeliveryBegun), status("b", bridge.DeliverySeen)}, LifecycleTurnCutOff,
			[]string{"a", "b"}, nil, ""},
		{"ruled", []bridge.DeliveryStatus{status("a", bridge.DeliverySeen), status("b", bridge.DeliveryRuled)},
			TurnFinished, []string{"a", "b"}, nil, "b"},
		{"ruled, then begun",
			[]bridge.DeliveryStatus{status("a", bridge.DeliveryRuled), status("b", bridge.DeliveryEnded)}, LifecycleTurnCutOff,
			[]string{"a", "b"}, nil, "a"},
	} {
		l := Reconcile([]string{"a", "b"}, c.history)
		ruled := ""
		if l.Ruled != nil {
			ruled = l.Ruled.MessageID
		}
		if l.End != c.end || !slices.Equal(l.Over, c.over) || !slices.Equal(l.Open, c.open) || ruled != c.ruled {
			t.Errorf("%s: %+v, ruled %q", c.name, l, ruled)
		}
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
		if got := ToolSubject(json.RawMessage(input)); got != want {
			t.Errorf("%s: %q, want %q", input, got, want)
		}
	}
}

func TestFailures(t *testing.T) {
	for message, want := range map[string]runconfig.RestartClass{"fork: resource temporarily unavailable": runconfig.RestartCrash,
		"no such file": runconfig.CouldNotStart} {
		if got := StartClass(bridge.CatStart, message); got != want {
			t.Errorf("%s: %s, want %s", message, got, want)
		}
	}
	if got := StartClass(bridge.CatResume, "too many open files"); got != runconfig.InvalidResume {
		t.Errorf("a refused history: %s", got)
	}
	if AffectsAllAgents(bridge.CatStart) || !IsEnvironmental(bridge.CatStart) || !AffectsAllAgents(bridge.CatAuth) {
		t.Error("a start fails for one agent, a login for all")
	}
	for r, want := range map[bridge.Retry]bridge.Category{{Status: 529}: bridge.CatOverloaded,
		{Status: 429}: bridge.CatRateLimit, {Status: 500}: bridge.CatServer} {
		if got := RetryCategory(r); got != want {
			t.Errorf("%d: %s, want %s", r.Status, got, want)
		}
	}
	if got := ExitText(bridge.Exit{Signal: "KILL", Stderr: "oops"}); got != "signal: KILL; oops" {
		t.Error(got)
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
	if got := ContextLevel(bridge.Context{Pct: 99}, 70, 85); got != "" {
		t.Errorf("an unknown window: %q", got)
	}
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
