package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// onlyTheCLI skips a test if the stand-in, which lacks a feature, takes the CLI's place.
func onlyTheCLI(t *testing.T, lacks string) {
	t.Helper()
	if standInByDay(t) {
		t.Skip("the stand-in " + lacks)
	}
}

// TestToolShell: commands get no login, whatever else there is in their environment, and run as in the CLI's own bash.
func TestToolShell(t *testing.T) {
	l := NewLauncher(filepath.Join(t.TempDir(), "cache"))
	env := testkit.Must(l.withToolShell([]string{"PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=a", "ANTHROPIC_KEY=a",
		"ANTHROPIC_AUTH_TOKEN=b", "CLAUDE_CODE_OAUTH_TOKEN=c", "ANTHROPIC_BASE_URL=http://x",
		"ANTHROPIC_CUSTOM_HEADERS=d\ne", "INPUT_ANTHROPIC_API_KEY=e", "INPUT_ALL_INPUTS=f", "AWS_SECRET_ACCESS_KEY=theirs",
		"AWS_BEARER_TOKEN_BEDROCK=g", "CLAUDE_CODE_MESSAGING_TOKEN=m", "odd-name=1", "arbiterx_name=2"}))(t)
	script, _ := strings.CutPrefix(env[len(env)-1], shellPrefix+"=")
	run := func(command string) (output string, code int) {
		cmd := exec.Command(script, command)
		cmd.Env = env
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	out, _ := run("env")
	var names []string
	for line := range strings.Lines(out) {
		name, _, _ := strings.Cut(line, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	testkit.Same(t, "variables", []string{"ANTHROPIC_BASE_URL", "AWS_SECRET_ACCESS_KEY", "CLAUDE_CODE_MESSAGING_TOKEN",
		"PATH", "PWD", "SHLVL", "_", "arbiterx_name", "odd-name"}, names)
	for command, want := range map[string]string{
		`echo "$0 $# it's
two"; exit 3`: "bash 0 it's\ntwo\n",
		"nowhere-to-be-found; exit 3": "bash: line 1: nowhere-to-be-found: command not found\n",
	} {
		out, code := run(command)
		testkit.Check(t, out == want && code == 3, "%s: %q, exit code %d", command, out, code)
	}
	testkit.OK(t, os.WriteFile(script, []byte("#!/bin/sh\nenv\n"), 0o700)) // by somebody who wants the login
	testkit.Must(l.withToolShell(nil))(t)
	out, _ = run("env")
	testkit.Check(t, !strings.Contains(out, "API_KEY"), "the script was not restored: %s", out)
	own, err := l.withToolShell([]string{shellPrefix + "="})
	testkit.Check(t, err == nil && len(own) == 1, "the user's prefix became %q, %v", own, err)
	testkit.OK(t, os.Remove(script), os.Mkdir(script, 0o700))
	for what, l := range map[string]*Launcher{"a script that cannot be written": l, "no cache": {},
		"a path with options": NewLauncher(filepath.Join(t.TempDir(), "a -b"))} {
		testkit.Fails(t, what, testkit.Err(l.withToolShell(nil)), "XDG_CACHE_HOME")
	}
}

// TestToolShellIsNotReplaced: many processes write the script at once, while others may have it mounted.
func TestToolShellIsNotReplaced(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	var work sync.WaitGroup
	for i := range 64 {
		work.Go(func() {
			path, err := writeToolShell(dir, fmt.Appendf(nil, "#!/bin/sh\necho %d\n", i%2))
			if err != nil {
				t.Error(err)
				return
			}
			before, err := os.Stat(path)
			for range 20 {
				testkit.Works(t, "writeToolShell", testkit.Err(writeToolShell(dir, fmt.Appendf(nil, "#!/bin/sh\necho %d\n", i%2))))
			}
			after, again := os.Stat(path)
			testkit.Check(t, err == nil && again == nil && os.SameFile(before, after), "it was replaced: %v, %v", err, again)
		})
	}
	work.Wait()
	testkit.Same(t, "files", 2, len(testkit.Must(os.ReadDir(dir))(t)))
}

// TestNoToolShell: without bash no agent starts, for the rules could not read its commands.
func TestNoToolShell(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	path, err := toolShell()
	testkit.Check(t, err != nil && strings.Contains(err.Error(), "install bash"), "%q, %v", path, err)
}

// TestJudgedCalls: the directory of a call is known until it is over, and whether it ran with the input that was
// judged, however that is spelled.
func TestJudgedCalls(t *testing.T) {
	var d judgedCalls
	d.note("a", "/w", []byte(`{"a":1,"b":[2]}`))
	d.note("b", "/w/sub", []byte(`{"a":1}`))
	testkit.Check(t, d.directory("b") == "/w/sub" && d.directory("a") == "/w" && d.directory("c") == "",
		"a directory is kept wrongly")
	testkit.Check(t, !d.ran("a", []byte(` {"b": [2], "a": 1}`)) && d.ran("b", []byte(`{"a":2}`)) &&
		!d.ran("b", []byte(`{"a":2}`)), "what ran is compared wrongly")
	for range 3 * maxCallers {
		d.note(strings.Repeat("x", len(d.calls)+1), "/w", nil)
	}
	testkit.Check(t, len(d.calls) <= maxCallers, "%d calls are kept", len(d.calls))
}

// perform plays a call and its result.
func (d *toolCalls) perform(name, input, parent, result string, failed bool) {
	id := fmt.Sprintf("toolu_%d", len(d.open)+d.tools+len(d.files)+1)
	d.call(block{ID: id, Name: name, Input: json.RawMessage(input)}, parent)
	d.result(block{ToolUseID: id, IsError: failed}, result, false)
}

func turnOfCalls(d *toolCalls) bridge.Turn {
	var turn bridge.Turn
	d.closeTurn(&turn)
	return turn
}

func TestToolCalls(t *testing.T) {
	const sub = "toolu_agent"
	for name, tc := range map[string]struct {
		play func(*toolCalls)
		want bridge.Turn
	}{
		"nothing": {func(*toolCalls) {}, bridge.Turn{}},
		"a failure that was not followed up": {func(d *toolCalls) {
			d.perform("Read", `{"file_path":"/w/a"}`, "", "text", false)
			d.perform("Bash", `{"command":"go test","description":"run"}`, "", "FAIL", true)
		}, bridge.Turn{Tools: 2, Failed: &bridge.FailedTool{Tool: "Bash", Attempted: "go test", Command: "go test",
			Message: "FAIL", InputSize: 41, Size: 4}}},
		"one that was": {func(d *toolCalls) {
			d.perform("Bash", `{"command":"go test"}`, "", "FAIL", true)
			d.perform("Bash", `{"command":"go vet"}`, "", "", false)
		}, bridge.Turn{Tools: 2}},
		"one with another call on its way": {func(d *toolCalls) {
			d.perform("Bash", `{"command":"go test"}`, "", "FAIL", true)
			d.call(block{ID: "x", Name: "Bash", Input: json.RawMessage(`{"command":"sleep"}`)}, "")
		}, bridge.Turn{Tools: 2}},
		"our own tools are nothing": {func(d *toolCalls) {
			d.perform("Grep", `{"pattern":"x","path":"/w"}`, "", "bad", true)
			d.perform(mcpPrefix+"report", `{}`, "", "no", true)
		}, bridge.Turn{Tools: 1, Failed: &bridge.FailedTool{Tool: "Grep", Attempted: "x", Message: "bad", InputSize: 27,
			Size: 3}}},
		"a subagent's count for files alone": {func(d *toolCalls) {
			d.perform("Edit", `{"file_path":"/w/s"}`, sub, "ok", false)
			d.perform("Bash", `{"command":"x"}`, sub, "FAIL", true)
		}, bridge.Turn{Files: []string{"/w/s"}}},
		"files": {func(d *toolCalls) {
			d.perform("Write", `{"file_path":"/w/a","content":"x"}`, "", "ok", false)
			d.perform("Edit", `{"file_path":"/w/a"}`, "", "ok", false)
			d.perform("MultiEdit", `{"file_path":"/w/b"}`, "", "ok", false)
			d.perform("NotebookEdit", `{"notebook_path":"/w/n"}`, "", "ok", false)
			d.perform("Write", `{"file_path":"/w/no"}`, "", "no", true)
			d.perform("Read", `{"file_path":"/w/r"}`, "", "ok", false)
		}, bridge.Turn{Tools: 6, Files: []string{"/w/a", "/w/b", "/w/n"}}},
		"odd input": {func(d *toolCalls) { d.perform("New", `[1]`, "", "no", true) },
			bridge.Turn{Tools: 1, Failed: &bridge.FailedTool{Tool: "New", Attempted: "[1]", Message: "no", InputSize: 3,
				Size: 2}}},
	} {
		d := newToolCalls()
		tc.play(d)
		testkit.Same(t, name, tc.want, turnOfCalls(d))
		testkit.Same(t, fmt.Sprintf("%s: the next turn begins with", name), bridge.Turn{}, turnOfCalls(d))
	}
}

func TestToolCallsAreBounded(t *testing.T) {
	d := newToolCalls()
	for i := range 2 * bridge.TurnFiles {
		d.perform("Write", fmt.Sprintf(`{"file_path":"/w/%d"}`, i), "", "", false)
	}
	command, _ := json.Marshal(map[string]string{"command": strings.Repeat("ü", 1001)})
	d.perform("Bash", string(command), "", "x"+strings.Repeat("€", 1000), true)
	turn := turnOfCalls(d)
	if f := turn.Failed; len(turn.Files) != bridge.TurnFiles || f == nil || f.Size != 3001 || f.InputSize != len(command) {
		t.Fatalf("%+v", turn)
	} else if len(f.Attempted) != maxAttempted || len(f.Command) != maxCommand || len(f.Message) != 1999 ||
		!utf8.ValidString(f.Attempted+f.Command+f.Message) {
		t.Errorf("%d, %d and %d bytes", len(f.Attempted), len(f.Command), len(f.Message))
	}
}

// TestLiveToolCalls: what the agent and its subagent did, wrote and were denied.
func TestLiveToolCalls(t *testing.T) {
	inside(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		dir := t.TempDir()
		s, _ := against(t, spec,
			write(filepath.Join(dir, "a")),
			delegates,
			write(filepath.Join(dir, "b")), reply{text: "written"}, // the subagent
			runs("echo out; exit 3"), reply{text: "I give up"},
			runs("rm -rf "+filepath.Join(dir, "a")), reply{text: "not allowed"},
			taskCall("WebFetch", map[string]any{"url": "http://127.0.0.1/", "prompt": "x"}),
			reply{text: "not there"},
			runs("touch "+filepath.Join(dir, "c")), reply{text: "not permitted"})
		s.cfg.AllowedTools = []string{"Write", "Bash(echo *)"}
		s.cfg.DisallowedTools = []string{"Bash(rm *)", "WebFetch"}
		s.host.permission = func(_ context.Context, p bridge.PermissionParams) (bridge.PermissionResult, error) {
			if !strings.Contains(string(p.Input), "touch") {
				return bridge.PermissionResult{Behavior: bridge.Allow}, nil
			}
			return bridge.PermissionResult{Behavior: bridge.Deny, Message: "not now"}, nil
		}
		s.launch()
		turn := s.turn("one")
		want := bridge.Turn{Tools: 3, Files: []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")},
			Failed: &bridge.FailedTool{Tool: "Bash", Attempted: "echo out; exit 3", Command: "echo out; exit 3",
				Message: "Exit code 3\nout", InputSize: 50, Size: 15}}
		testkit.Same(t, "", want, toolCallsOf(turn))
		turn = s.turn("two")
		if f := turn.Failed; f == nil || !f.Denied || f.Tool != "Bash" || !strings.Contains(f.Message, "denied") {
			t.Errorf("denied by a rule: %+v", turn.Failed)
		}
		testkit.Works(t, "the file", testkit.Err(os.Stat(filepath.Join(dir, "a"))))
		turn = s.turn("three")
		f := turn.Failed
		testkit.Check(t, f != nil && f.Tool == "WebFetch" && f.Denied, "switched off: %+v", turn.Failed)
		turn = s.turn("four")
		f = turn.Failed
		testkit.Check(t, f != nil && f.Denied && f.Message == "not now", "denied by the host: %+v", turn.Failed)
	})
}

// TestToolCallsOfALostTurn: what was known when the process died is reported.
func TestToolCallsOfALostTurn(t *testing.T) {
	t.Parallel()
	call := func(id, use, text, failed string) string {
		return fmt.Sprintf(`out {"type":"assistant","message":{"id":"m","model":"claude","content":[{"type":"tool_use",`+
			`"id":%q,%s}]}}`+"\n"+`out {"type":"user","message":{"role":"user","content":[{"type":"tool_result",`+
			`"tool_use_id":%q,"content":%q,"is_error":%s}]}}`+"\n", id, use, id, text, failed)
	}
	turn := fake(t, fakeGood).turn(fakeStarted + call("t1", `"name":"Edit","input":{"file_path":"/w/a"}`, "ok", "false") +
		call("t2", `"name":"Bash","input":{"command":"make"}`, "FAIL", "true") + "exit 9")
	testkit.Same(t, "outcome", bridge.TurnLost, turn.Outcome)
	testkit.Same(t, "calls", bridge.Turn{Tools: 2, Files: []string{"/w/a"}, Failed: &bridge.FailedTool{Tool: "Bash",
		Attempted: "make", Command: "make", Message: "FAIL", InputSize: 18, Size: 4}}, toolCallsOf(turn))
}

func toolCallsOf(t bridge.Turn) bridge.Turn {
	return bridge.Turn{Tools: t.Tools, Failed: t.Failed, Files: t.Files}
}

// TestLiveToolCallOfASubagent: a subagent gets the same tools as its parent, and its calls say that they
// come from a subagent.
func TestLiveToolCallOfASubagent(t *testing.T) {
	realAtNight(t)
	for _, judged := range []bool{false, true} {
		t.Run(fmt.Sprintf("judged %t", judged), func(t *testing.T) {
			t.Parallel()
			spec := realSpec(t)
			report := func(who string) reply {
				return taskCall(mcpPrefix+"report", map[string]any{"message": who})
			}
			s, _ := against(t, spec, report("main"), delegates, report("sub"), report("sub"), reply{text: "tried"},
				report("main"), reply{text: "done"})
			s.cfg.Judged = judged
			s.cfg.MCPTools = []bridge.ToolSpec{{Name: "report",
				InputSchema: json.RawMessage(`{"type":"object","properties":{"message":{"type":"string"}}}`)}}
			var mu sync.Mutex
			var calls []string
			s.host.tool = func(_ context.Context, p bridge.ToolCallParams) (bridge.ToolCallResult, error) {
				mu.Lock()
				defer mu.Unlock()
				who := "main"
				if p.Subagent != "" {
					who = "sub"
				}
				calls = append(calls, who+string(p.Input))
				return bridge.ToolCallResult{Text: "NOTED"}, nil
			}
			s.launch()
			s.turn("go")
			mu.Lock()
			defer mu.Unlock()
			want := []string{`main{"message":"main"}`, `sub{"message":"sub"}`, `sub{"message":"sub"}`,
				`main{"message":"main"}`}
			testkit.Same(t, "calls", want, calls)
		})
	}
}

// TestCallersAreBounded: calls that are announced but never arrive are forgotten.
func TestCallersAreBounded(t *testing.T) {
	var c callers
	for i := range 10 * maxCallers {
		c.note(fmt.Sprint(i), "toolu_agent")
	}
	testkit.Check(t, len(c.calls) <= maxCallers, "%d calls are remembered", len(c.calls))
	if last := fmt.Sprint(10*maxCallers - 1); c.of(last) != "toolu_agent" || c.of(last) != "" || c.of("other") != "" {
		t.Error("the last call is not known, or known twice")
	}
}
