package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/hooks"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// fakeHook makes the fake CLI call a hook, and compare the answer with text.
func fakeHook(id, input, text string) string {
	return fakeJudged(id, `"callback_id":"arbiter","input":`+input, text)
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
	turn := s.turn(program + fakeResult)
	testkit.Check(t, turn.Outcome == bridge.TurnDone, "turn: %+v\n%s", turn, s.host.dump())
}

// TestHooksInOrder: a hook is answered from the reading that the frames before it made, and its effects are
// reported once.
func TestHooksInOrder(t *testing.T) {
	t.Parallel()
	s := hooked(t, fakeGood)
	s.cfg.Hooks.Spent = string(hooks.LevelWarn)
	s.launch()
	testkit.OK(t, s.agent.Configure(context.Background(), bridge.ConfigureParams{Reminder: "NEW-PLAN"}))
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

// TestCLIContextFigureIsConfirmedTwice: the driver asks twice for a figure that the stream did not show, then
// believes it, and reports it once.
func TestCLIContextFigureIsConfirmedTwice(t *testing.T) {
	t.Parallel()
	s := hooked(t, fakeCounts).launch()
	for i, tokens := range []int{500, 600} {
		s.turn(fakeStarted + fakeMessage(fmt.Sprintf("m%d", i), tokens) + fakeResult)
		testkit.Like(t, "reading", bridge.Context{Tokens: 777},
			await(s.host, i+1, func(c bridge.Context) bool { return c.Source == fromCLI }))
	}
	s.turn(fakeStarted + fakeMessage("m9", 777) + fakeResult)
	notices := of[bridge.Notice](s.host)
	testkit.Check(t, len(notices) == 1 && strings.Contains(notices[0].Text, "777"), "notices: %+v", notices)
}

// TestCompactionFailure: a failed compaction is a problem only if we did not block it.
func TestCompactionFailure(t *testing.T) {
	t.Parallel()
	failed := `out {"type":"system","subtype":"status","status":null,"compact_result":"failed","compact_error":"exhausted"}` + "\n"
	s := hooked(t, fakeGood).launch()
	s.turn(fakeStarted + fakeHook("h1", `{"hook_event_name":"PreCompact","trigger":"auto"}`, `{"decision"`) +
		failed + failed + fakeResult)
	errs := of[bridge.Error](s.host)
	testkit.Check(t, len(errs) == 1 && errs[0].Category == bridge.CatCompaction, "errors: %+v", errs)
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
			testkit.Check(t, e.Tokens <= 200, "a subagent moved the main gauge: %+v", e)
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
		{hooks.Compacted{Trigger: "manual"}, bridge.Compact{Trigger: "manual"}},
		{hooks.SubagentStarted{ID: "a1", Type: "Explore"},
			bridge.SubagentStart{Description: "Explore", ToolUse: "a1", Type: "Explore"}},
		{hooks.SubagentEnded{ID: "a1", Type: "Explore"}, bridge.SubagentStop{Description: "Explore", ToolUse: "a1"}},
	} {
		testkit.Same(t, c.effect, c.want, HookEvent(c.effect, r))
	}
}

// TestHookRefusesTheMessage: a message that a hook of the user keeps from the model has failed, and it is unread unless
// the session keeps it for its next request.
func TestHookRefusesTheMessage(t *testing.T) {
	onlyTheCLI(t, "runs no hooks of the user's settings")
	for name, c := range map[string]struct {
		command string
		kept    bool
	}{
		"exit 2": {command: "test -e $HOME/open || { echo no such words here >&2; exit 2; }"},
		"block":  {command: `test -e $HOME/open || echo '{"decision":"block","reason":"no such words here"}'`},
		"stop":   {command: `test -e $HOME/open || echo '{"continue":false,"stopReason":"no such words here"}'`, kept: true},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "exit 2" {
				testkit.Long(t) // the CLI reads it as "block"
			}
			t.Parallel()
			s, model := stageFor(t, realSpec(t), verdictReply)
			settings := testkit.Must(json.Marshal(map[string]any{"hooks": map[string]any{"UserPromptSubmit": []any{
				map[string]any{"hooks": []any{map[string]any{"type": "command", "command": c.command}}}}}}))(t)
			s.userSettings(string(settings))
			s.launch()
			turn := s.turn("THE-MESSAGE")
			testkit.Check(t, turn.Outcome == bridge.TurnFailed && turn.Category == bridge.CatHook &&
				strings.Contains(turn.Error, "no such words here") && !strings.Contains(turn.Error, "THE-MESSAGE") &&
				turn.Text == "", "turn: %+v", turn)
			testkit.Check(t, slices.Equal(turn.Unread, turn.MessageIDs) != c.kept,
				"kept by the session: %t, but unread are %q", c.kept, turn.Unread)
			testkit.Same(t, "the model was asked times", 0, len(model.all()))
			testkit.OK(t, os.WriteFile(filepath.Join(s.cfg.Env["HOME"], "open"), nil, 0o600))
			turn = s.turn("THE-NEXT")
			testkit.Check(t, turn.Outcome == bridge.TurnDone && turn.Category == "", "the next turn: %+v", turn)
			testkit.Same(t, "the next request has the message", c.kept,
				strings.Contains(model.lastRequest(), "THE-MESSAGE"))
		})
	}
}

