package claude

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
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
		touch := func(name string) reply { return runs("touch " + filepath.Join(dir, name)) }
		s, _ := against(t, spec, touch("free"), touch("denied"), touch("asked"),
			write(filepath.Join(dir, "denied-file")),
			taskCall("AskUserQuestion", map[string]any{"questions": []any{map[string]any{
				"question": "Which?", "header": "h", "multiSelect": false,
				"options": []any{map[string]any{"label": "a", "description": "a"},
					map[string]any{"label": "b", "description": "b"}}}}}),
			delegates,
			touch("denied-sub"), touch("asked-sub"), touch("free-sub"), reply{text: "tried"}, reply{text: "done"})
		s.cfg.Judged = true
		s.userSettings(userSettings)
		if len(spec.Args) > 0 && spec.Args[0] == standInArg { // it reads no user settings
			s.cfg.AllowedTools = []string{"Bash"}
		}
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
			testkit.Need(t, len(refused) == 6 && strings.Contains(refused[i], message), "refusals: %q", refused)
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
	s, _ := against(t, spec, append(script, reply{text: "done"})...)
	s.cfg.Judged, s.cfg.AllowedTools, s.cfg.PermissionMode = true, []string{"Bash", "Read", "Write", "WebFetch", "Agent"},
		"acceptEdits"
	s.cfg.MCPTools = []bridge.ToolSpec{{Name: "report", Description: "d", InputSchema: json.RawMessage(`{"type":"object"}`)}}
	s.host.judge = judge
	s.host.tool = func(context.Context, bridge.ToolCallParams) (bridge.ToolCallResult, error) {
		t.Error("our own tool ran")
		return bridge.ToolCallResult{Text: "ran"}, nil
	}
	s.l.judgeTimeout = 100 * time.Millisecond // the test waits for it
	s.launch()
	s.turn("go")
	results := of[bridge.ToolResult](s.host)
	testkit.Need(t, len(results) == len(calls), "%d results of %d calls:\n%s", len(results), len(calls), s.host.dump())
	for i, r := range results {
		testkit.Check(t, r.IsError && !strings.Contains(r.Text, "SECRET"), "%s ran: %+v", calls[i].name, r)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*"))
	testkit.Same(t, "files", []string{file}, left)
}

// contradictions are what requests of the CLI say, or would say, against the prompt of an Orchestrator. ours is what
// that prompt says about it. Without ours, the environment or the list of tools has to keep it out of the request.
var contradictions = []struct{ theirs, ours string }{
	{"hand off mid-task", "you hand off to a successor, also in the middle of a task"},
	{"not limited by the context window", "Your conversation is limited"},
	{"tokens left", "about tokens that are left"},
	{"displayed to the user", "is displayed to nobody"},
	{"Before your first tool call", "not before the first tool call"},
	{"silent is not", "not at key moments"},
	{"in the final text message", "not as a final message"},
	{"planning, decision, or analysis documents", "Plans, decisions and findings go into the hand-off document"},
	{"cannot answer questions mid-task", "end your turn with `kind: question`"},
	{"confirm first", "to confirm an action"},
	{"ask for confirmation", "to confirm an action"},
	{"Use TaskCreate to plan", "TaskCreate is for yourself alone"},
	{`isolation: "worktree"`, "without `isolation`"},
	{"15000000 tokens", ""},
	{"auto memory", ""},
	{"persistent file-based memory", ""},
	{"NEVER commit", ""},
	{"only when the user asks", ""},
	{`"AskUserQuestion"`, ""},
	{"EnterWorktree", ""},
	{`"ReportFindings"`, ""},
}

// watched finds sentences about what our prompt decides: each has to be one of the contradictions, or harmless.
var (
	watched = regexp.MustCompile(`(?i)hand off|tokens left|limited by|displayed to|mid-task|first tool call|final text|` +
		`silent is|documents unless|persistent|only when the user asks|never commit|use TaskCreate|AskUserQuestion|` +
		`worktree|confirm first|for confirmation`)
	harmless = []string{"Command output is displayed to you"}
	sentence = regexp.MustCompile(`[.!?]\s+|\n`)
)

