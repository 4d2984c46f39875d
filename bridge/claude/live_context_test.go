package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/hooks"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// The marks of the hooks' warnings to the model.
const (
	reportedWarn     = hooks.MarkContext + " warn"
	reportedCritical = hooks.MarkContext + " critical"
)

// all are the messages of every request, in order.
func (a *api) all() (list []string) {
	for _, request := range a.Requests() {
		var body struct{ Messages json.RawMessage }
		_ = json.Unmarshal([]byte(request), &body)
		list = append(list, string(body.Messages))
	}
	return list
}

// stageWith prepares an agent with hooks against a scripted model.
func stageWith(t *testing.T, spec bridge.ClaudeSpec, script ...reply) (*stageOf, *api) {
	t.Helper()
	s, model := against(t, spec, script...)
	s.cfg.Hooks = &bridge.HookConfig{Role: hooks.RoleOrchestrator, Warn: 70, Critical: 85}
	return s, model
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
		{"claude-sonnet-4-5", 300_000, 167_000}, // from the first reading on, or one near its end would not be warned
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
	s, model := stageWith(t, spec,
		reply{tools: touch("a"), usage: at(69)},
		reply{tools: touch("b"), usage: at(71)}, // warn is due with its result: request 2 (from 0)
		reply{tools: dig(), usage: at(72)},
		reply{tools: touch("c"), usage: [3]int{1, 2, 900_000}}, // the subagent: request 3, 4
		reply{text: "dug", usage: [3]int{1, 2, 910_000}},
		reply{tools: touch("d"), usage: at(73)},
		reply{tools: touch("e"), usage: at(86)}, // critical is due: request 7
		reply{tools: touch("f"), usage: at(86.5)},
		reply{text: "end", usage: at(87)})
	s.cfg.Model, s.cfg.ContextCap = name, 77 // the model's own cap takes precedence
	s.cfg.ContextCaps = map[string]int{"claude-": 1, name: most}
	var differ []string
	s.host.permission = func(ctx context.Context, _ bridge.PermissionParams) (bridge.PermissionResult, error) {
		differ = append(differ, s.disagreement(ctx)...)
		return bridge.PermissionResult{Behavior: bridge.Allow}, nil
	}
	s.launch()
	turn := s.turn("go")
	testkit.Need(t, turn.Text == "end", "turn: %+v", turn)
	differ = append(differ, s.disagreement(context.Background())...)
	testkit.Empty(t, "the meter is not the CLI's", differ)
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
	testkit.Same(t, "events", []string{"warn 71", "critical 86"}, s.warnings())
	for _, c := range of[bridge.Context](s.host) {
		testkit.Check(t, c.Pct <= 88 && (c.Window == window || c.Window == 0), "reading: %+v", c)
	}
	testkit.Empty(t, "notices", of[bridge.Notice](s.host))
}

// warnings lists the levels that were reported.
func (s *stageOf) warnings() (levels []string) {
	return testkit.Each(of[bridge.ContextWarning](s.host),
		func(w bridge.ContextWarning) string { return fmt.Sprintf("%s %.0f", w.Level, w.Pct) })
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
		s, _ := stageWith(t, spec, reply{tools: dig(), usage: [3]int{3, 50_000, 1_000}},
			reply{tools: touch("c"), usage: [3]int{1, 2, 900_000}, hold: begun},
			reply{tools: []call{{"Read", map[string]any{"file_path": "/etc/hostname"}}}, usage: [3]int{1, 900_002, 1_000}},
			reply{text: "dug", usage: [3]int{1, 901_002, 2_000}},
			reply{text: "end", usage: [3]int{3, 51_000, 1_000}, hold: ended})
		s.launch()
		id := s.send("go")
		start := await[bridge.SubagentStart](s.host, 1, nil)
		for range 2 { // earlier questions are answered by then
			testkit.Works(t, "Context", testkit.Err(s.agent.Context(context.Background())))
		}
		close(begun)
		stop := await[bridge.SubagentStop](s.host, 1, nil)
		close(ended)
		turn := s.turnOf(id)
		got := of[bridge.SubagentProgress](s.host)
		testkit.Need(t, len(got) >= 3, "progress:\n%s", s.host.dump())
		seen := map[bridge.SubagentProgress]bool{}
		for i, p := range got {
			testkit.Check(t, p.ToolUse == start.ToolUse && p.Description == "dig", "of whom: %+v", p)
			if i > 0 && (p.ToolUses < got[i-1].ToolUses || p.CostUSD < got[i-1].CostUSD) {
				t.Errorf("it has shrunk: %+v after %+v", p, got[i-1])
			}
			p.DurationMS = 0
			testkit.Check(t, !seen[p], "nothing new: %+v", p)
			seen[p] = true
		}
		final := got[len(got)-1]
		testkit.Check(t, final.ToolUses == 2 && final.LastTool == "Read" && final.Tokens >= 903_003 &&
			final.Tokens <= 904_000 && stop.Tokens <= final.Tokens, "in the end: %+v, %+v", final, stop)
		// Here the main thread's two calls are at most one hundredth of the turn's cost.
		testkit.Check(t, final.CostUSD > 0.98*turn.CostUSD && final.CostUSD < turn.CostUSD,
			"it cost %v of the turn's %v", final.CostUSD, turn.CostUSD)
		if u := turn.Usage; u.CacheRead+u.CacheCreation < 1_904_000+50_000+51_000 {
			t.Errorf("the turn's tokens leave out the subagent's: %+v", u)
		}
	})
}

