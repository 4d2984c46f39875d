package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// lenient writes user settings that allow more than the run does. The stand-in does not read them.
func lenient(t *testing.T) string {
	dir := t.TempDir()
	write(t, `{"permissions":{"allow":["Bash","Write","Edit"],"defaultMode":"bypassPermissions"}}`, dir,
		"settings.json")
	return "CLAUDE_CONFIG_DIR=" + dir
}

const overreach = `name: overreach
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use: [{tool: Write, input: {file_path: "{{.cwd}}/by-arbiter", content: x}}]
      - {expect: (?i)no such tool, use: [{tool: Edit, input: {file_path: "{{.cwd}}/kept", old_string: x, new_string: "y"}}]}
      - {expect: (?i)no such tool, use: [{tool: Bash, input: {command: echo x > by-arbiter, description: Write}}]}
      - {expect: (?i)no such tool, use: [{tool: Agent, input: {description: Try, subagent_type: general-purpose, prompt: Try}}]}
      - {expect: (?i)no such tool, use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Try it.}}]}
      - {verdict: {decision: CONTINUE, message: Patience., reason: r}}
    otherwise: {verdict: {decision: COMPLETE, message: It is done., summary: s, reason: r}}
  - name: orchestrator
    match: {role: orchestrator}
    steps:
      - use: [{tool: Bash, input: {command: ls, description: Look}}]
      - {expect: kept, use: [{tool: Bash, input: {command: touch by-orchestrator, description: Make}}]}
      - {expect: "(?s)Denied: .*nothing is asked", use: [{tool: Bash, input: {command: ls; rm kept, description: Burn}}]}
      - {expect: "(?s)Denied: |Permission to use Bash", use: [{tool: Write, input: {file_path: "{{.cwd}}/by-orchestrator", content: x}}]}
      - {expect: "Denied: ", use: [{tool: Agent, input: {description: Try, subagent_type: general-purpose, prompt: Try}}]}
      - {expect: I may not, verdict: {expects_response: true, kind: done, message: Tried., handoff: {accomplished: [], remaining: [], key_context: none}}}
  - name: subagent
    match: {role: subagent}
    steps:
      - use: [{tool: Bash, input: {command: pwd, description: Look}}]
      - {expect: /, use: [{tool: Bash, input: {command: touch by-subagent, description: Make}}]}
      - {expect: "Denied: ", say: I may not.}
`

// TestModeRulesDenies: in mode rules, what the CLI runs without asking runs, and all that it asks about is denied,
// without a question. The Arbiter changes nothing.
func TestModeRulesDenies(t *testing.T) {
	t.Parallel()
	eachPlayerLong(t, func(t *testing.T, p player) {
		s, model := hired(t, p, overreach, map[string]string{"kept": "x\n"}, "--no-input",
			"--permissions", "rules", "--deny", "Bash(rm *)", "--task", "Try")
		s.finish(contract.ExitComplete)
		onScript(t, model)
		left, _ := filepath.Glob(filepath.Join(collect[contract.Session](s)[0].CWD, "*"))
		if len(left) != 1 || filepath.Base(left[0]) != "kept" {
			t.Errorf("files: %v", left)
		}
		var got []string
		for _, b := range collect[contract.Permission](s) {
			who := ""
			if b.Subagent != "" {
				who = " to a subagent"
			}
			if len(b.Action) != 64 || b.Reason == "" {
				t.Errorf("without action or reason: %+v", b)
			}
			got = append(got, fmt.Sprintf("%s %s by %s%s", b.Tool, b.Behavior, b.By, who))
		}
		want := []string{"Bash deny by mode", "Bash deny by rule", "Write deny by mode",
			"Bash deny by mode to a subagent"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("permissions, -want +got:\n%s", diff)
		}
	})
}

const touching = `name: touching
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Touch.}}]
      - {verdict: {decision: CONTINUE, message: Patience., reason: r}}
    otherwise: {verdict: {decision: COMPLETE, message: It is done., summary: s, reason: r}}
  - name: orchestrator
    match: {role: orchestrator}
    steps:
      - use: [{tool: Bash, input: {command: touch one, description: Make}}]
      - use: [{tool: Bash, input: {command: touch two, description: Make}}]
      - use: [{tool: Agent, input: {description: Try, subagent_type: general-purpose, prompt: Try}}]
      - {verdict: {expects_response: true, kind: done, message: Touched., handoff: {accomplished: [], remaining: [], key_context: none}}}
  - name: subagent
    match: {role: subagent}
    steps:
      - use: [{tool: Bash, input: {command: touch three, description: Make}}]
      - use: [{tool: Bash, input: {command: touch four; git push, description: Push}}]
      - {expect: not that, say: So be it.}
`

