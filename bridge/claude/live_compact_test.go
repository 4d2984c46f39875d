package claude

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/hooks"
)

// compacting prepares an agent that compacts above 167,000 tokens in mid-turn: claude-opus-5-5 does so with
// a window of 200,000 (observed with CLI 2.1.329).
func compacting(t *testing.T, spec bridge.ClaudeSpec, script ...reply) (*stageOf, *api) {
	t.Helper()
	model := startAPI(t, script...)
	s := stageWith(t, spec, model)
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
		if turn.Outcome != bridge.TurnDone || string(turn.Verdict) != `{"message":"handed over"}` {
			t.Errorf("turn: %+v", turn)
		}
		compacts := of[bridge.Compact](s.host)
		if len(compacts) != 1 || !compacts[0].Blocked || compacts[0].Trigger != "auto" ||
			compacts[0].PreTokens != 172_503 {
			t.Errorf("one compaction was to be held back: %+v", compacts)
		}
		if errs := of[bridge.Error](s.host); len(errs) > 0 {
			t.Errorf("held back, not failed: %+v", errs)
		}
		last := model.lastRequest()
		if !strings.Contains(last, reportedCritical) || !strings.Contains(last, "A compaction was blocked") {
			t.Error("the model was not told what it has to do")
		}
		if used := of[bridge.Context](s.host); used[len(used)-1].Tokens != 173_503 {
			t.Errorf("the last reading: %+v", used)
		}
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
		if turn := s.turn("go"); string(turn.Verdict) != `{"message":"on we go"}` {
			t.Fatalf("turn: %+v\n%s", turn, s.host.dump())
		}
		compacts := of[bridge.Compact](s.host)
		if len(compacts) != 1 || compacts[0].Blocked || compacts[0].Trigger != "auto" ||
			compacts[0].PreTokens < 172_503 {
			t.Errorf("compactions: %+v", compacts)
		}
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
		if want := "[50503 172503 20503 120503 121503]"; want != fmt.Sprint(tokens) {
			t.Errorf("readings %v, want %s", tokens, want)
		}

		requests := model.all()
		if after := requests[3]; !strings.Contains(after, "SHORTENED") ||
			!strings.Contains(after, hooks.MarkReminder) || !strings.Contains(after, "REMEMBER-THE-PLAN") {
			t.Error("the reminder is not in the request that follows the compaction")
		}
		// The levels are counted again: earlier reports are forgotten.
		var levels []string
		for _, w := range of[bridge.ContextWarning](s.host) {
			levels = append(levels, w.Level)
		}
		if strings.Join(levels, " ") != "critical warn" {
			t.Errorf("warnings: %v", levels)
		}
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
		if turn.Outcome != bridge.TurnFailed || turn.Category != bridge.CatCompaction || turn.Verdict != nil ||
			turn.Reason != "rapid_refill_breaker" {
			t.Errorf("turn: %+v\n%s", turn, s.host.dump())
		}
		if n := len(of[bridge.Compact](s.host)); n < 2 {
			t.Errorf("%d compactions", n)
		}
	})
}

func TestLivePromptTooLong(t *testing.T) {
	realAtNight(t)
	players(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		model := startAPI(t,
			reply{status: 400, kind: "invalid_request_error",
				message: "prompt is too long: 210000 tokens > 200000 maximum"})
		s := stageWith(t, spec, model)
		s.cfg.JSONSchema = json.RawMessage(verdictSchema)
		s.launch()
		if turn := s.turn("go"); turn.Outcome != bridge.TurnFailed || turn.Category != bridge.CatPromptTooLong ||
			turn.Verdict != nil {
			t.Errorf("turn: %+v", turn)
		}
	})
}

// TestLiveResumeContext: a resumed session reports at once how full it is, and does not send earlier
// warnings again.
func TestLiveResumeContext(t *testing.T) {
	realAtNight(t)
	players(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		model := startAPI(t, reply{tools: touch("a"), usage: share(167_000, 72)},
			reply{text: "one", usage: share(167_000, 72.5)})
		s := stageWith(t, spec, model)
		s.cfg.Model = "claude-sonnet-4-5"
		s.launch()
		s.turn("go")
		s.stopNow()
		was := of[bridge.Context](s.host)[len(of[bridge.Context](s.host))-1]

		next := prepare(t, s.spec, s.cfg.Env)
		next.cfg, next.dir, next.run = s.cfg, s.dir, s.run
		again := *s.cfg.Hooks
		again.Spent = string(hooks.LevelWarn)
		next.cfg.Resume, next.cfg.Hooks = true, &again
		next.launch()
		got := await[bridge.Context](next.host, 1, nil)
		if got.Tokens != was.Tokens || got.Window != was.Window || got.Pct != was.Pct || got.Source != fromCLI {
			t.Errorf("right after the resume: %+v, it was %+v", got, was)
		}
		model.then(reply{tools: touch("b"), usage: share(167_000, 73)},
			reply{tools: touch("c"), usage: share(167_000, 86)}, reply{text: "two", usage: share(167_000, 86)})
		next.turn("go on")
		var levels []string
		for _, w := range of[bridge.ContextWarning](next.host) {
			levels = append(levels, w.Level)
		}
		if strings.Join(levels, " ") != "critical" {
			t.Errorf("warnings: %v", levels)
		}
		if n := strings.Count(model.lastRequest(), reportedWarn); n != 1 {
			t.Errorf("warn stands %d times in the history", n)
		}
	})
}