// fakeJudged makes the fake CLI call the judge's hook, and compare the answer with text.
func fakeJudged(id, request, text string) string {
	return fmt.Sprintf(`out {"type":"control_request","request_id":%q,"request":{"subtype":"hook_callback",%s}}`+"\n",
		id, request) +
		fmt.Sprintf("expect \"request_id\":%q,\"response\":%s\n", id, text)
}

const (
	judgeDenies = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"`
	judgeAsks   = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask"`
)

// TestJudgeAnswers: the questions to the client, and the answers that the CLI receives. An input that
// cannot be read is denied, and is never an error.
func TestJudgeAnswers(t *testing.T) {
	t.Parallel()
	s := prepare(t, fakeSpec(t, fakeGood), nil)
	s.cfg.Judged = true
	seen := make(chan bridge.JudgeParams, 100)
	s.host.judge = func(_ context.Context, p bridge.JudgeParams) (bridge.JudgeResult, error) {
		seen <- p
		return bridge.JudgeResult{Behavior: map[string]string{"Bash": bridge.Ask, "Read": bridge.Pass,
			"Odd": bridge.Allow}[p.Tool]}, nil
	}
	s.launch()
	program, n := fakeStarted, 0
	call := func(request, text string) {
		n++
		program += fakeJudged(fmt.Sprintf("j%d", n), request, text)
	}
	of := func(input string) string { return `"callback_id":"arbiter-judge","input":` + input }
	call(of(`{"hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{"file_path":"a"},"tool_use_id":"toolu_1","agent_id":"a0"}`), "{}")
	call(of(`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"x"}}`), judgeAsks)
	call(of(`{"hook_event_name":"PreToolUse","tool_name":"Odd"}`), judgeDenies)
	call(of(`{"hook_event_name":"PreToolUse","tool_name":"Write","Tool_Name":"Read"}`), judgeDenies)
	// asked for in every mode
	call(of(`{"hook_event_name":"PreToolUse","tool_name":"AskUserQuestion","tool_input":{}}`), "{}")
	call(of(`{"hook_event_name":"PreToolUse","tool_name":"EnterPlanMode","tool_input":{}}`),
		judgeDenies+`,"permissionDecisionReason":"There is no plan mode`)
	for _, bad := range []string{`null`, `[]`, `"x"`, `{}`, `{"hook_event_name":"PreToolUse"}`,
		`{"hook_event_name":"PreToolUse","tool_name":""}`, `{"hook_event_name":"PreToolUse","tool_name":7}`,
		`{"hook_event_name":"PreToolUse","tool_name":["Read"]}`, `{"hook_event_name":"PostToolUse","tool_name":"Read"}`,
		`{"hook_event_name":"PreToolUse","tool_name":"Read","agent_id":{}}`} {
		call(of(bad), judgeDenies)
	}
	call(`"input":{"hook_event_name":"PreToolUse","tool_name":"Odd"}`, judgeDenies) // no callback id, or another
	call(`"callback_id":"arbiter","input":{"hook_event_name":"PreToolUse","tool_name":"Odd"}`, judgeDenies)
	turn := s.turn(program + fakeResult)
	testkit.Need(t, turn.Outcome == bridge.TurnDone, "turn: %+v\n%s", turn, s.host.dump())
	close(seen)
	var got []string
	for p := range seen {
		got = append(got, strings.Join([]string{p.String(), p.Tool, string(p.Input), p.ToolUse, p.Subagent}, " "))
	}
	want := []string{`orch-1#1 Read {"file_path":"a"} toolu_1 a0`, `orch-1#1 Bash {"command":"x"}  `,
		`orch-1#1 Odd {}  `, `orch-1#1 Write {}  `, `orch-1#1 Odd {}  `, `orch-1#1 Odd {}  `}
	testkit.Same(t, "judged", want, got)
}

