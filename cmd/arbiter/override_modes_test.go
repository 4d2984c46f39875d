package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// clerk is a mode of a workspace that has, besides Read, one tool, and that only for some uses.
const clerk = "---\nname: clerk\ndescription: to keep the books\ntools: Read, Bash(git *)\nmodel: " +
	"claude-opus-5-5\neffort: low\n---\nKeep the books.\n"

// bounded is the play of a clerk and a reviewer who try calls that their modes forbid, themselves and by a
// subagent.
const bounded = `name: bounded
title: What they may not
actors:
  - name: arbiter
    match: {role: arbiter}
    otherwise:
      - expect: COMPLETE while
        use: [{tool: mcp__arbiter__release_orchestrator, input: {id: all, reason: enough}}]
      - {expect: "Released: |It is read", verdict: {decision: COMPLETE, message: It is done., summary: kept, reason: r}}
      - {expect: The books are kept, verdict: {decision: SELECT_MODE, mode: reviewer, message: Read them., reason: r}}
      - {expect: "kind: task", verdict: {decision: SELECT_MODE, mode: clerk, message: Keep the books., reason: r}}
      - {verdict: {decision: CONTINUE, message: Patience., reason: r}}
  - name: clerk
    match: {role: orchestrator, contains: Keep the books}
    steps:
      - use: [{tool: Bash, input: {command: git --version, description: Ask}}]
      - {expect: git version, use: [{tool: Bash, input: {command: ls, description: Look}}]}
      - {expect: for no more than Bash, use: [{tool: Bash, input: {command: rm kept, description: Burn}}]}
      - {expect: for no more than Bash, use: [{tool: Write, input: {file_path: "{{.cwd}}/written", content: x}}]}
      - {expect: (?i)no such tool, use: [{tool: Agent, input: {description: Try, subagent_type: general-purpose, prompt: Try for the clerk}}]}
      - {verdict: {expects_response: true, kind: done, message: The books are kept., handoff: {accomplished: [kept], remaining: [], key_context: none}}}
  - name: reviewer
    match: {role: orchestrator}
    steps:
      - use: [{tool: Write, input: {file_path: "{{.cwd}}/written", content: x}}]
      - {expect: (?i)no such tool, use: [{tool: Edit, input: {file_path: "{{.cwd}}/kept", old_string: x, new_string: "y"}}]}
      - {expect: (?i)no such tool, use: [{tool: Agent, input: {description: Try, subagent_type: general-purpose, prompt: Try for the reviewer}}]}
      - {verdict: {expects_response: true, kind: done, message: It is read., handoff: {accomplished: [read], remaining: [], key_context: none}}}
  - name: clerks
    match: {role: subagent, contains: for the clerk}
    steps:
      - use: [{tool: Bash, input: {command: ls -a, description: Look}}]
      - {expect: for no more than Bash, say: I may not.}
  - name: reviewers
    match: {role: subagent}
    steps:
      - use: [{tool: Write, input: {file_path: "{{.cwd}}/written", content: x}}]
      - {expect: (?i)no such tool, say: I may not.}
`

// hired starts arbiter in a workspace with these files, keyed by their paths, against a scripted model that
// records its requests.
func hired(t *testing.T, p player, play string, files map[string]string, args ...string) (*script, *rehearsal.Server) {
	t.Helper()
	work := t.TempDir()
	for path, text := range files {
		write(t, text, filepath.Join(work, filepath.Dir(path)), filepath.Base(path))
	}
	return hiredIn(t, p, play, work, args...)
}

