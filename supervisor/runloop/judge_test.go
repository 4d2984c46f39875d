package runloop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/trust"
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
func court(t testing.TB, o runconfig.Options, change func(*supervisor.State)) *Loop {
	t.Helper()
	p := policy.Policy{CWD: "/w", Resolve: func(path string) (string, error) { return path, nil }}
	l := NewLoop(p, func(time.Time, contract.Event) {}, slog.New(slog.DiscardHandler))
	o.Run, o.CWD = testRun, "/w"
	s := supervisor.State{
		Options:  o.WithDefaults(),
		RunState: supervisor.RunState{Lifecycle: supervisor.LifecycleState{Bridges: []supervisor.Bridge{{Up: true}}}},
		Roster: supervisor.Roster{Agents: []*supervisor.Agent{
			{AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: "arbiter", Generation: 1},
				Role: supervisor.RoleArbiter}, AgentProcess: supervisor.AgentProcess{Status: supervisor.AgentBusy}},
			{AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: "orch-1", Generation: 2},
				Role: supervisor.RoleOrchestrator, Name: "Orchestrator I"},
				AgentProcess: supervisor.AgentProcess{Status: supervisor.AgentBusy}},
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
	testkit.Need(t, err == nil, "judge %s: %v", p.Tool, err)
	f := (<-l.inbox).Body.(input.CallDecided)
	return r, f
}

func bashCall(command string) bridge.JudgeParams {
	input, _ := json.Marshal(map[string]string{"command": command})
	return bridge.JudgeParams{Tool: "Bash", Input: input, ToolUse: "toolu_1"}
}

// TestTheJudgeTakesAway: the hook only denies and asks. What no deny or ask rule is about is left to the CLI, in every
// mode and whatever allow rules say.
func TestTheJudgeTakesAway(t *testing.T) {
	options := map[string]runconfig.Options{}
	for _, mode := range []string{"ask", "rules", "accept-edits", "allow-all"} {
		options[mode] = runconfig.Options{Permissions: mode, Allow: []string{"Bash(git *)"},
			Deny: []string{"Bash(git push*)", "mcp__arbiter__report_progress"}, Ask: []string{"Bash(git commit*)", "mcp__other"}}
	}
	options["closed"] = runconfig.Options{Permissions: "ask", Deny: []string{"Read(//k/**)"}}
	for _, tt := range []struct{ mode, call, want string }{
		{"ask", "git status", "pass "}, {"ask", "git push", "deny rule"}, {"ask", "git status; git push -f", "deny rule"},
		{"ask", "git commit -m x", "ask rule"}, {"ask", "make", "pass "}, {"ask", "ls", "pass "},
		{"rules", "git status", "pass "}, {"rules", "git commit -m x", "deny rule"}, {"rules", "touch x", "pass "},
		{"accept-edits", "make", "pass "}, {"allow-all", "make", "pass "},
		{"allow-all", "git push", "deny rule"}, {"allow-all", "git commit", "ask rule"},
		{"ask", "eval x", "ask rule"}, {"rules", "eval x", "deny rule"}, {"allow-all", "eval x", "ask rule"},
		{"ask", "/edit", "pass "}, {"rules", "/edit", "pass "}, {"rules", "/web", "pass "}, {"rules", "/agent", "pass "},
		{"ask", "/mcp", "ask rule"}, {"rules", "/mcp", "deny rule"}, {"ask", "/own", "deny rule"},
		{"allow-all", "/own", "deny rule"}, {"ask", "/unknown", "pass "},
		{"ask", "/worktree", "ask mode"}, {"accept-edits", "/worktree", "ask mode"}, {"rules", "/worktree", "deny mode"},
		{"ask", "/apart", "ask mode"}, {"rules", "/apart", "deny mode"}, {"allow-all", "/apart", "pass "},
		{"closed", "grep -R key /", "ask rule"}, {"closed", "cat a.go", "pass "}, {"closed", "cat /k/x", "deny rule"},
		{"closed", "/web", "pass "},
	} {
		p := bashCall(tt.call)
		if class, ok := strings.CutPrefix(tt.call, "/"); ok {
			p = toolClasses[class]
		}
		l := court(t, options[tt.mode], nil)
		r, f := judgement(t, l, "orch-1", p)
		got := r.Behavior + " " + f.By
		testkit.Check(t, got == tt.want, "%s: %s: %s (%s), want %s", tt.mode, tt.call, got, f.Reason, tt.want)
		testkit.Check(t, f.Behavior == r.Behavior && f.Action == input.PermissionKey(p.Tool, p.Input) &&
			(r.Behavior == bridge.Deny) == strings.Contains(r.Message, "Denied:"), "%s: %s: %+v is recorded as %+v",
			tt.mode, tt.call, r, f)
	}
}