// TestJudgeOfAnAgentThatEnds: while an agent is being stopped nothing more runs, and a client that hangs
// delays neither its end nor another's call.
func TestJudgeOfAnAgentThatEnds(t *testing.T) {
	t.Parallel()
	s := prepare(t, fakeSpec(t, fakeGood), nil)
	s.cfg.Judged = true
	asked := make(chan struct{}, 1)
	var gone atomic.Bool
	s.host.judge = func(ctx context.Context, p bridge.JudgeParams) (bridge.JudgeResult, error) {
		asked <- struct{}{}
		<-ctx.Done()
		gone.Store(true)
		return bridge.JudgeResult{Behavior: bridge.Pass}, nil
	}
	s.launch()
	s.send(fakeStarted + `out {"type":"control_request","request_id":"j","request":{"subtype":"hook_callback","callback_id":"arbiter-judge","input":{"hook_event_name":"PreToolUse","tool_name":"Bash"}}}` + "\n")
	<-asked
	s.stopNow()
	testkit.Check(t, gone.Load(), "the question outlives the agent")
	a := s.agent.(*agent)
	call, _ := split([]byte(`{"hook_event_name":"PreToolUse","tool_name":"Read"}`))
	late := a.judge(t.Context(), call)
	testkit.Check(t, late.Specific != nil && late.Specific.Decision == bridge.Deny, "after its end: %+v", late)
}

// TestJudgeWhileTheModeChanges: a call may come in the new mode before the CLI has answered the change. After it,
// a mode that nobody asked for is refused.
func TestJudgeWhileTheModeChanges(t *testing.T) {
	t.Parallel()
	s := prepare(t, fakeSpec(t, fakeSwitches), nil)
	s.cfg.Judged = true
	s.host.judge = func(context.Context, bridge.JudgeParams) (bridge.JudgeResult, error) {
		return bridge.JudgeResult{Behavior: bridge.Pass}, nil
	}
	s.launch()
	testkit.OK(t, s.agent.Configure(t.Context(), bridge.ConfigureParams{PermissionMode: "acceptEdits"}))
	for mode, passes := range map[string]bool{"acceptEdits": true, "plan": false} {
		call, _ := split([]byte(`{"hook_event_name":"PreToolUse","tool_name":"Read","permission_mode":"` + mode + `"}`))
		answer := s.agent.(*agent).judge(t.Context(), call)
		testkit.Check(t, (answer.Specific == nil) == passes, "a call in mode %s: %+v", mode, answer)
	}
}

// TestAModeThatIsNotSetBack: the CLI refuses to leave a mode that nobody asked for. A notice says so, once.
func TestAModeThatIsNotSetBack(t *testing.T) {
	t.Parallel()
	s := prepare(t, fakeSpec(t, fakeRefuses), nil)
	s.cfg.Judged, s.cfg.PermissionMode = true, "default"
	s.launch()
	call, _ := split([]byte(`{"hook_event_name":"PreToolUse","tool_name":"Read","permission_mode":"plan"}`))
	for range 2 {
		testkit.Check(t, s.agent.(*agent).judge(t.Context(), call).Specific != nil, "a call in another mode passes")
	}
	await(s.host, 1, func(n bridge.Notice) bool {
		return strings.Contains(n.Text, "the CLI refused set_permission_mode: not today") &&
			strings.Contains(n.Text, "every call of this agent is denied")
	})
}

// TestBypassOnlyAtTheStart: no running agent is switched to the mode that asks for no permission.
func TestBypassOnlyAtTheStart(t *testing.T) {
	t.Parallel()
	s := prepare(t, fakeSpec(t, fakeGood), nil)
	s.launch()
	err := s.agent.Configure(t.Context(), bridge.ConfigureParams{PermissionMode: "bypassPermissions"})
	testkit.Check(t, errCode(err) == -32602, "configured: %v", err)
}
