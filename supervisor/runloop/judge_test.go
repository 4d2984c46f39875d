package runloop

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/lifecycle"
	"github.com/arbiter-cli/arbiter/supervisor/permission"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/toolset"
)

// toolClasses is a call of every class of tools.
var toolClasses = map[string]bridge.JudgeParams{
	"read": {Tool: "Read", Input: json.RawMessage(`{"file_path":"/w/a.go"}`)},
	"edit": {Tool: "Write", Input: json.RawMessage(`{"file_path":"/w/a.go","content":"x"}`)},
	"bash": {Tool: "Bash", Input: json.RawMessage(`{"command":"make"}`)},
	"web":  {Tool: "WebFetch", Input: json.RawMessage(`{"url":"https://example.com","prompt":"p"}`)},
	"mcp":  {Tool: "mcp__other__do", Input: json.RawMessage(`{}`)},
	"agent": {Tool: "Agent",
		Input: json.RawMessage(`{"description":"d","prompt":"p","subagent_type":"general-purpose"}`)},
	"own":     {Tool: "mcp__arbiter__report_progress", Input: json.RawMessage(`{"message":"m"}`)},
	"unknown": {Tool: "Telepathy", Input: json.RawMessage(`{}`)},
	// The CLI asks about neither by itself, and both create a branch and a directory.
	"worktree": {Tool: "EnterWorktree", Input: json.RawMessage(`{"name":"w"}`)},
	"apart": {Tool: "Agent",
		Input: json.RawMessage(
			`{"description":"d","prompt":"p","subagent_type":"general-purpose","isolation":"worktree"}`)},
}

// court is a loop that is not running, with the Arbiter and one working Orchestrator.
func court(t testing.TB, p policy.Policy, change func(*supervisor.State)) *Loop {
	t.Helper()
	p.CWD = "/w"
	p.Resolve = func(path string) (string, error) { return path, nil }
	l := NewLoop(p, func(time.Time, contract.Event) {}, slog.New(slog.DiscardHandler))
	s := supervisor.State{
		Options:  runconfig.Options{Run: testRun, CWD: "/w"}.WithDefaults(),
		RunState: supervisor.RunState{Lifecycle: lifecycle.State{Bridges: []lifecycle.Bridge{{Up: true}}}},
		Roster: roster.Roster{Agents: []*roster.Agent{
			{AgentIdentity: roster.AgentIdentity{AgentRef: bridge.AgentRef{ID: "arbiter", Generation: 1},
				Role: roster.RoleArbiter}, AgentProcess: roster.AgentProcess{Status: roster.Busy}},
			{AgentIdentity: roster.AgentIdentity{AgentRef: bridge.AgentRef{ID: "orch-1", Generation: 2},
				Role: roster.RoleOrchestrator, Name: "Orchestrator I"},
				AgentProcess: roster.AgentProcess{Status: roster.Busy}},
		}},
	}
	if change != nil {
		change(&s)
	}
	l.Restore(s)
	return l
}

// judgement returns the decision on a call of an agent, and its record.
func judgement(t testing.TB, l *Loop, agent string, p bridge.JudgeParams) (bridge.JudgeResult, input.CallDecided) {
	t.Helper()
	p.AgentRef = bridge.AgentRef{ID: agent,
		Generation: map[string]int{"arbiter": 1}[agent] + 2*map[string]int{"orch-1": 1}[agent]}
	r, err := l.Judge(t.Context(), p)
	if err != nil {
		t.Fatalf("judge %s: %v", p.Tool, err)
	}
	f := (<-l.inbox).Body.(input.CallDecided)
	return r, f
}

func bashCall(command string) bridge.JudgeParams {
	input, _ := json.Marshal(map[string]string{"command": command})
	return bridge.JudgeParams{Tool: "Bash", Input: input, ToolUse: "toolu_1"}
}