// TestTheArbiterChangesNothing: with any rules and by any tool, the Arbiter cannot change a file.
func TestTheArbiterChangesNothing(t *testing.T) {
	l := court(t, runconfig.Options{Permissions: "allow-all",
		Allow: []string{"Bash", "Edit", "Agent", "WebFetch", "mcp__other"}}, func(s *supervisor.State) {
		s.Permission.Rules = []string{"Bash", "Edit"}
	})
	calls := slices.Collect(maps.Values(toolClasses))
	for _, command := range []string{"ls", "echo x > a", "echo x >> a", "cat a | tee b", "true", "echo x >| a",
		"cat <<E > a\nE"} {
		calls = append(calls, bashCall(command))
	}
	for _, tool := range []string{"Edit", "MultiEdit", "NotebookEdit", "Task", "Workflow", "SendMessage",
		"mcp__arbiter__update_plan", bridge.NetworkTool} {
		calls = append(calls, bridge.JudgeParams{Tool: tool, Input: json.RawMessage(`{}`)})
	}
	for _, p := range calls {
		want, answered := bridge.Deny, bridge.Deny
		if p.Tool == "Read" || p.Tool == "WebFetch" || p.Tool == bridge.NetworkTool {
			want, answered = bridge.Pass, bridge.Ask
		}
		if r, f := judgement(t, l, "arbiter", p); r.Behavior != want || want == bridge.Deny && f.By != contract.ByRole {
			t.Errorf("%s %s: %s by %s", p.Tool, p.Input, r.Behavior, f.By)
		}
		answer := l.answer(toolCall{agent: "arbiter", tool: p.Tool, input: p.Input})
		testkit.Same(t, fmt.Sprintf("asked by can_use_tool, %s %s: %+v", p.Tool, p.Input, answer), answered,
			answer.Behavior)
	}
}

// TestTheArbiterHasItsTools: each tool that it is offered is allowed.
func TestTheArbiterHasItsTools(t *testing.T) {
	l := court(t, runconfig.Options{Permissions: "rules"}, func(*supervisor.State) {})
	for _, spec := range supervisor.ArbiterTools() {
		r, _ := judgement(t, l, "arbiter",
			bridge.JudgeParams{Tool: "mcp__arbiter__" + spec.Name, Input: json.RawMessage(`{}`)})
		testkit.Check(t, r.Behavior == bridge.Pass, "%s: %+v", spec.Name, r)
	}
}

// TestModesBoundTheirSubagents: a tool that a mode does not have is denied to its subagents, too.
func TestModesBoundTheirSubagents(t *testing.T) {
	l := court(t, runconfig.Options{Permissions: "allow-all"}, func(s *supervisor.State) {
		s.Options.Modes = []agents.Agent{{Name: "reader", Tools: []string{"Read", "Bash(git log *)"}}}
		s.Agents[1].Mode = "reader"
	})
	for _, subagent := range []string{"", "a0b8"} {
		for command, want := range map[string]string{"git log -1": bridge.Pass, "git push": bridge.Deny} {
			p := bashCall(command)
			p.Subagent = subagent
			r, f := judgement(t, l, "orch-1", p)
			testkit.Check(t, r.Behavior == want && (want != bridge.Deny || f.By == contract.ByAgent), "%s of %q: %+v",
				command, subagent, f)
		}
	}
}