// TestAnAnswerWithARule: an answer counts only for the action that it names. A rule in an answer must cover the
// request, and applies from then on, also to subagents.
func TestAnAnswerWithARule(t *testing.T) {
	t.Parallel()
	eachPlayerLong(t, func(t *testing.T, p player) {
		s, _ := hired(t, p, touching, nil, "--task", "Touch")
		one := await[contract.PermissionRequest](s, "a request", nil)
		s.send(contract.Permit{Request: one.Request, Behavior: bridge.Allow, Action: strings.Repeat("0", 64)})
		await[contract.Rejected](s, "another action is rejected", nil)
		s.send(contract.Permit{Request: one.Request, Behavior: bridge.Allow, Scope: contract.ScopeRun,
			Rule: "Bash(git *)"})
		await(s, "a rule that does not cover it is rejected", func(_ string, r contract.Rejected) bool {
			return strings.Contains(r.Message, "does not cover")
		})
		s.send(contract.Permit{Request: one.Request, Behavior: bridge.Allow, Action: one.Action,
			Scope: contract.ScopeRun, Rule: "Bash(touch *)"})
		four := await(s, "what the rule does not cover", func(_ string, r contract.PermissionRequest) bool {
			var input struct{ Command string }
			return json.Unmarshal(r.Input, &input) == nil && strings.Contains(input.Command, "four")
		})
		if four.Subagent == "" || four.Action == one.Action {
			t.Errorf("asked: %+v", four)
		}
		s.send(contract.Permit{Request: four.Request, Behavior: bridge.Deny, Message: "not that"})
		s.completes()
		if n := len(collect[contract.PermissionRequest](s)); n != 2 {
			t.Errorf("%d requests", n)
		}
		var got []string
		for _, b := range collect[contract.Permission](s) {
			got = append(got, fmt.Sprintf("%s by %s %s %s", b.Behavior, b.By, b.Rule, b.Scope))
		}
		want := []string{"allow by human Bash(touch *) run", "deny by human  "}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("permissions, -want +got:\n%s", diff)
		}
		s.files(map[string]bool{"one": true, "two": true, "three": true, "four": false})
	})
}

// TestAskRulesHoldOverTheUsersSettings: what the user's own settings allow is asked about, also for subagents, where an
// ask rule says so. Only the exact action can be allowed then: a rule would change nothing.
func TestAskRulesHoldOverTheUsersSettings(t *testing.T) {
	t.Parallel()
	eachPlayerLong(t, func(t *testing.T, p player) {
		s, _ := hired(t, p, touching, nil, "--env", lenient(t), "--ask", "Bash(touch *)", "--task", "Touch")
		for _, name := range []string{"one", "two", "three", "four"} {
			r := await(s, name, func(_ string, r contract.PermissionRequest) bool {
				return strings.Contains(string(r.Input), "touch "+name)
			})
			if s.send(contract.Permit{Request: r.Request, Behavior: bridge.Allow, Scope: contract.ScopeRun,
				Rule: "Bash(touch *)"}); name == "one" {
				await(s, "a rule is rejected", func(_ string, r contract.Rejected) bool {
					return strings.Contains(r.Message, "ask rule")
				})
			}
			behavior := map[bool]string{true: bridge.Deny, false: bridge.Allow}[name == "four"]
			s.send(contract.Permit{Request: r.Request, Behavior: behavior, Action: r.Action, Message: "not that"})
		}
		s.completes()
		s.files(map[string]bool{"one": true, "two": true, "three": true, "four": false})
	})
}

// TestAlwaysHere: a call that is always allowed in a workspace is not asked about in the next run there, but is
// asked about elsewhere.
func TestAlwaysHere(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	p := player{name: "stand-in", args: []string{"--stand-in"}}
	state, work := t.TempDir(), t.TempDir()
	args := func(cwd string) []string { return []string{"--state-dir", state, "--cwd", cwd, "--task", "Touch"} }
	s, _ := hired(t, p, touching, nil, args(work)...)
	one := await[contract.PermissionRequest](s, "a request", nil)
	s.send(contract.Permit{Request: one.Request, Behavior: bridge.Allow, Scope: contract.ScopeAlways,
		Rule: "Bash(touch *)"})
	four := await(s, "another", func(_ string, r contract.PermissionRequest) bool { return r.Request != one.Request })
	s.send(contract.Permit{Request: four.Request, Behavior: bridge.Deny, Message: "not that"})
	s.completes()

	s, _ = hired(t, p, touching, nil, append(args(work), "--permissions", "rules", "--no-input")...)
	s.offScript = true // because the last call is denied
	s.finish(contract.ExitComplete)
	s.files(map[string]bool{"one": true, "two": true, "three": true, "four": false})
	elsewhere := t.TempDir()
	s, _ = hired(t, p, touching, nil, append(args(elsewhere), "--permissions", "rules", "--no-input")...)
	s.offScript = true
	s.finish(contract.ExitComplete)
	s.files(map[string]bool{"one": false, "two": false, "three": false})

	var out strings.Builder
	if code := run([]string{"arbiter", "grants", "rm", "Bash(touch *)", "--state-dir", state, "--cwd", work},
		strings.NewReader(""), &out, &out); code != 0 {
		t.Fatalf("taken back: %d, %s", code, out.String())
	}
	s, _ = hired(t, p, touching, nil, append(args(work), "--permissions", "rules", "--no-input")...)
	s.offScript = true
	s.finish(contract.ExitComplete)
	if b := collect[contract.Permission](s); len(b) == 0 || b[0].Behavior != bridge.Deny {
		t.Errorf("taken back: %+v", b)
	}
}
