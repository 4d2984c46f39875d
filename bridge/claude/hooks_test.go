package claude

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/hooks"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// fakeHook makes the fake CLI call a hook, and compare the answer with text.
func fakeHook(id, input, text string) string {
	return fmt.Sprintf(`out {"type":"control_request","request_id":%q,"request":{"subtype":"hook_callback","callback_id":"arbiter","input":%s}}`+"\n", id, input) +
		fmt.Sprintf("expect \"request_id\":%q,\"response\":%s\n", id, text)
}

// fakeMessage is an assistant message of so many tokens.
func fakeMessage(id string, tokens int) string {
	return fmt.Sprintf(`out {"type":"assistant","message":{"id":%q,"model":"m","content":[],"usage":{"input_tokens":%d}},"parent_tool_use_id":null}`+"\n", id, tokens)
}

func hooked(t *testing.T, mode string) *stageOf {
	t.Helper()
	s := prepare(t, fakeSpec(t, mode), nil)
	s.cfg.ContextCap = 1000
	s.cfg.Hooks = &bridge.HookConfig{Role: hooks.RoleArbiter, Warn: 70, Critical: 85, KeepContext: true}
	return s
}

// TestHooksNeverFail: an error would make the CLI write its source to stderr, and with some events would
// lose a message.
func TestHooksNeverFail(t *testing.T) {
	t.Parallel()
	s := hooked(t, fakeGood).launch()
	program := fakeStarted
	for i, input := range []string{`null`, `[]`, `"x"`, `{}`, `{"hook_event_name":7}`,
		`{"hook_event_name":"NoSuchEvent"}`, `{"hook_event_name":"PostToolUse","agent_id":[]}`,
		`{"hook_event_name":"UserPromptSubmit","prompt":"p"}`, `{"hook_event_name":"Stop","stop_hook_active":true}`,
		`{"hook_event_name":"PreCompact","trigger":null}`} {
		program += fakeHook(fmt.Sprintf("h%d", i), input, "{}")
	}
	if turn := s.turn(program + fakeResult); turn.Outcome != bridge.TurnDone {
		t.Errorf("turn: %+v\n%s", turn, s.host.dump())
	}
}

// TestHooksInOrder: a hook is answered from the reading that the frames before it made, and its effects are
// reported once.
func TestHooksInOrder(t *testing.T) {
	t.Parallel()
	s := hooked(t, fakeGood)
	s.cfg.Hooks.Spent = string(hooks.LevelWarn)
	s.launch()
	if err := s.agent.Configure(context.Background(), bridge.ConfigureParams{Reminder: "NEW-PLAN"}); err != nil {
		t.Fatal(err)
	}
	tool := `{"hook_event_name":"PostToolUse","tool_name":"Bash"}`
	compact := `{"hook_event_name":"PreCompact","trigger":"auto"}`
	boundary := `out {"type":"system","subtype":"compact_boundary","uuid":"b1","compact_metadata":{"trigger":"auto","pre_tokens":870}}` + "\n"
	s.turn(fakeStarted +
		fakeMessage("m1", 710) + fakeHook("h1", tool, "{}") + // reported by an earlier process
		fakeMessage("m2", 860) +
		fakeHook("h2", tool, `{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"`+
			reportedCritical) +
		fakeHook("h3", compact, `{"decision":"block"`) + fakeHook("h4", compact, `{"decision":"block"`) +
		fakeHook("h5", `{"hook_event_name":"PostToolUse","tool_name":"Bash","agent_id":"a"}`, "{}") +
		boundary + fakeHook("h6", `{"hook_event_name":"SessionStart","source":"compact"}`,
		`{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"`+hooks.MarkReminder) +
		fakeMessage("m3", 720) +
		fakeHook("h7", tool, `{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"`+
			reportedWarn) +
		fakeResult)
	var got []string
	for _, e := range s.host.all() {
		switch e := e.(type) {
		case bridge.ContextWarning:
			got = append(got, fmt.Sprintf("%s %.0f", e.Level, e.Pct))
		case bridge.Compact:
			got = append(got, fmt.Sprintf("compact %s %v %d", e.Trigger, e.Blocked, e.PreTokens))
		case bridge.Context:
			got = append(got, fmt.Sprint(e.Tokens))
		case bridge.Error, bridge.Notice:
			t.Errorf("unwanted: %+v", e)
		}
	}
	want := []string{"710", "860", "critical 86", "compact auto true 860", "compact auto false 870", "720", "warn 72"}
	testkit.Same(t, "events", want, got)
}

func TestHooksOnlyIfWanted(t *testing.T) {
	cfg := bridge.AgentConfig{}
	if _, ok := launchPlan(cfg).init["hooks"]; ok {
		t.Error("hooks of an agent that has none")
	}
	cfg.Hooks = &bridge.HookConfig{}
	registered, _ := launchPlan(cfg).init["hooks"].(map[string]any)
	for _, event := range []hooks.Event{hooks.PostToolUse, hooks.UserPromptSubmit, hooks.PreCompact,
		hooks.SessionStart} {
		if registered[string(event)] == nil {
			t.Errorf("%s is not registered", event)
		}
	}
	s := fake(t, fakeGood)
	s.turn(fakeStarted +
		`out {"type":"control_request","request_id":"h1","request":{"subtype":"hook_callback","input":{}}}` +
		"\nexpect \"request_id\":\"h1\",\"error\"\n" + fakeResult)
}