func rulesFor(t testing.TB, texts ...string) (list []policy.Rule) {
	t.Helper()
	for _, text := range texts {
		rule, err := policy.ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, rule)
	}
	return list
}

func TestJudgeByRulesAndMode(t *testing.T) {
	home := map[string]policy.Policy{}
	for _, mode := range []policy.Mode{policy.ModeAsk, policy.ModeRules, policy.ModeAcceptEdits, policy.ModeAllowAll} {
		home[string(mode)] = policy.Policy{Mode: mode, Allow: rulesFor(t, "Bash(git *)"),
			Deny: rulesFor(t, "Bash(git push*)", "mcp__arbiter__report_progress"),
			Ask:  rulesFor(t, "Bash(git commit*)", "mcp__other")}
	}
	home["closed"] = policy.Policy{Mode: policy.ModeAsk, Deny: rulesFor(t, "Read(//k/**)")}
	for _, tt := range []struct{ mode, call, want string }{
		{"ask", "git status", "allow rule"}, {"ask", "git push", "deny rule"},
		{"ask", "git status; git push -f", "deny rule"},
		{"ask", "git commit -m x", "ask rule"}, {"ask", "make", "allow mode"}, {"ask", "ls", "allow mode"},
		{"rules", "git status", "allow rule"}, {"rules", "git commit -m x", "deny rule"},
		{"rules", "touch x", "deny mode"}, {"rules", "ls", "allow mode"},
		{"rules", "ls > x", "deny mode"},
		{"accept-edits", "make", "allow mode"}, {"allow-all", "make", "allow mode"},
		{"allow-all", "git push", "deny rule"}, {"allow-all", "git commit", "ask rule"},
		{"ask", "/edit", "allow mode"}, {"rules", "/edit", "deny mode"}, {"rules", "/read", "allow mode"},
		{"rules", "/web", "deny mode"}, {"rules", "/agent", "allow mode"},
		{"ask", "/mcp", "ask rule"}, {"rules", "/mcp", "deny rule"}, {"ask", "/own", "deny rule"},
		{"allow-all", "/own", "deny rule"},
		{"ask", "/worktree", "ask mode"}, {"accept-edits", "/worktree", "ask mode"},
		{"rules", "/worktree", "deny mode"},
		{"ask", "/apart", "ask mode"}, {"accept-edits", "/apart", "ask mode"}, {"rules", "/apart", "deny mode"},
		{"allow-all", "/apart", "allow mode"},
		{"closed", "grep -R key .", "ask mode"}, {"closed", "cat l*/x", "ask mode"},
		{"closed", "cat a.go", "allow mode"}, {"closed", "/web", "allow mode"},
		{"ask", "/unknown", "ask mode"}, {"rules", "/unknown", "deny mode"}, {"accept-edits", "/unknown", "ask mode"},
	} {
		p := bashCall(tt.call)
		if class, ok := strings.CutPrefix(tt.call, "/"); ok {
			p = toolClasses[class]
		}
		l := court(t, home[tt.mode], nil)
		r, f := judgement(t, l, "orch-1", p)
		if got := r.Behavior + " " + f.By; got != tt.want {
			t.Errorf("%s: %s: %s (%s), want %s", tt.mode, tt.call, got, f.Reason, tt.want)
		}
		if f.Behavior != r.Behavior || f.Action != permission.Key(p.Tool, p.Input) ||
			(r.Behavior == bridge.Deny) != strings.Contains(r.Message, "Denied:") {
			t.Errorf("%s: %s: %+v is recorded as %+v", tt.mode, tt.call, r, f)
		}
	}
}

