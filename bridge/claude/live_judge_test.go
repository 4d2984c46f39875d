package claude

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// court judges by the name of a command, and records what it saw.
type court struct {
	mu   sync.Mutex
	list []string
}

// about returns the last word of a call's subject: in these tests, the file's name.
func about(input json.RawMessage) string {
	obj, _ := split(input)
	words := strings.Fields(attempted(obj, input))
	return filepath.Base(words[len(words)-1])
}

func (c *court) note(kind, tool, subagent string, input json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	who := "main"
	if subagent != "" {
		who = "sub"
	}
	c.list = append(c.list, strings.Join([]string{who, kind, tool, about(input)}, " "))
}

func (c *court) judge(_ context.Context, p bridge.JudgeParams) (bridge.JudgeResult, error) {
	c.note("judge", p.Tool, p.Subagent, p.Input)
	switch name := about(p.Input); {
	case strings.HasPrefix(name, "denied"):
		return bridge.JudgeResult{Behavior: bridge.Deny, Message: "NOT HERE"}, nil
	case strings.HasPrefix(name, "asked"):
		return bridge.JudgeResult{Behavior: bridge.Ask, Message: "THE RULE"}, nil
	}
	return bridge.JudgeResult{Behavior: bridge.Pass}, nil
}

func (c *court) permission(_ context.Context, p bridge.PermissionParams) (bridge.PermissionResult, error) {
	c.note("ask", p.Tool, p.Subagent, p.Input)
	if strings.HasPrefix(about(p.Input), "asked") {
		return bridge.PermissionResult{Behavior: bridge.Deny, Message: "NOBODY WANTS IT"}, nil
	}
	return bridge.PermissionResult{Behavior: bridge.Allow}, nil
}

// userSettings allow what the tests touch, by a rule and by a user's own hook.
const userSettings = `{"permissions":{"allow":["Bash(touch *)"]},"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command",
"command":"echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"allow\"}}'"}]}]}}`

// TestLiveEveryCallIsJudged: the client also judges calls that the user's own settings and hooks allow, and
// those of a subagent. A denied call does not run, and an ask leads to a permission request,
// even if the settings allow the call.
func TestLiveEveryCallIsJudged(t *testing.T) {
	players(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		dir := t.TempDir()
		touch := func(name string) reply { return reply{tools: []call{bash("touch " + filepath.Join(dir, name))}} }
		model := startAPI(t, touch("free"), touch("denied"), touch("asked"),
			reply{tools: []call{{"Write", map[string]any{"file_path": filepath.Join(dir, "denied-file"), "content": "x"}}}},
			reply{tools: []call{{"AskUserQuestion", map[string]any{"questions": []any{map[string]any{
				"question": "Which?", "header": "h", "multiSelect": false,
				"options": []any{map[string]any{"label": "a", "description": "a"},
					map[string]any{"label": "b", "description": "b"}}}}}}}},
			taskCall("Agent", map[string]any{"description": "sub", "prompt": "go", "subagent_type": "general-purpose"}),
			touch("denied-sub"), touch("asked-sub"), touch("free-sub"), reply{text: "tried"}, reply{text: "done"})
		s := prepare(t, spec, model.env())
		s.cfg.Judged, s.cfg.SettingSources = true, []string{"user"}
		s.cfg.Env["HOME"] = t.TempDir()
		if len(spec.Args) > 0 && spec.Args[0] == standInArg { // it reads no user settings
			s.cfg.AllowedTools = []string{"Bash"}
		}
		config := filepath.Join(s.cfg.Env["HOME"], ".claude")
		testkit.OK(t, os.MkdirAll(config, 0o700))
		testkit.OK(t, os.WriteFile(filepath.Join(config, "settings.json"), []byte(userSettings), 0o600))
		var c court
		s.host.judge, s.host.permission = c.judge, c.permission
		s.launch()
		s.turn("go")

		want := []string{
			"main judge Bash free", "main judge Bash denied", "main judge Bash asked", "main ask Bash asked",
			"main judge Write denied-file",
			"main judge Agent sub", "sub judge Bash denied-sub", "sub judge Bash asked-sub", "sub ask Bash asked-sub",
			"sub judge Bash free-sub",
		}
		testkit.Same(t, "asked", want, c.list)
		left, _ := filepath.Glob(filepath.Join(dir, "*"))
		testkit.Same(t, "files", []string{filepath.Join(dir, "free"), filepath.Join(dir, "free-sub")}, left)
		var refused []string
		for _, r := range of[bridge.ToolResult](s.host) {
			if r.IsError {
				refused = append(refused, r.Text)
			}
		}
		for i, message := range []string{"NOT HERE", "NOBODY WANTS IT", "NOT HERE",
			"No such tool available: AskUserQuestion", "NOT HERE",
			"NOBODY WANTS IT"} {
			if len(refused) != 6 || !strings.Contains(refused[i], message) {
				t.Fatalf("refusals: %q", refused)
			}
		}
	})
}

