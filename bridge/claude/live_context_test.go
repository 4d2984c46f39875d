package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/hooks"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// The marks of the hooks' warnings to the model.
const (
	reportedWarn     = hooks.MarkContext + " warn"
	reportedCritical = hooks.MarkContext + " critical"
)

// all renders every request, in order.
func (a *api) all() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []string
	for _, req := range a.requests {
		data, _ := json.Marshal(req["messages"])
		all = append(all, string(data))
	}
	return all
}

// stageWith prepares an agent with hooks against a scripted model.
func stageWith(t *testing.T, spec bridge.ClaudeSpec, model *api) *stageOf {
	t.Helper()
	s := prepare(t, spec, model.env())
	s.cfg.Hooks = &bridge.HookConfig{Role: hooks.RoleOrchestrator, Warn: 70, Critical: 85}
	return s
}

// share is a usage of pct percent of a window.
func share(window int, pct float64) [3]int {
	n := int(float64(window)*pct/100) + 1
	return [3]int{3, n - 1003, 1000}
}

func touch(name string) []call { return []call{bash("touch " + name)} }

func dig() []call {
	return []call{{"Agent", map[string]any{"description": "dig", "prompt": "p", "subagent_type": "general-purpose"}}}
}

// TestLiveWarnings drives an agent through 69, 71 and 86 % of its effective window, with a subagent in
// between that uses more than the window holds. Each level is in the very next request, once; at every step
// the meter agrees with the CLI's own.
func TestLiveWarnings(t *testing.T) {
	realAtNight(t)
	for _, test := range []struct {
		model  string
		cap    int
		window int
	}{
		{"claude-sonnet-4-5", 0, 167_000},
		{"claude-opus-5-5", 300_000, 300_000},
		{"claude-opus-5-5", 0, 967_000},
	} {
		t.Run(fmt.Sprintf("%s to %d", test.model, test.window), func(t *testing.T) {
			players(t, func(t *testing.T, spec bridge.ClaudeSpec) { testWarnings(t, spec, test.model, test.cap, test.window) })
		})
	}
}

func testWarnings(t *testing.T, spec bridge.ClaudeSpec, name string, most, window int) {
	at := func(pct float64) [3]int { return share(window, pct) }
	model := startAPI(t,
		reply{tools: touch("a"), usage: at(69)},
		reply{tools: touch("b"), usage: at(71)}, // warn is due with its result: request 2 (from 0)
		reply{tools: dig(), usage: at(72)},
		reply{tools: touch("c"), usage: [3]int{1, 2, 900_000}}, // the subagent: request 3, 4
		reply{text: "dug", usage: [3]int{1, 2, 910_000}},
		reply{tools: touch("d"), usage: at(73)},
		reply{tools: touch("e"), usage: at(86)}, // critical is due: request 7
		reply{tools: touch("f"), usage: at(86.5)},
		reply{text: "end", usage: at(87)})
	s := stageWith(t, spec, model)
	s.cfg.Model, s.cfg.ContextCap = name, 77 // the model's own cap takes precedence
	s.cfg.ContextCaps = map[string]int{"claude-": 1, name: most}
	var differ []string
	s.host.permission = func(ctx context.Context, _ bridge.PermissionParams) (bridge.PermissionResult, error) {
		differ = append(differ, s.disagreement(ctx)...)
		return bridge.PermissionResult{Behavior: bridge.Allow}, nil
	}
	s.launch()
	if turn := s.turn("go"); turn.Text != "end" {
		t.Fatalf("turn: %+v", turn)
	}
	differ = append(differ, s.disagreement(context.Background())...)
	if len(differ) > 0 {
		t.Errorf("the meter is not the CLI's: %v", differ)
	}
	first, last := map[string]int{}, map[string]int{}
	for i, req := range model.all() {
		for _, mark := range []string{reportedWarn, reportedCritical} {
			n := strings.Count(req, mark)
			if _, ok := first[mark]; n > 0 && !ok {
				first[mark] = i
			}
			last[mark] = n
		}
	}
	testkit.Same(t, "first requests with a warning", map[string]int{reportedWarn: 2, reportedCritical: 7}, first)
	testkit.Same(t, "warnings in the last request", map[string]int{reportedWarn: 1, reportedCritical: 1}, last)
	var levels []string
	for _, w := range of[bridge.ContextWarning](s.host) {
		levels = append(levels, fmt.Sprintf("%s %.0f", w.Level, w.Pct))
	}
	testkit.Same(t, "events", []string{"warn 71", "critical 86"}, levels)
	for _, c := range of[bridge.Context](s.host) {
		if c.Pct > 88 || c.Window != window && c.Window != most {
			t.Errorf("reading: %+v", c)
		}
	}
	if n := of[bridge.Notice](s.host); len(n) > 0 {
		t.Errorf("notices: %+v", n)
	}
}