// TestTheArbiterChangesNothing: with any rules and by any tool, the Arbiter cannot change a file.
func TestTheArbiterChangesNothing(t *testing.T) {
	l := court(t, policy.Policy{Mode: policy.ModeAllowAll,
		Allow: rulesFor(t, "Bash", "Edit", "Agent", "WebFetch", "mcp__other")}, func(s *supervisor.State) {
		s.Permission.Rules = []string{"Bash", "Edit"}
	})
	calls := slices.Collect(maps.Values(toolClasses))
	for _, command := range []string{"ls", "echo x > a", "echo x >> a", "cat a | tee b", "true", "echo x >| a",
		"cat <<E > a\nE"} {
		calls = append(calls, bashCall(command))
	}
	for _, tool := range []string{"Edit", "MultiEdit", "NotebookEdit", "Task", "Workflow", "SendMessage",
		"mcp__arbiter__update_plan"} {
		calls = append(calls, bridge.JudgeParams{Tool: tool, Input: json.RawMessage(`{}`)})
	}
	for _, p := range calls {
		want := bridge.Deny
		if p.Tool == "Read" {
			want = bridge.Allow
		}
		if r, f := judgement(t, l, "arbiter", p); r.Behavior != want || want == bridge.Deny && f.By != contract.ByRole {
			t.Errorf("%s %s: %s by %s", p.Tool, p.Input, r.Behavior, f.By)
		}
		answer := l.ruling(toolCall{agent: "arbiter", tool: p.Tool, input: p.Input, asked: true})
		if answer.Behavior != want {
			t.Errorf("asked by can_use_tool, %s %s: %+v", p.Tool, p.Input, answer)
		}
	}
}

// TestTheArbiterHasItsTools: each tool that it is offered is allowed.
func TestTheArbiterHasItsTools(t *testing.T) {
	l := court(t, policy.Policy{Mode: policy.ModeRules}, func(*supervisor.State) {})
	for _, spec := range toolset.Arbiter() {
		if r, _ := judgement(t, l, "arbiter",
			bridge.JudgeParams{Tool: "mcp__arbiter__" + spec.Name,
				Input: json.RawMessage(`{}`)}); r.Behavior != bridge.Allow {
			t.Errorf("%s: %+v", spec.Name, r)
		}
	}
}

// TestModesBoundTheirSubagents: a tool that a mode does not have is denied to its subagents, too.
func TestModesBoundTheirSubagents(t *testing.T) {
	l := court(t, policy.Policy{Mode: policy.ModeAllowAll}, func(s *supervisor.State) {
		s.Options.Modes = []agents.Agent{{Name: "reader", Tools: []string{"Read", "Bash(git log *)"}}}
		s.Agents[1].Mode = "reader"
	})
	for _, subagent := range []string{"", "a0b8"} {
		for command, want := range map[string]string{"git log -1": bridge.Allow, "git push": bridge.Deny} {
			p := bashCall(command)
			p.Subagent = subagent
			if r, f := judgement(t, l, "orch-1", p); r.Behavior != want ||
				want == bridge.Deny && f.By != contract.ByAgent {
				t.Errorf("%s of %q: %+v", command, subagent, f)
			}
		}
	}
}