// TestLiveMeterDuringFailures: after an interrupt, a change of model and an API failure the meter still
// agrees with the CLI.
func TestLiveMeterDuringFailures(t *testing.T) {
	realAtNight(t)
	inside(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		s, model := stageWith(t, spec, reply{text: "one", usage: [3]int{3, 50_000, 0}},
			reply{text: strings.Repeat("slow ", 200), usage: [3]int{3, 60_000, 0}, half: true})
		s.cfg.Partial = true
		s.launch()
		agree := func(when string) {
			t.Helper()
			await(s.host, 1, func(c bridge.Context) bool { return c.Window > 0 })
			testkit.Empty(t, when, s.disagreement(context.Background()))
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
		testkit.Like(t, "with another window", bridge.Context{Tokens: 61_003},
			await(s.host, 1, func(c bridge.Context) bool { return c.Window == 167_000 }))
		model.reset(reply{status: 500, kind: "api_error", message: "no"})
		testkit.Like(t, "turn", bridge.Turn{Outcome: bridge.TurnFailed}, s.turn("four"))
		await(s.host, 1, func(c bridge.Context) bool { return c.Source == fromCLI }) // counts unanswered input too
		agree("after a failure")
		model.reset(reply{text: "five", usage: [3]int{3, 62_000, 0}})
		s.turn("five")
		agree("in the end")
		testkit.Empty(t, "notices", of[bridge.Notice](s.host))
	})
}

// compacting prepares an agent that compacts above 167,000 tokens in mid-turn: claude-opus-5-5 does so with
// a window of 200,000 (observed with CLI 2.1.329).
func compacting(t *testing.T, spec bridge.ClaudeSpec, script ...reply) (*stageOf, *api) {
	t.Helper()
	s, model := stageWith(t, spec, script...)
	s.cfg.Model = "claude-opus-5-5"
	s.cfg.Env["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = "200000"
	s.cfg.JSONSchema = json.RawMessage(verdictSchema)
	s.cfg.Hooks.Reminder = "REMEMBER-THE-PLAN"
	return s, model
}

func ruling(message string) []call {
	return []call{{bridge.VerdictTool, map[string]any{"message": message}}}
}

func full(name string) reply { return reply{tools: touch(name), usage: [3]int{3, 172_000, 500}} }

func TestLiveCompactionBlocked(t *testing.T) {
	realAtNight(t)
	inside(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		s, model := compacting(t, spec, reply{tools: touch("a"), usage: [3]int{3, 50_000, 500}}, full("b"), full("c"),
			full("d"), reply{tools: ruling("handed over"), usage: [3]int{3, 173_000, 500}})
		s.cfg.Hooks.KeepContext = true
		s.launch()
		turn := s.turn("go")
		testkit.Check(t, turn.Outcome == bridge.TurnDone && string(turn.Verdict) == `{"message":"handed over"}`,
			"turn: %+v", turn)
		compacts := of[bridge.Compact](s.host)
		testkit.Check(t, len(compacts) == 1 && compacts[0].Blocked && compacts[0].Trigger == "auto" &&
			compacts[0].PreTokens == 172_503, "one compaction was to be held back: %+v", compacts)
		testkit.Empty(t, "held back, not failed", of[bridge.Error](s.host))
		last := model.lastRequest()
		testkit.Includes(t, "the model was not told what it has to do", last, reportedCritical,
			"A compaction was blocked")
		used := of[bridge.Context](s.host)
		testkit.Check(t, used[len(used)-1].Tokens == 173_503, "the last reading: %+v", used)
	})
}

