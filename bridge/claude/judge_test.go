package claude

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/hooks"
)

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
	if turn := s.turn(program + fakeResult); turn.Outcome != bridge.TurnDone {
		t.Fatalf("turn: %+v\n%s", turn, s.host.dump())
	}
	close(seen)
	var got []string
	for p := range seen {
		got = append(got, strings.Join([]string{p.String(), p.Tool, string(p.Input), p.ToolUse, p.Subagent}, " "))
	}
	want := []string{`orch-1#1 Read {"file_path":"a"} toolu_1 a0`, `orch-1#1 Bash {"command":"x"}  `,
		`orch-1#1 Odd {}  `, `orch-1#1 Write {}  `, `orch-1#1 Odd {}  `, `orch-1#1 Odd {}  `}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("judged, -want +got:\n%s", diff)
	}
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
	if !gone.Load() {
		t.Error("the question outlives the agent")
	}
	a := s.agent.(*agent)
	call, _ := split([]byte(`{"hook_event_name":"PreToolUse","tool_name":"Read"}`))
	if late := a.judge(t.Context(), call); late.Specific == nil || late.Specific.Decision != bridge.Deny {
		t.Errorf("after its end: %+v", late)
	}
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
	if err := s.agent.Configure(t.Context(), bridge.ConfigureParams{PermissionMode: "acceptEdits"}); err != nil {
		t.Fatal(err)
	}
	for mode, passes := range map[string]bool{"acceptEdits": true, "plan": false} {
		call, _ := split([]byte(`{"hook_event_name":"PreToolUse","tool_name":"Read","permission_mode":"` + mode + `"}`))
		if answer := s.agent.(*agent).judge(t.Context(), call); (answer.Specific == nil) != passes {
			t.Errorf("a call in mode %s: %+v", mode, answer)
		}
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
		if answer := s.agent.(*agent).judge(t.Context(), call); answer.Specific == nil {
			t.Error("a call in another mode passes")
		}
	}
	await(s.host, 1, func(n bridge.Notice) bool {
		return strings.Contains(n.Text, "the CLI refused set_permission_mode: not today") &&
			strings.Contains(n.Text, "every call of this agent is denied")
	})
}

func TestJudgeRegistration(t *testing.T) {
	registered := func(cfg bridge.AgentConfig) map[string]any {
		all, _ := launchPlan(cfg).init["hooks"].(map[string]any)
		return all
	}
	if got := registered(bridge.AgentConfig{Hooks: &bridge.HookConfig{}}); got["PreToolUse"] != nil {
		t.Error("an agent that is not judged has the hook")
	}
	alone := registered(bridge.AgentConfig{Judged: true})
	want := []any{map[string]any{"matcher": allButVerdict, "hookCallbackIds": []string{"arbiter-judge"}, "timeout": 30,
		"onFailure": "block"}}
	if diff := cmp.Diff(any(want), alone["PreToolUse"]); diff != "" || alone["PostToolUse"] != nil {
		t.Errorf("without other hooks, -want +got:\n%s", diff)
	}
	both := registered(bridge.AgentConfig{Judged: true, Hooks: &bridge.HookConfig{}})
	for _, event := range []hooks.Event{hooks.PostToolUse, hooks.UserPromptSubmit, hooks.PreCompact, "PreToolUse"} {
		if both[string(event)] == nil {
			t.Errorf("with other hooks: %v", both)
		}
	}
	if time.Duration(judgeSeconds)*time.Second <= bridge.JudgeTimeout {
		t.Error("the CLI does not wait for our own denial")
	}
}

// TestBypassOnlyAtTheStart: no configuration but the mode itself selects the mode that asks for no permission, and no
// running agent is switched to it.
func TestBypassOnlyAtTheStart(t *testing.T) {
	t.Parallel()
	s := prepare(t, fakeSpec(t, fakeGood), nil)
	s.launch()
	if err := s.agent.Configure(t.Context(),
		bridge.ConfigureParams{PermissionMode: "bypassPermissions"}); errCode(err) != -32602 {
		t.Errorf("configured: %v", err)
	}
	for _, cfg := range []bridge.AgentConfig{{}, {Judged: true}, {Resume: true}, {PermissionMode: "acceptEdits"}} {
		argv := strings.Join(launchPlan(cfg).args, " ")
		if strings.Contains(argv, "bypass") || strings.Contains(argv, "dangerously") ||
			!strings.Contains(argv, "--permission-mode ") {
			t.Errorf("argv: %s", argv)
		}
	}
}
