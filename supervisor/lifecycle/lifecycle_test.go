package lifecycle

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/restart"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// silent is a probe of a process that runs a turn and shows no activity.
func silent(at time.Time) Probe {
	return Probe{Result: bridge.ProbeResult{SilentMS: Silence.Milliseconds()}, At: at, Busy: true, Silence: Silence}
}

func TestObserve(t *testing.T) {
	before := roster.Watch{At: noon.Add(-time.Minute), Quiet: 2, Hung: true}
	if w := Observe(before, silent(noon)); w.Quiet != 3 || !w.Hung || !w.At.Equal(noon) {
		t.Errorf("no sign of life: %+v", w)
	}
	for name, change := range map[string]func(*roster.Watch, *Probe){
		"no turn":       func(_ *roster.Watch, p *Probe) { p.Busy = false },
		"first probe":   func(w *roster.Watch, _ *Probe) { w.At = time.Time{} },
		"just woken":    func(w *roster.Watch, _ *Probe) { *w = Woken(*w, noon); w.At = noon.Add(-time.Minute) },
		"an answer":     func(_ *roster.Watch, p *Probe) { p.Result.Answered = true },
		"output":        func(_ *roster.Watch, p *Probe) { p.Result.SilentMS-- },
		"a transcript":  func(_ *roster.Watch, p *Probe) { p.Result.TranscriptBytes = 1 },
		"a task's file": func(_ *roster.Watch, p *Probe) { p.Result.OutputBytes = 1 },
		"CPU":           func(_ *roster.Watch, p *Probe) { p.Result.CPUMS = 1200 },
		"another group": func(w *roster.Watch, _ *Probe) { w.Last.CPUMS = 1 },
		"SIGSTOP":       func(_ *roster.Watch, p *Probe) { p.Result.Stopped = true },
	} {
		w, p := before, silent(noon)
		change(&w, &p)
		if w = Observe(w, p); w.Quiet != 0 || w.Hung || w.Stopped != p.Result.Stopped {
			t.Errorf("%s: %+v", name, w)
		}
	}
}

func TestGuard(t *testing.T) {
	limits := ResourceLimits{Memory: 1000, Output: 1000}
	w, warnings, exceeded := Guard(roster.Watch{},
		bridge.ProbeResult{RSSBytes: 750, OutputBytes: 999, OutputPath: "/t"}, limits)
	if want := []string{"750 B of 1000 B memory", "999 B of 1000 B task output (/t)"}; exceeded != "" ||
		!slices.Equal(warnings, want) {
		t.Errorf("warned of %q, exceeded %q", warnings, exceeded)
	}
	warned := slices.Clone(w.Warned)
	again, warnings, _ := Guard(w, bridge.ProbeResult{RSSBytes: 800}, limits)
	if len(warnings) > 0 || !slices.Equal(again.Warned, []string{"memory"}) || !slices.Equal(w.Warned, warned) {
		t.Errorf("warned again of %q, known %q, before %q", warnings, again.Warned, w.Warned)
	}
	if _, _, exceeded = Guard(w, bridge.ProbeResult{RSSBytes: 1000, OutputBytes: 2000},
		limits); exceeded != "1000 B of memory, at most 1000 B" {
		t.Errorf("exceeded: %q", exceeded)
	}
	if _, warnings, exceeded = Guard(w, bridge.ProbeResult{RSSBytes: 1 << 40}, ResourceLimits{}); exceeded != "" ||
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
			[]bridge.DeliveryStatus{status("a", bridge.DeliveryBegun), status("b", bridge.DeliverySeen)}, TurnCutOff,
			[]string{"a", "b"}, nil, ""},
		{"ruled", []bridge.DeliveryStatus{status("a", bridge.DeliverySeen), status("b", bridge.DeliveryRuled)},
			TurnFinished, []string{"a", "b"}, nil, "b"},
		{"ruled, then begun",
			[]bridge.DeliveryStatus{status("a", bridge.DeliveryRuled), status("b", bridge.DeliveryEnded)}, TurnCutOff,
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
	a := roster.Agent{}
	for status, want := range map[roster.Status]bool{roster.Busy: true, roster.Restarting: true, roster.Down: false,
		roster.Ready: false} {
		if a.Status = status; MidTurn(&a) != want {
			t.Errorf("%s: %v", status, !want)
		}
	}
	if a.Status, a.Turn = roster.Down, []string{"m"}; !MidTurn(&a) {
		t.Error("a turn that another process goes on with is under way")
	}
	call := &roster.RunningTool{Tool: "Bash"}
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
	for message, want := range map[string]restart.Class{"fork: resource temporarily unavailable": restart.Crash,
		"no such file": restart.CouldNotStart} {
		if got := StartClass(bridge.CatStart, message); got != want {
			t.Errorf("%s: %s, want %s", message, got, want)
		}
	}
	if got := StartClass(bridge.CatResume, "too many open files"); got != restart.InvalidResume {
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
	if got := RecoveryOptions(bridge.CatCrash, roster.RoleOrchestrator); !slices.Equal(got,
		[]string{"retry", "skip", "cancel"}) {
		t.Error(got)
	}
}

func TestLimits(t *testing.T) {
	for pct, want := range map[float64]string{69: "", 70: roster.LevelWarn, 85: roster.LevelCritical} {
		if got := ContextLevel(bridge.Context{Window: 1, Pct: pct}, 70, 85); got != want {
			t.Errorf("%v %%: %q, want %q", pct, got, want)
		}
	}
	if got := ContextLevel(bridge.Context{Pct: 99}, 70, 85); got != "" {
		t.Errorf("an unknown window: %q", got)
	}
	a := roster.Agent{}
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