// disagreement compares the last reading with what the CLI reports.
func (s *stageOf) disagreement(ctx context.Context) []string {
	own, err := s.agent.Context(ctx)
	if err != nil {
		return []string{err.Error()}
	}
	got := of[bridge.Context](s.host)
	if len(got) == 0 {
		return []string{"no reading"}
	}
	if ours := got[len(got)-1]; ours.Tokens != own.Tokens || ours.Window != own.Window || ours.Pct != own.Pct {
		return []string{fmt.Sprintf("ours %+v, the CLI's %+v", ours, own)}
	}
	return nil
}

// TestLiveSubagentAccounting: a subagent's usage and cost are reported while it runs, and in the end all costs
// are accounted for.
func TestLiveSubagentAccounting(t *testing.T) {
	realAtNight(t)
	players(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		// A model takes some time: meanwhile the driver asks for the cost.
		begun, ended := make(chan struct{}), make(chan struct{})
		model := startAPI(t,
			reply{tools: dig(), usage: [3]int{3, 50_000, 1_000}},
			reply{tools: touch("c"), usage: [3]int{1, 2, 900_000}, hold: begun},
			reply{tools: []call{{"Read", map[string]any{"file_path": "/etc/hostname"}}}, usage: [3]int{1, 900_002, 1_000}},
			reply{text: "dug", usage: [3]int{1, 901_002, 2_000}},
			reply{text: "end", usage: [3]int{3, 51_000, 1_000}, hold: ended})
		s := stageWith(t, spec, model)
		s.launch()
		id := s.send("go")
		start := await[bridge.SubagentStart](s.host, 1, nil)
		for range 2 { // earlier questions are answered by then
			if _, err := s.agent.Context(context.Background()); err != nil {
				t.Error(err)
			}
		}
		close(begun)
		stop := await[bridge.SubagentStop](s.host, 1, nil)
		close(ended)
		turn := s.turnOf(id)
		got := of[bridge.SubagentProgress](s.host)
		if len(got) < 3 {
			t.Fatalf("progress:\n%s", s.host.dump())
		}
		seen := map[bridge.SubagentProgress]bool{}
		for i, p := range got {
			if p.ToolUse != start.ToolUse || p.Description != "dig" {
				t.Errorf("of whom: %+v", p)
			}
			if i > 0 && (p.ToolUses < got[i-1].ToolUses || p.CostUSD < got[i-1].CostUSD) {
				t.Errorf("it has shrunk: %+v after %+v", p, got[i-1])
			}
			p.DurationMS = 0
			if seen[p] {
				t.Errorf("nothing new: %+v", p)
			}
			seen[p] = true
		}
		final := got[len(got)-1]
		if final.ToolUses != 2 || final.LastTool != "Read" || final.Tokens < 903_003 || final.Tokens > 904_000 ||
			stop.Tokens > final.Tokens {
			t.Errorf("in the end: %+v, %+v", final, stop)
		}
		// Here the main thread's two calls are at most one hundredth of the turn's cost.
		if final.CostUSD <= 0.98*turn.CostUSD || final.CostUSD >= turn.CostUSD {
			t.Errorf("it cost %v of the turn's %v", final.CostUSD, turn.CostUSD)
		}
	})
}

// TestLiveMeterDuringFailures: after an interrupt, a change of model and an API failure the meter still
// agrees with the CLI.
func TestLiveMeterDuringFailures(t *testing.T) {
	realAtNight(t)
	inside(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		model := startAPI(t, reply{text: "one", usage: [3]int{3, 50_000, 0}},
			reply{text: strings.Repeat("slow ", 200), usage: [3]int{3, 60_000, 0}, pause: 20 * time.Millisecond})
		s := stageWith(t, spec, model)
		s.cfg.Partial = true
		s.launch()
		agree := func(when string) {
			t.Helper()
			await(s.host, 1, func(c bridge.Context) bool { return c.Window > 0 })
			if d := s.disagreement(context.Background()); len(d) > 0 {
				t.Errorf("%s: %v", when, d)
			}
		}
		s.turn("one")
		agree("at first")
		id := s.send("two")
		await(s.host, 1, func(d bridge.Delta) bool { return strings.HasPrefix(d.Text, "slow") })
		testkit.Must(s.agent.Interrupt(context.Background()))(t)
		s.turnOf(id)
		model.reset(reply{text: "three", usage: [3]int{3, 61_000, 0}})
		s.turn("three")
		agree("after an interrupt")
		testkit.OK(t, s.agent.Configure(context.Background(), bridge.ConfigureParams{Model: "claude-sonnet-4-5"}))
		if c := await(s.host, 1, func(c bridge.Context) bool { return c.Window == 167_000 }); c.Tokens != 61_003 {
			t.Errorf("with another window: %+v", c)
		}
		model.reset(reply{status: 500, kind: "api_error", message: "no"})
		if turn := s.turn("four"); turn.Outcome != bridge.TurnFailed {
			t.Errorf("turn: %+v", turn)
		}
		await(s.host, 1, func(c bridge.Context) bool { return c.Source == fromCLI }) // counts unanswered input too
		agree("after a failure")
		model.reset(reply{text: "five", usage: [3]int{3, 62_000, 0}})
		s.turn("five")
		agree("in the end")
		if n := of[bridge.Notice](s.host); len(n) > 0 {
			t.Errorf("notices: %+v", n)
		}
	})
}