// TestDoubtIsADenial: every cause of doubt on this side of the bridge denies a call of every class.
func TestDoubtIsADenial(t *testing.T) {
	everything := policy.Policy{Mode: policy.ModeAllowAll,
		Allow: rulesFor(t, "Bash", "Edit", "Read", "WebFetch", "mcp__other", "Telepathy", "EnterWorktree", "Agent")}
	causes := map[string]func(s *supervisor.State){
		"run ending":     func(s *supervisor.State) { s.Ending = &supervisor.Ending{} },
		"halted":         func(s *supervisor.State) { s.Halted = true },
		"agent stopping": func(s *supervisor.State) { s.Agents[1].Status = roster.Stopping },
		"being replaced": func(s *supervisor.State) { s.Agents[1].Status = roster.Restarting },
		"agent ended":    func(s *supervisor.State) { s.Agents[1].Status = roster.Ended },
		"parked":         func(s *supervisor.State) { s.Agents[1].Status = roster.Parked },
		"process gone":   func(s *supervisor.State) { s.Agents[1].Status = roster.Down },
		"older process":  func(s *supervisor.State) { s.Agents[1].Generation = 3 },
		"newer process":  func(s *supervisor.State) { s.Agents[1].Generation = 1 },
		"unknown agent":  func(s *supervisor.State) { s.Agents = s.Agents[:1] },
		"unknown mode":   func(s *supervisor.State) { s.Agents[1].Mode = "no-such-mode" },
	}
	for cause, change := range causes {
		for class, p := range toolClasses {
			if r, f := judgement(t, court(t, everything, change), "orch-1", p); r.Behavior != bridge.Deny ||
				r.Message == "" {
				t.Errorf("%s, %s: %+v by %s", cause, class, r, f.By)
			}
		}
	}
	// A turn may always end: a verdict itself does nothing.
	ending := court(t, policy.Policy{Mode: policy.ModeRules}, causes["run ending"])
	if r, f := judgement(t, ending, "orch-1",
		bridge.JudgeParams{Tool: policy.VerdictTool, Input: json.RawMessage("{}")}); r.Behavior != bridge.Allow {
		t.Errorf("a verdict in a run that ends: %+v by %s", r, f.By)
	}
	for class, p := range toolClasses {
		p.AgentRef = bridge.AgentRef{ID: "orch-1", Generation: 2}
		l := court(t, everything, nil)
		l.Trouble(errors.New("no space left on device"))
		if r, f := judgement(t, l, "orch-1", p); r.Behavior != bridge.Deny || f.By != contract.ByJournal {
			t.Errorf("journal failing, %s: %+v", class, f)
		}
		if r, err := l.Permission(t.Context(), bridge.PermissionParams{AgentRef: p.AgentRef, Request: "p", Tool: p.Tool,
			Input: p.Input}); err == nil || r.Behavior == bridge.Allow {
			t.Errorf("journal failing, asked for %s: %+v, %v", class, r, err)
		}

		synctest.Test(t, func(t *testing.T) {
			l := court(t, everything, nil)
			for range inboxSize {
				l.inbox <- input.Input{}
			}
			ctx, cancel := context.WithTimeout(t.Context(), bridge.JudgeTimeout)
			defer cancel()
			if r, err := l.Judge(ctx, p); !errors.Is(err, context.DeadlineExceeded) || r.Behavior != "" {
				t.Errorf("loop stuck, %s: %+v, %v", class, r, err)
			}
			close(l.done)
			if r, err := l.Judge(t.Context(), p); err == nil || r.Behavior != "" {
				t.Errorf("run over, %s: %+v, %v", class, r, err)
			}
		})
	}
}

// TestNoAnswer: a call that needs a permission is denied at once if no human is present, and after the time limit
// if none answers. Arbiter's own tools and the Agent tool need no permission; the calls of a subagent do.
func TestNoAnswer(t *testing.T) {
	askAll := policy.Policy{Mode: policy.ModeAllowAll,
		Ask: rulesFor(t, "Bash", "Edit", "Read", "WebFetch", "mcp__other", "Telepathy", "EnterWorktree", "Agent")}
	for class, p := range toolClasses {
		if class == "own" || class == "agent" {
			continue
		}
		l := court(t, askAll, nil)
		r, _ := judgement(t, l, "orch-1", p)
		d := l.ruling(toolCall{agent: "orch-1", tool: p.Tool, input: p.Input, asked: true})
		if r.Behavior != bridge.Ask || d.Behavior != policy.Ask {
			t.Errorf("%s: %+v, then %+v", class, r, d)
		}
	}
}