// TestLiveDoubt: after any failure between a tool call and the rules, no tool of any class runs,
// though the CLI would run it.
func TestLiveDoubt(t *testing.T) {
	realAtNight(t)
	hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	causes := map[string]func(context.Context, bridge.JudgeParams) (bridge.JudgeResult, error){
		"error": func(context.Context, bridge.JudgeParams) (bridge.JudgeResult, error) {
			return bridge.JudgeResult{}, context.Canceled
		},
		"allow in error": func(context.Context, bridge.JudgeParams) (bridge.JudgeResult, error) {
			return bridge.JudgeResult{Behavior: bridge.Pass}, bridge.ErrClosed
		},
		"empty answer": func(context.Context, bridge.JudgeParams) (bridge.JudgeResult, error) {
			return bridge.JudgeResult{}, nil
		},
		"odd answer": func(context.Context, bridge.JudgeParams) (bridge.JudgeResult, error) {
			return bridge.JudgeResult{Behavior: "Allow"}, nil
		},
		"no answer": func(ctx context.Context, _ bridge.JudgeParams) (bridge.JudgeResult, error) {
			return bridge.JudgeResult{}, hang(ctx)
		},
		"a late answer": func(ctx context.Context, _ bridge.JudgeParams) (bridge.JudgeResult, error) {
			hang(ctx)
			return bridge.JudgeResult{Behavior: bridge.Pass}, nil
		},
	}
	for cause, judge := range causes {
		t.Run(cause, func(t *testing.T) {
			players(t, func(t *testing.T, spec bridge.ClaudeSpec) { doubt(t, spec, judge) })
		})
	}
}

func doubt(t *testing.T, spec bridge.ClaudeSpec,
	judge func(context.Context, bridge.JudgeParams) (bridge.JudgeResult, error)) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	testkit.OK(t, os.WriteFile(file, []byte("SECRET"), 0o600))
	calls := []call{
		{"Read", map[string]any{"file_path": file}}, {"Write",
			map[string]any{"file_path": filepath.Join(dir, "new"), "content": "x"}},
		bash("touch " + filepath.Join(dir, "touched")), bash("cat " + file),
		{"WebFetch", map[string]any{"url": "http://127.0.0.1:1/", "prompt": "p"}}, {"mcp__arbiter__report", map[string]any{}},
		{"Agent", map[string]any{"description": "d", "prompt": "SUB", "subagent_type": "general-purpose"}},
		{"Telepathy", map[string]any{}},
	}
	script := []reply{}
	for _, c := range calls {
		script = append(script, reply{tools: []call{c}})
	}
	model := startAPI(t, append(script, reply{text: "done"})...)
	s := prepare(t, spec, model.env())
	s.cfg.Judged, s.cfg.AllowedTools, s.cfg.PermissionMode = true, []string{"Bash", "Read", "Write", "WebFetch", "Agent"},
		"acceptEdits"
	s.cfg.MCPTools = []bridge.ToolSpec{{Name: "report", Description: "d", InputSchema: json.RawMessage(`{"type":"object"}`)}}
	s.host.judge = judge
	s.host.tool = func(context.Context, bridge.ToolCallParams) (bridge.ToolCallResult, error) {
		t.Error("our own tool ran")
		return bridge.ToolCallResult{Text: "ran"}, nil
	}
	launchJudged(s)
	s.turn("go")
	results := of[bridge.ToolResult](s.host)
	if len(results) != len(calls) {
		t.Fatalf("%d results of %d calls:\n%s", len(results), len(calls), s.host.dump())
	}
	for i, r := range results {
		if !r.IsError || strings.Contains(r.Text, "SECRET") {
			t.Errorf("%s ran: %+v", calls[i].name, r)
		}
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*"))
	if !slices.Equal(left, []string{file}) {
		t.Errorf("files: %v", left)
	}
}

// launchJudged launches an agent that waits for the rules only briefly, so that a test can wait for that.
func launchJudged(s *stageOf) {
	s.t.Helper()
	s.l.judgeTimeout = 100 * time.Millisecond
	s.launch()
}