// TestWhoMayOnlyRead: a successor changes nothing before the Arbiter has answered it, and one whose context is full
// reads, commits and hands off. What the run records says why.
func TestWhoMayOnlyRead(t *testing.T) {
	read, edit, commit := bashCall("git log -1"), bridge.JudgeParams{Tool: "Edit", Input: json.RawMessage(`{}`)},
		bashCall("git add -A && git commit -m x")
	done := bridge.JudgeParams{Tool: bridge.VerdictTool, Input: json.RawMessage(`{}`)}
	tool := func(name string) bridge.JudgeParams {
		return bridge.JudgeParams{Tool: name, Input: json.RawMessage(`{}`)}
	}
	for name, c := range map[string]struct {
		change func(s *supervisor.State)
		by     string
		passes []bridge.JudgeParams
		denied []bridge.JudgeParams
	}{
		"a successor": {func(s *supervisor.State) { s.Agents[1].Unexamined = true }, contract.ByExam,
			[]bridge.JudgeParams{read, done, tool("Agent"), tool("Grep")},
			[]bridge.JudgeParams{edit, commit, bashCall("rm -f a"), tool("Monitor"), tool("NotebookEdit")}},
		"a full context": {func(s *supervisor.State) { s.Agents[1].Context.Pct = 96 }, contract.ByContext,
			[]bridge.JudgeParams{read, done, commit}, []bridge.JudgeParams{edit, bashCall("go test"),
				{Tool: "Agent", Input: json.RawMessage(`{}`)}}},
		"not that full": {func(s *supervisor.State) { s.Agents[1].Context.Pct = 94 }, "",
			[]bridge.JudgeParams{read, done, commit, edit}, nil},
		"no level": {func(s *supervisor.State) { s.Agents[1].Context.Pct, s.Options.ContextStop = 110, 0 }, "",
			[]bridge.JudgeParams{edit}, nil},
	} {
		l := court(t, runconfig.Options{Permissions: "allow-all", ContextStop: 95}, func(s *supervisor.State) {
			s.Agents[1].WarnedLevel = supervisor.LevelCritical
			c.change(s)
		})
		for _, p := range c.passes {
			r, f := judgement(t, l, "orch-1", p)
			testkit.Check(t, r.Behavior == bridge.Pass, "%s: %s %s: %+v", name, p.Tool, p.Input, f)
		}
		for _, p := range c.denied {
			if r, f := judgement(t, l, "orch-1", p); r.Behavior != bridge.Deny || f.By != c.by || f.Reason == "" {
				t.Errorf("%s: %s %s: %+v", name, p.Tool, p.Input, f)
			}
		}
	}
}

// TestAFreshReadingCounts: the answer of a model that fills its context may have the next call in it, so what that
// answer has reported counts before the loop has taken it.
func TestAFreshReadingCounts(t *testing.T) {
	edit := bridge.JudgeParams{Tool: "Edit", Input: json.RawMessage(`{}`)}
	l := court(t, runconfig.Options{Permissions: "allow-all", ContextCritical: 85, ContextStop: 95}, nil)
	worker := bridge.AgentRef{ID: "orch-1", Generation: 2}
	for _, c := range []struct {
		ref  bridge.AgentRef
		body bridge.EventBody
		want string
	}{
		{worker, bridge.Context{Window: 100, Pct: 94}, bridge.Pass},
		{worker, bridge.Context{Window: 100, Pct: 96}, bridge.Deny},
		{worker, bridge.Compact{Blocked: true}, bridge.Deny},
		{bridge.AgentRef{ID: "orch-1", Generation: 1}, bridge.Context{Window: 100, Pct: 10}, bridge.Deny}, // an earlier one
		{worker, bridge.Compact{}, bridge.Pass},
	} {
		l.Event(bridge.Event{AgentRef: c.ref, Body: c.body})
		<-l.inbox
		r, f := judgement(t, l, worker.ID, edit)
		testkit.Check(t, r.Behavior == c.want, "%T %+v: %+v", c.body, c.body, f)
	}
}