// TestToldOnce: a call that a rule allowed when it was judged is not reported again if the CLI still asks about
// it.
func TestToldOnce(t *testing.T) {
	l := court(t, policy.Policy{Mode: policy.ModeAsk, Allow: rulesFor(t, "Bash(make)")}, nil)
	call := bashCall("make")
	judgement(t, l, "orch-1", call)
	ask := func() input.PermissionAsked {
		go l.Permission(t.Context(), bridge.PermissionParams{AgentRef: bridge.AgentRef{ID: "orch-1", Generation: 2},
			Request: "p", Tool: "Bash", Input: call.Input, ToolUse: call.ToolUse})
		return (<-l.inbox).Body.(input.PermissionAsked)
	}
	if f := ask(); !f.Reported || f.Behavior != bridge.Allow {
		t.Errorf("%+v", f)
	}
	if f := ask(); f.Reported {
		t.Error("the same call twice")
	}
	for i := range 3 * maxJudgedCalls {
		call.ToolUse = strings.Repeat("x", i+1)
		judgement(t, l, "orch-1", call)
	}
	if len(l.judged.list) != maxJudgedCalls {
		t.Errorf("%d calls are kept", len(l.judged.list))
	}
	close(l.done)
}

// TestLongInputs: for a long call that may run, only its hash is recorded.
func TestLongInputs(t *testing.T) {
	l := court(t, policy.Policy{Mode: policy.ModeAcceptEdits, Deny: rulesFor(t, "Bash")}, nil)
	long := bridge.JudgeParams{Tool: "Write",
		Input: json.RawMessage(`{"file_path":"/w/a","content":"` + strings.Repeat("x", judgedInput) + `"}`)}
	if _, f := judgement(t, l, "orch-1", long); string(f.Params.Input) != "null" ||
		f.Action != permission.Key("Write", long.Input) {
		t.Errorf("recorded: %.100s", f.Params.Input)
	}
	if _, f := judgement(t, l, "orch-1",
		bashCall("echo "+strings.Repeat("x", judgedInput))); len(f.Params.Input) < judgedInput {
		t.Errorf("recorded of a denial: %.100s", f.Params.Input)
	}
}

// TestTheCLIsQuestionIsAHumans: if the CLI asks about a call and a human is present, no allow list of Arbiter
// answers for the human. Without a human, and for checks, calls that only read are allowed.
func TestTheCLIsQuestionIsAHumans(t *testing.T) {
	calls := map[string]toolCall{"ls": {tool: "Bash", input: bashCall("ls").Input}}
	for _, class := range []string{"read", "agent"} {
		calls[class] = toolCall{tool: toolClasses[class].Tool, input: toolClasses[class].Input}
	}
	for name, call := range calls {
		call.agent = "orch-1"
		for _, tt := range []struct {
			mode         policy.Mode
			asked, check bool
			want         string
		}{
			{policy.ModeAsk, true, false, policy.Ask}, {policy.ModeAcceptEdits, true, false, policy.Ask},
			{policy.ModeRules, true, false, policy.Allow}, {policy.ModeAllowAll, true, false, policy.Allow},
			{policy.ModeAsk, false, true, policy.Allow}, {policy.ModeAcceptEdits, false, true, policy.Allow},
		} {
			call.asked, call.check = tt.asked, tt.check
			if d := court(t, policy.Policy{Mode: tt.mode}, nil).ruling(call); d.Behavior != tt.want {
				t.Errorf("%s, mode %s, asked %v, check %v: %s (%s), want %s", name, tt.mode, tt.asked, tt.check,
					d.Behavior, d.Reason, tt.want)
			}
		}
	}
}

// TestJudgedWhereTheShellIs: a relative name begins at the directory that the hook reports.
func TestJudgedWhereTheShellIs(t *testing.T) {
	l := court(t, policy.Policy{Mode: policy.ModeAllowAll, Deny: rulesFor(t, "Read(//k/**)")}, nil)
	p := bashCall("cat id")
	for cwd, want := range map[string]string{"": bridge.Allow, "/w/sub": bridge.Allow, "/k": bridge.Deny} {
		p.CWD = cwd
		if r, f := judgement(t, l, "orch-1", p); r.Behavior != want {
			t.Errorf("in %q: %s (%s), want %s", cwd, r.Behavior, f.Reason, want)
		}
	}
}