func TestLiveCompaction(t *testing.T) {
	realAtNight(t)
	inside(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		s, model := compacting(t, spec, reply{tools: touch("a"), usage: [3]int{3, 50_000, 500}}, full("b"),
			reply{text: "<summary>SHORTENED</summary>", usage: [3]int{3, 172_000, 10}},
			reply{tools: touch("c"), usage: [3]int{3, 20_000, 500}},
			reply{tools: touch("d"), usage: [3]int{3, 120_000, 500}}, // 72 % again
			reply{tools: ruling("on we go"), usage: [3]int{3, 121_000, 500}})
		s.launch()
		turn := s.turn("go")
		testkit.Need(t, string(turn.Verdict) == `{"message":"on we go"}`, "turn: %+v\n%s", turn, s.host.dump())
		compacts := of[bridge.Compact](s.host)
		testkit.Check(t, len(compacts) == 1 && !compacts[0].Blocked && compacts[0].Trigger == "auto" &&
			compacts[0].PreTokens >= 172_503, "compactions: %+v", compacts)
		var tokens []int
		for _, c := range of[bridge.Context](s.host) {
			if c.Source == fromCLI {
				if c.Tokens == 0 || c.Tokens > 50_000 { // what is left after the compaction
					t.Errorf("the CLI's word: %+v", c)
				}
				continue
			}
			if len(tokens) == 0 || tokens[len(tokens)-1] != c.Tokens { // the window may come after the first reading
				tokens = append(tokens, c.Tokens)
			}
		}
		testkit.Same(t, fmt.Sprintf("readings %v", tokens), "[50503 172503 20503 120503 121503]", fmt.Sprint(tokens))

		requests := model.all()
		testkit.Includes(t, "the reminder is not in the request that follows the compaction", requests[3], "SHORTENED",
			hooks.MarkReminder, "REMEMBER-THE-PLAN")
		// The levels are counted again: earlier reports are forgotten.
		testkit.Same(t, "warnings", []string{"critical 103", "warn 72"}, s.warnings())
	})
}

// TestLiveRefill: if the context is full again after each compaction, the turn ends.
func TestLiveRefill(t *testing.T) {
	realAtNight(t)
	inside(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		sum := reply{text: "<summary>s</summary>", usage: [3]int{3, 172_000, 10}}
		s, _ := compacting(t, spec, full("a"), full("b"), sum, full("c"), sum, full("d"), sum, full("e"), sum,
			full("f"), sum)
		s.launch()
		turn := s.turn("go")
		testkit.Check(t, turn.Outcome == bridge.TurnFailed && turn.Category == bridge.CatCompaction &&
			turn.Verdict == nil && turn.Reason == "rapid_refill_breaker", "turn: %+v\n%s", turn, s.host.dump())
		n := len(of[bridge.Compact](s.host))
		testkit.Check(t, n >= 2, "%d compactions", n)
	})
}

// TestLiveResumeContext: a resumed session reports at once how full it is, and does not send earlier
// warnings again.
func TestLiveResumeContext(t *testing.T) {
	realAtNight(t)
	players(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		s, model := stageWith(t, spec, reply{tools: touch("a"), usage: share(167_000, 72)},
			reply{text: "one", usage: share(167_000, 72.5)})
		s.cfg.Model = "claude-sonnet-4-5"
		s.launch()
		s.turn("go")
		s.stopNow()
		was := of[bridge.Context](s.host)[len(of[bridge.Context](s.host))-1]

		next := s.again()
		again := *s.cfg.Hooks
		again.Spent = string(hooks.LevelWarn)
		next.cfg.Hooks = &again
		next.launch()
		got := await[bridge.Context](next.host, 1, nil)
		testkit.Check(t, got.Tokens == was.Tokens && got.Window == was.Window && got.Pct == was.Pct &&
			got.Source == fromCLI, "right after the resume: %+v, it was %+v", got, was)
		model.then(reply{tools: touch("b"), usage: share(167_000, 73)},
			reply{tools: touch("c"), usage: share(167_000, 86)}, reply{text: "two", usage: share(167_000, 86)})
		next.turn("go on")
		testkit.Same(t, "warnings", []string{"critical 86"}, next.warnings())
		testkit.Same(t, "warn stands times in the history", 1, strings.Count(model.lastRequest(), reportedWarn))
	})
}