// TestDoubtIsADenial: every cause of doubt on this side of the bridge denies a call of every class.
func TestDoubtIsADenial(t *testing.T) {
	everything := runconfig.Options{Permissions: "allow-all",
		Allow: []string{"Bash", "Edit", "Read", "WebFetch", "mcp__other", "Telepathy", "EnterWorktree", "Agent"}}
	causes := map[string]func(s *supervisor.State){
		"run ending":     func(s *supervisor.State) { s.Ending = &supervisor.Ending{} },
		"halted":         func(s *supervisor.State) { s.Halted = true },
		"agent stopping": func(s *supervisor.State) { s.Agents[1].Status = supervisor.AgentStopping },
		"being replaced": func(s *supervisor.State) { s.Agents[1].Status = supervisor.AgentRestarting },
		"agent ended":    func(s *supervisor.State) { s.Agents[1].Status = supervisor.AgentEnded },
		"parked":         func(s *supervisor.State) { s.Agents[1].Status = supervisor.AgentParked },
		"process gone":   func(s *supervisor.State) { s.Agents[1].Status = supervisor.AgentDown },
		"older process":  func(s *supervisor.State) { s.Agents[1].Generation = 3 },
		"newer process":  func(s *supervisor.State) { s.Agents[1].Generation = 1 },
		"unknown agent":  func(s *supervisor.State) { s.Agents = s.Agents[:1] },
		"unknown mode":   func(s *supervisor.State) { s.Agents[1].Mode = "no-such-mode" },
	}
	for cause, change := range causes {
		for class, p := range toolClasses {
			r, f := judgement(t, court(t, everything, change), "orch-1", p)
			testkit.Check(t, r.Behavior == bridge.Deny && r.Message != "", "%s, %s: %+v by %s", cause, class, r, f.By)
		}
	}
	for class, p := range toolClasses {
		p.AgentRef = bridge.AgentRef{ID: "orch-1", Generation: 2}
		l := court(t, everything, nil)
		l.Trouble(errors.New("no space left on device"))
		r, f := judgement(t, l, "orch-1", p)
		testkit.Check(t, r.Behavior == bridge.Deny && f.By == contract.ByJournal, "journal failing, %s: %+v", class, f)
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
			r, err := l.Judge(t.Context(), p)
			testkit.Check(t, err != nil && r.Behavior == "", "run over, %s: %+v, %v", class, r, err)
		})
	}
}

// TestNoAnswer: a call that needs a permission is denied at once if no human is present, and after the time limit
// if none answers. Arbiter's own tools and the Agent tool need no permission; the calls of a subagent do.
func TestNoAnswer(t *testing.T) {
	askAll := runconfig.Options{Permissions: "allow-all",
		Ask: []string{"Bash", "Edit", "Read", "WebFetch", "mcp__other", "Telepathy", "EnterWorktree", "Agent"}}
	for class, p := range toolClasses {
		if class == "own" || class == "agent" {
			continue
		}
		l := court(t, askAll, nil)
		r, _ := judgement(t, l, "orch-1", p)
		d := l.answer(toolCall{agent: "orch-1", tool: p.Tool, input: p.Input})
		testkit.Check(t, r.Behavior == bridge.Ask && d.Behavior == bridge.Ask, "%s: %+v, then %+v", class, r, d)
	}
}

// TestLongInputs: for a long call that may run, only its hash is recorded.
func TestLongInputs(t *testing.T) {
	l := court(t, runconfig.Options{Permissions: "accept-edits", Deny: []string{"Bash"}}, nil)
	long := bridge.JudgeParams{Tool: "Write",
		Input: json.RawMessage(`{"file_path":"/w/a","content":"` + strings.Repeat("x", judgedInput) + `"}`)}
	_, f := judgement(t, l, "orch-1", long)
	testkit.Check(t, string(f.Params.Input) == "null" && f.Action == input.PermissionKey("Write", long.Input),
		"recorded: %.100s", f.Params.Input)
	_, f = judgement(t, l, "orch-1", bashCall("echo "+strings.Repeat("x", judgedInput)))
	testkit.Check(t, len(f.Params.Input) >= judgedInput, "recorded of a denial: %.100s", f.Params.Input)
}