// hiredIn is hired in an existing workspace.
func hiredIn(t *testing.T, p player, play, work string, args ...string) (*script, *rehearsal.Server) {
	t.Helper()
	scenario, err := rehearsal.Parse("play.yaml", []byte(play))
	if err != nil {
		t.Fatal(err)
	}
	model, err := rehearsal.Start(scenario, rehearsal.Options{Record: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	claude := p.args[len(p.args)-1]
	if !p.real {
		claude = standInProgram(t)
	}
	return start(t, []string{
		"ANTHROPIC_BASE_URL=" + model.URL(), "ANTHROPIC_API_KEY=" + model.Key(),
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	}, append([]string{"--json", "--claude", claude, "--cwd", work}, args...)...), model
}

// TestAModeIsHeldToItsTools: the CLI and arbiter's permission rules restrict an agent and its subagents to the
// tools of its mode. Requests to the model have the mode's model and effort.
func TestAModeIsHeldToItsTools(t *testing.T) {
	t.Parallel()
	for _, p := range players(t) {
		t.Run(p.name, func(t *testing.T) {
			p.long(t) // the driver's TestLiveDeniedTools and TestLiveAskTools cover the real CLI
			t.Parallel()
			s, model := hired(t, p, bounded, map[string]string{".claude/agents/clerk.md": clerk, "kept": "x\n"},
				"--trust", "--model", "claude-sonnet-4-5", "--allow", "Bash(git *)", "--allow", "Write", "--allow",
				"Edit", "--task", "Keep the books")
			await[contract.Result](s, "the result", nil)
			s.finish(contract.ExitComplete)
			if list := model.Problems(); len(list) > 0 {
				t.Errorf("the play left its script: %v\n%s", list, s.dump())
			}
			var got []string
			for _, b := range collect[contract.Permission](s) {
				got = append(got, fmt.Sprintf("%s %s by %s", b.Tool, b.Behavior, b.By))
			}
			want := []string{"Bash deny by agent", "Bash deny by agent", "Bash deny by agent"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("permissions, -want +got:\n%s", diff)
			}
			cwd := collect[contract.Session](s)[0].CWD
			left, _ := filepath.Glob(filepath.Join(cwd, "*"))
			// The second file is .claude.
			if kept, err := os.ReadFile(filepath.Join(cwd, "kept")); err != nil || string(kept) != "x\n" ||
				len(left) != 2 {
				t.Errorf("kept: %q, %v; files %v", kept, err, left)
			}
			asked := map[string]string{}
			for _, r := range model.Requests() {
				var body struct {
					Output struct{ Effort string } `json:"output_config"`
				}
				if err := json.Unmarshal(r.Body, &body); err != nil {
					t.Fatal(err)
				}
				asked[r.Actor] = r.Model
				if r.Actor == "clerk" && p.real && body.Output.Effort != "low" {
					t.Errorf("the effort of the clerk is %q", body.Output.Effort)
				}
				if offered := r.ToolNames(); slices.Contains(offered, "Write") || slices.Contains(offered, "Edit") {
					t.Errorf("%s is offered %v", r.Actor, offered)
				}
			}
			for actor, want := range map[string]string{"clerk": "opus-5-5", "reviewer": "sonnet-4-5",
				"arbiter": "sonnet-4-5"} {
				if !strings.Contains(asked[actor], want) {
					t.Errorf("the model of %s is %q, want %s", actor, asked[actor], want)
				}
			}
		})
	}
}

// TestModesOfAWorkspace: a workspace's modes are used only if it is trusted; a broken file is reported and left
// out.
func TestModesOfAWorkspace(t *testing.T) {
	t.Parallel()
	for _, trust := range []bool{false, true} {
		t.Run(fmt.Sprintf("trust %v", trust), func(t *testing.T) {
			t.Parallel()
			args := []string{"--task", "Keep the books"}
			if trust {
				args = append(args, "--trust")
			}
			s, _ := hired(t, player{args: []string{"--stand-in"}}, talk, map[string]string{
				".claude/agents/clerk.md": clerk, ".claude/agents/seer.md": "---\nname: seer\n---\nSee.\n",
			}, args...)
			await[contract.Question](s, "a question", nil)
			s.rejects(contract.ForceAgent{Mode: "seer"}, `no mode "seer"`)
			if trust {
				s.accepts(contract.ForceAgent{Mode: "clerk"}, "as clerk")
				s.awaitNotice("seer.md")
			} else {
				s.rejects(contract.ForceAgent{Mode: "clerk"},
					`no mode "clerk"; modes: developer, planner, reviewer, tester`)
			}
			s.accepts(contract.Cancel{})
			s.finish(contract.ExitFailed)
		})
	}
}

// TestLimitsOfAMode: an agent that reaches a limit of its mode must hand off, and another continues.
func TestLimitsOfAMode(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	const limited = `name: limited
title: Limits
actors:
  - name: arbiter
    match: {role: arbiter}
    otherwise:
      - {expect: It thins, verdict: {decision: ADDRESS_HUMAN, message: And now?, reason: r}}
      - {expect: "kind: task", verdict: {decision: SELECT_MODE, mode: brief, message: Be brief., reason: r}}
      - {verdict: {decision: CONTINUE, message: Patience., reason: r}}
  - name: brief
    match: {role: orchestrator}
    otherwise:
      - expect: reached a limit
        verdict: {expects_response: true, kind: handoff, message: It thins.,
          handoff: {accomplished: [], remaining: [all], key_context: none}}
      - FIRST
`
	for _, c := range []struct{ name, limit, first, why string }{
		{"turns", "maxTurns: 1", "{verdict: {expects_response: false, kind: progress, message: On and on.}}",
			"it has answered 1 message,"},
		{"time", "timeout: 1s", "{use: [{tool: Bash, input: {command: exec sleep 1000, description: Sleep}}]}",
			"its time of 1s is over"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, _ := hired(t, player{args: []string{"--stand-in"}}, strings.Replace(limited, "FIRST", c.first, 1),
				map[string]string{".arbiter/agents/brief.md": "---\nname: brief\ndescription: to be brief\n" + c.limit +
					"\n---\nBe brief.\n"},
				"--trust", "--allow", "Bash(*)", "--task", "Be brief")
			await(s, "the limit", func(_ string, m contract.Message) bool {
				return m.To == contract.Arbiter && strings.Contains(m.Text, "has reached a limit: "+c.why)
			})
			await(s, "a document", func(id string, m contract.Message) bool {
				return id == "orch-1" && m.Kind == "handoff"
			})
			s.moves("executing", "evaluating", "AGENT_COMPLETE")
			s.accepts(contract.Cancel{})
			s.finish(contract.ExitFailed)
		})
	}
}