// TestCLIContextFigureIsConfirmedTwice: the driver asks twice for a figure that the stream did not show, then
// believes it, and reports it once.
func TestCLIContextFigureIsConfirmedTwice(t *testing.T) {
	t.Parallel()
	s := hooked(t, fakeCounts).launch()
	for i, tokens := range []int{500, 600} {
		s.turn(fakeStarted + fakeMessage(fmt.Sprintf("m%d", i), tokens) + fakeResult)
		if c := await(s.host, i+1, func(c bridge.Context) bool { return c.Source == fromCLI }); c.Tokens != 777 {
			t.Errorf("reading: %+v", c)
		}
	}
	s.turn(fakeStarted + fakeMessage("m9", 777) + fakeResult)
	notices := of[bridge.Notice](s.host)
	if len(notices) != 1 || !strings.Contains(notices[0].Text, "777") {
		t.Errorf("notices: %+v", notices)
	}
}

// TestCompactionFailure: a failed compaction is a problem only if we did not block it.
func TestCompactionFailure(t *testing.T) {
	t.Parallel()
	failed := `out {"type":"system","subtype":"status","status":null,"compact_result":"failed","compact_error":"exhausted"}` + "\n"
	s := hooked(t, fakeGood).launch()
	s.turn(fakeStarted + fakeHook("h1", `{"hook_event_name":"PreCompact","trigger":"auto"}`, `{"decision"`) +
		failed + failed + fakeResult)
	if errs := of[bridge.Error](s.host); len(errs) != 1 || errs[0].Category != bridge.CatCompaction {
		t.Errorf("errors: %+v", errs)
	}
}

// TestSubagentWithoutCosts: if the CLI does not report costs, the rest is still reported and nothing waits.
func TestSubagentWithoutCosts(t *testing.T) {
	t.Parallel()
	s := hooked(t, fakeGood).launch()
	frames := `out {"type":"system","subtype":"task_started","task_type":"local_agent","tool_use_id":"t1","description":"dig"}
out {"type":"system","subtype":"task_progress","tool_use_id":"t1","usage":{"total_tokens":900013,"tool_uses":1,"duration_ms":52},"last_tool_name":"Bash"}
out {"type":"assistant","message":{"id":"s1","model":"m","content":[{"type":"tool_use","id":"u1","name":"Bash","input":{}}],"usage":{"input_tokens":900003}},"parent_tool_use_id":"t1"}
out {"type":"system","subtype":"task_progress","tool_use_id":"t1","usage":{"total_tokens":900013,"tool_uses":1,"duration_ms":99},"last_tool_name":"Bash"}
out {"type":"assistant","message":{"id":"s2","model":"m","content":[{"type":"tool_use","id":"u2","name":"Read","input":{}}],"usage":{"input_tokens":40000}},"parent_tool_use_id":"t1"}
out {"type":"system","subtype":"task_notification","tool_use_id":"t1","status":"completed","usage":{"total_tokens":41000}}
`
	s.turn(fakeStarted + fakeMessage("m1", 100) + frames + fakeMessage("m2", 200) + fakeResult)
	want := []bridge.EventBody{
		bridge.SubagentStart{Description: "dig", ToolUse: "t1"},
		bridge.SubagentProgress{Description: "dig", ToolUse: "t1", Tokens: 900_013, ToolUses: 1, LastTool: "Bash",
			DurationMS: 52},
		bridge.SubagentProgress{Description: "dig", ToolUse: "t1", Tokens: 40_000, ToolUses: 2, LastTool: "Read",
			DurationMS: 99},
		bridge.SubagentProgress{Description: "dig", ToolUse: "t1", Tokens: 41_000, ToolUses: 2, LastTool: "Read",
			DurationMS: 99},
		bridge.SubagentStop{Description: "dig", ToolUse: "t1", Status: "completed", Tokens: 41_000},
	}
	var got []bridge.EventBody
	for _, e := range s.host.all() {
		switch e := e.(type) {
		case bridge.SubagentStart, bridge.SubagentProgress, bridge.SubagentStop:
			got = append(got, e)
		case bridge.Context:
			if e.Tokens > 200 {
				t.Errorf("a subagent moved the main gauge: %+v", e)
			}
		}
	}
	testkit.Same(t, "events", want, got)
}

// TestHookEvents: the effect of a hook is an event, unless something else reports it.
func TestHookEvents(t *testing.T) {
	r := hooks.Reading{Tokens: 172_000, Window: 200_000, Pct: 86}
	for _, c := range []struct {
		effect hooks.Effect
		want   bridge.EventBody
	}{
		{hooks.LevelReported{Level: hooks.LevelCritical, Pct: 86}, bridge.ContextWarning{Pct: 86, Level: "critical"}},
		{hooks.LevelReported{Level: hooks.LevelCritical, Pct: 88, Again: true}, nil},
		{hooks.CompactionBlocked{Trigger: "auto", Count: 1},
			bridge.Compact{Trigger: "auto", Blocked: true, PreTokens: 172_000}},
		{hooks.CompactionBlocked{Trigger: "auto", Count: 2}, nil},
		{hooks.CompactionPassed{Trigger: "manual"}, nil},
		{hooks.Compacted{Trigger: "manual"}, bridge.Compact{Trigger: "manual"}},
		{hooks.Reminded{}, nil},
		{hooks.SubagentStarted{ID: "a1", Type: "Explore"},
			bridge.SubagentStart{Description: "Explore", ToolUse: "a1", Type: "Explore"}},
		{hooks.SubagentEnded{ID: "a1", Type: "Explore"}, bridge.SubagentStop{Description: "Explore", ToolUse: "a1"}},
	} {
		if diff := cmp.Diff(c.want, HookEvent(c.effect, r)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.effect, diff)
		}
	}
}