// TestTheCLIsQuestionIsAHumans: nothing but a human's answer to the same action answers a question of the CLI with
// allow, in no mode and by no rule. A check, which the supervisor runs, is also allowed by a rule over plain words.
func TestTheCLIsQuestionIsAHumans(t *testing.T) {
	everything := []string{"Bash", "Edit", "Read", "WebFetch", "mcp__other", "Agent", "Skill"}
	calls := maps.Clone(toolClasses)
	for _, line := range []string{"ls", "pwd", "git status", "make all", "go test ./...", "echo $(touch x)"} {
		calls[line] = bashCall(line)
	}
	for _, mode := range []string{"ask", "accept-edits", "rules", "allow-all"} {
		want := map[bool]string{true: bridge.Deny, false: bridge.Ask}[mode == "rules"]
		for name, p := range calls {
			l := court(t, runconfig.Options{Permissions: mode, Allow: everything}, func(s *supervisor.State) {
				s.Permission.Rules = everything
				s.Permission.Actions = []string{input.PermissionKey("Bash", bashCall("make all").Input)}
			})
			call := toolCall{agent: "orch-1", tool: p.Tool, input: p.Input}
			d := l.answer(call)
			granted := name == "make all"
			testkit.Check(t, granted == (d.Behavior == bridge.Allow) && (granted || d.Behavior == want),
				"%s, mode %s: %+v", name, mode, d)
			if p.Tool != "Bash" {
				continue
			}
			call.check = true
			plain := mode == "allow-all" || !strings.Contains(name, "$")
			if d := l.answer(call); plain != (d.Behavior == bridge.Allow) || !plain && d.Behavior != want {
				t.Errorf("check %s, mode %s: %+v", name, mode, d)
			}
		}
	}
	l := court(
		t,
		runconfig.Options{Permissions: "allow-all", Deny: []string{"Bash(make *)"}, Ask: []string{"Bash(go *)"}},
		nil,
	)
	for line, want := range map[string]string{"make all": bridge.Deny, "go test": bridge.Ask, "ls": bridge.Allow} {
		d := l.answer(toolCall{agent: "orch-1", tool: "Bash", input: bashCall(line).Input, check: true})
		testkit.Same(t, fmt.Sprintf("check %s: %+v", line, d), want, d.Behavior)
	}
}

// TestNoRuleAnswersAnAskRule: a request that an ask rule is about is offered no rule. With one, it would be answered
// together with other requests.
func TestNoRuleAnswersAnAskRule(t *testing.T) {
	l := court(t, runconfig.Options{Permissions: "ask", Ask: []string{"Read(.env)"}}, nil)
	for _, tt := range []struct {
		command, reason string
		offered         int
	}{{"cat a", "", 1}, {"cat .env", "", 0}, {"cat b", "rule", 0}} {
		ctx, cancel := context.WithCancel(t.Context())
		var asking sync.WaitGroup
		asking.Go(func() {
			_, _ = l.Permission(ctx, bridge.PermissionParams{AgentRef: bridge.AgentRef{ID: "orch-1", Generation: 2},
				Request: tt.command, Tool: "Bash", Input: bashCall(tt.command).Input, ReasonType: tt.reason,
				Suggestions: []string{"Bash(cat *)"}})
		})
		asked := (<-l.inbox).Body.(input.PermissionAsked)
		testkit.Same(t, tt.command, bridge.Ask, asked.Behavior)
		testkit.Same(t, tt.command+": rules", tt.offered, len(asked.Suggestions))
		cancel()
		<-l.inbox // it is withdrawn
		asking.Wait()
	}
}

// TestNativeRules: what the CLI is given.
func TestNativeRules(t *testing.T) {
	for name, tt := range map[string]struct {
		options runconfig.Options
		want    bridge.PermissionRules
		mode    string
	}{
		"nothing": {mode: "default"},
		"rules and grants": {runconfig.Options{Permissions: "rules", Allow: []string{"Bash(go test *)", "Edit(src/**)"},
			Deny: []string{"Write(secrets/**)", "Bash(git push:*)"}, Ask: []string{"Read(~/.ssh/**)"}},
			bridge.PermissionRules{Allow: []string{"Bash(go test *)", "Edit(//w/src/**)", "Bash(make *)", "Bash(npm test)"},
				Deny: []string{"Edit(//w/secrets/**)", "Bash(git push *)"}, Ask: []string{"Read(//h/.ssh/**)"}}, "default"},
		"edits": {runconfig.Options{Permissions: "accept-edits"},
			bridge.PermissionRules{Allow: []string{"Edit(//w/**)"}}, "default"},
		"everything": {runconfig.Options{Permissions: "allow-all"}, bridge.PermissionRules{Allow: everything},
			"bypassPermissions"},
	} {
		l := court(t, tt.options, func(s *supervisor.State) {
			if name == "rules and grants" {
				s.Permission.Rules = []string{"Bash(make *)"}
			}
		})
		l.policy.Home = "/h"
		if name == "rules and grants" {
			testkit.OK(t, l.Grants(&memory{}, []trust.Grant{{Rule: "Bash(npm test)"}}))
		}
		rules, mode, unsupported := l.nativeRules(l.Snapshot(), "orch-1")
		if diff := cmp.Diff(tt.want, rules); diff != "" || mode != tt.mode || len(unsupported) > 0 {
			t.Errorf("%s: mode %s, %q, -want +got:\n%s", name, mode, unsupported, diff)
		}
	}
	odd := court(t, runconfig.Options{Permissions: "accept-edits", Allow: []string{"Edit(src/**)"}}, nil)
	odd.policy.CWD = "/w/a[b]"
	odd.Snapshot().Options.CWD = "/w/a[b]"
	rules, mode, unsupported := odd.nativeRules(odd.Snapshot(), "orch-1")
	testkit.Check(t, mode == "acceptEdits" && len(rules.Allow) == 0 && len(unsupported) == 1,
		"a directory that no rule can name: %+v, %s, %q", rules, mode, unsupported)
}