// TestLiveSpending: the cost of a turn is reported while it runs, and never exceeds its final cost; each
// turn starts at zero, also after the session was resumed.
func TestLiveSpending(t *testing.T) {
	realAtNight(t)
	look := []call{{"Bash", map[string]any{"command": "ls", "description": "Look"}}}
	holds := []chan struct{}{make(chan struct{}), make(chan struct{}), make(chan struct{})}
	var script []reply
	for _, hold := range holds {
		script = append(script, reply{tools: look, usage: [3]int{3, 50_000, 1_000}},
			reply{text: "done", hold: hold, usage: [3]int{3, 51_000, 1_000}})
	}
	s, _ := live(t, script...)
	s.cfg.AllowedTools = []string{"Bash"}
	s.launch()
	for i, hold := range holds {
		nth := i + 1
		if i == 2 {
			_ = s.agent.Stop(t.Context(), false)
			s, nth = s.again().launch(), 1
		}
		id := s.send("go on")
		// The second answer may be reported, too, before the turn ends.
		spent := await(s.host, nth, func(b bridge.Spent) bool { return b.Usage.CacheRead == 50_000 })
		testkit.Check(t, spent.Usage.CacheCreation == 1_000 && spent.Usage.Output != 0 && spent.CostUSD > 0,
			"turn %d: reported %+v", i, spent)
		close(hold)
		if turn := s.turnOf(id); turn.CostUSD <= spent.CostUSD {
			t.Errorf("turn %d cost %v, and %v was reported before", i, turn.CostUSD, spent.CostUSD)
		}
	}
}

// TestInterruptIsReadAfterTheMessage that was written before it: the session has the message, and the model
// sees it with the next message.
func TestInterruptIsReadAfterTheMessage(t *testing.T) {
	realAtNight(t)
	players(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		held := make(chan struct{})
		s, model := stageFor(t, spec, verdictReply, reply{hold: held})
		s.cfg.Hooks = &bridge.HookConfig{Role: hooks.RoleArbiter, Warn: 70, Critical: 85}
		s.launch()
		s.turn("WARMUP")
		id := s.send("THE-MESSAGE")
		testkit.Must(s.agent.Interrupt(context.Background()))(t)
		turn := s.turnOf(id)
		close(held)
		testkit.Check(t, turn.Outcome == bridge.TurnInterrupted && len(turn.Unread) == 0, "turn: %+v", turn)
		model.reset(verdictReply)
		s.turn("NEXT")
		model.hasRead(t, "the model does not see the message that was interrupted", "THE-MESSAGE")
	})
}

// TestMessageInterruptedBeforeItWasRead: an interrupt that arrives while the user's own hooks process the
// message makes the CLI drop it. The turn reports that.
func TestMessageInterruptedBeforeItWasRead(t *testing.T) {
	realAtNight(t)
	onlyTheCLI(t, "runs no hooks of the user's settings")
	t.Parallel()
	s, model := stageFor(t, realSpec(t), verdictReply)
	begun, goOn := filepath.Join(s.dir, "begun"), filepath.Join(s.dir, "go")
	settings := testkit.Must(json.Marshal(map[string]any{
		"hooks": map[string]any{"UserPromptSubmit": []any{map[string]any{"hooks": []any{map[string]any{
			"type": "command", "command": "touch " + begun + "; until test -e " + goOn + "; do sleep 0.05; done"}}}}}}))(t)
	s.userSettings(string(settings))
	s.l.enterTimeout = time.Millisecond
	s.launch()
	id := s.send("THE-MESSAGE")
	waitFile(t, begun)
	testkit.Must(s.agent.Interrupt(context.Background()))(t)
	testkit.OK(t, os.WriteFile(goOn, nil, 0o600))
	turn := s.turnOf(id)
	if diff := cmp.Diff([]string{id}, turn.Unread); diff != "" || turn.Outcome != bridge.TurnInterrupted {
		t.Errorf("outcome %s, unread (-want +got):\n%s", turn.Outcome, diff)
	}
	s.turn("NEXT")
	testkit.Excludes(t, "the model sees the message all the same", model.lastRequest(), "THE-MESSAGE")
}