// TestLiveInstructions: nothing in an Orchestrator's request contradicts our prompt unless our prompt says which holds.
// The CLI's instructions depend on the model.
func TestLiveInstructions(t *testing.T) {
	prompt := testkit.Must(os.ReadFile(filepath.Join("..", "..", "supervisor", "decider", "text", "orchestrator.md")))(t)
	ours := strings.Join(strings.Fields(string(prompt)), " ")
	inside(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		for _, family := range []string{"claude-opus-5-5", "claude-sonnet-4-5", "claude-haiku-4-5", "claude-fable-5"} {
			t.Run(family, func(t *testing.T) {
				if family != "claude-opus-5-5" && family != "claude-sonnet-4-5" {
					testkit.Long(t) // they read the same
				}
				t.Parallel()
				s, model := against(t, spec, reply{text: "ok"}, reply{text: "ok"})
				s.cfg.Model, s.cfg.AppendSystemPrompt = family, "OURS "+string(prompt)
				s.launch()
				s.turn("go")
				first := request(t, model)
				s.turn("on")
				if second := request(t, model); second.System != first.System || second.Tools != first.Tools {
					t.Error("the second request does not begin with the first one")
				}
				theirs, _, _ := strings.Cut(first.System, "OURS ")
				theirs += "\n" + first.Tools + "\n" + first.Messages
				t.Logf("%d tokens of system, %d of tools, %d of messages", (len(first.System)-len(prompt))/4,
					len(first.Tools)/4, len(first.Messages)/4)
				checkInstructions(t, theirs, ours)
			})
		}
	})
}

func checkInstructions(t *testing.T, theirs, ours string) {
	t.Helper()
	for _, c := range contradictions {
		switch {
		case !strings.Contains(theirs, c.theirs):
		case c.ours == "":
			t.Errorf("the request has %q, which has to be kept out of it", c.theirs)
		case !strings.Contains(ours, c.ours):
			t.Errorf("the request has %q, and our prompt does not say %q", c.theirs, c.ours)
		}
	}
	for _, text := range sentence.Split(theirs, -1) {
		known := func(part string) bool { return strings.Contains(text, part) }
		testkit.Check(t, !watched.MatchString(text) || slices.ContainsFunc(harmless, known) ||
			slices.ContainsFunc(contradictions, func(c struct{ theirs, ours string }) bool { return known(c.theirs) }),
			"a new sentence of the CLI's: does our prompt say which holds? %.300q", text)
	}
}

// requestTexts are the parts of a request as a model reads them.
type requestTexts struct{ System, Tools, Messages string }

func request(t *testing.T, model *api) (r requestTexts) {
	t.Helper()
	var body struct {
		System   []struct{ Text string }
		Tools    []struct{ Name, Description string }
		Messages json.RawMessage
	}
	testkit.OK(t, json.Unmarshal([]byte(model.lastRequest()), &body))
	for _, part := range body.System {
		r.System += part.Text + "\n"
	}
	for _, tool := range body.Tools {
		r.Tools += `"` + tool.Name + `": ` + tool.Description + "\n"
	}
	r.Messages = strings.ReplaceAll(string(body.Messages), `\n`, "\n")
	return r
}

// TestLiveRefusedVerdict: a verdict that does not fit its schema costs two requests and ends the turn with the reason;
// so does a text instead of a verdict, which is passed on. A verdict beside a call that writes is accepted.
func TestLiveRefusedVerdict(t *testing.T) {
	inside(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		wrong := taskCall(bridge.VerdictTool, map[string]any{"message": 1})
		s, model := against(t, spec, wrong, wrong, reply{text: `{"message":"m"}`}, reply{text: `{"message":"m"}`},
			reply{tools: []call{{"Bash", map[string]any{"command": "printf x > made", "description": "Make it"}},
				{bridge.VerdictTool, map[string]any{"message": "both"}}}})
		s.cfg.PermissionMode = bridge.BypassPermissions
		s.cfg.JSONSchema = json.RawMessage(verdictSchema)
		s.launch()
		if turn := s.turn("go"); turn.Category != bridge.CatVerdict || len(model.all()) != 2 ||
			!strings.Contains(turn.Error, "error: Output does not match required schema: /message: must be string") {
			t.Errorf("%d requests, %+v", len(model.all()), turn)
		}
		if turn := s.turn("on"); turn.Text != `{"message":"m"}` || len(model.all()) != 4 {
			t.Errorf("%d requests, %+v", len(model.all()), turn)
		}
		if turn := s.turn("both"); string(turn.Verdict) != `{"message":"both"}` || len(model.all()) != 5 {
			t.Errorf("%d requests, %+v", len(model.all()), turn)
		}
	})
}