// TestJudgedWhereTheShellIs: a relative name begins at the directory that the hook reports.
func TestJudgedWhereTheShellIs(t *testing.T) {
	l := court(t, runconfig.Options{Permissions: "allow-all", Deny: []string{"Read(//k/**)"}}, nil)
	p := bashCall("cat id")
	for cwd, want := range map[string]string{"": bridge.Pass, "/w/sub": bridge.Pass, "/k": bridge.Deny} {
		p.CWD = cwd
		r, f := judgement(t, l, "orch-1", p)
		testkit.Check(t, r.Behavior == want, "in %q: %s (%s), want %s", cwd, r.Behavior, f.Reason, want)
	}
}

// TestPlainLines: a rule covers a line of plain words, and no line in which a shell might read anything else.
func TestPlainLines(t *testing.T) {
	rules := parsed([]string{"Bash(go test *)", "Bash(make:*)", "Bash(npm run build)", "Bash(git * main)", "Bash(cargo*)",
		"Edit", `Bash(echo "a" *)`})
	for line, want := range map[string]string{
		"go test": "Bash(go test *)", "go  test ./... -run=X ": "Bash(go test *)", "make": "Bash(make:*)",
		"make A=1 -j4": "Bash(make:*)", " npm run build": "Bash(npm run build)", "npm run build x": "", "go testx": "",
		"go": "", "git x main": "", "cargo test": "", "echo a b": "", "A=1 make": "", "-x make": "", "": "", " ": "",
		"go test; x": "", "go test\nx": "", "go test\n": "", "go test\tx": "", "go test $X": "", "go test 'x'": "",
		"go test > x": "", "go test *": "", "go test {a,b}": "", "go test ~": "", "go test `x`": "", "go test #x": "",
		"go test \\": "", "go test \u00e9": "", "go test !x": "", "(make)": "", "go test a&b": "", "go test [a]": "",
		"go test a?": "", "go test x\x00": "", "go test x^y": "",
	} {
		rule, ok := plainly(rules, line)
		testkit.Check(t, rule == want && ok == (want != ""), "%q: %q, %v, want %q", line, rule, ok, want)
	}
	rule, ok := plainly(parsed([]string{"Bash(*)"}), "any thing")
	testkit.Check(t, ok && rule == "Bash(*)", "the rule for all commands: %q, %v", rule, ok)
}

// TestNoQuestionMoreThanTheCLI: Arbiter neither asks about nor denies a daily command line that the CLI allows
// in its default mode, neither without rules nor with rules about something else.
func TestNoQuestionMoreThanTheCLI(t *testing.T) {
	t.Parallel()
	lines := corpus.DailyLines(t, "../..").Lines
	for name, o := range map[string]runconfig.Options{
		"no rules":     {Permissions: "ask"},
		"accept edits": {Permissions: "accept-edits"},
		"deny":         {Permissions: "ask", Deny: []string{"Bash(git push *)", "Bash(rm -rf *)", "Bash(sudo *)"}},
		"typical": {Permissions: "ask", Allow: []string{"Bash(go test *)", "Bash(npm *)", "Bash(git *)", "Edit"},
			Ask: []string{"Bash(git push *)"}, Deny: []string{"Bash(rm -rf *)", "Bash(curl *)"}},
	} {
		l := court(t, o, nil)
		for _, line := range lines {
			if line.Asks {
				continue
			}
			if r, f := judgement(t, l, "orch-1", bashCall(line.Line)); r.Behavior != bridge.Pass {
				t.Errorf("%s: %s by %s %s (%s): %q", name, r.Behavior, f.By, f.Rule, f.Reason, line.Line)
			}
		}
	}
}
