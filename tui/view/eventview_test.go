package view

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/history"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/tuitest"
)

var (
	dawn      = time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)
	eventLook = &render.Look{Glyphs: render.Unicode}
)

func options(width int) EventOptions {
	return EventOptions{Width: width, Look: eventLook, Now: dawn.Add(time.Hour)}
}

// entry is an entry as the history returns it.
func entry(id string, b contract.Body) history.Entry {
	return history.Entry{N: 6, At: dawn, Event: contract.Event{ID: id, Body: b}}
}

// with is an entry with its outcome.
func with(e history.Entry, after time.Duration, b contract.Body) history.Entry {
	e.Outcome, e.OutcomeAt = b, e.At.Add(after)
	return e
}

func document() *verdict.Document {
	return &verdict.Document{
		Accomplished: []string{"The parser reads **all** of RFC 8259", "Errors name line and column"},
		Remaining:    []string{"Numbers beyond 2^53"},
		KeyContext:   "The lexer is shared by two goroutines.\n\nIt must stay without state.",
		Decisions:    []verdict.Decision{{Choice: "a table", Rejected: "a switch", Why: "half the time"}},
		Constraints:  []string{"under 20 ms for 1 MB"},
		Files:        []string{"parse/lexer.go", "parse/lexer_test.go"},
		Checks: []verdict.Check{
			{Command: "go test ./parse", Expect: "exit 0"}, {Command: "go vet ./...", Expect: "no output"},
			{Command: "make bench", Expect: "`20 ms`"},
		},
		OpenQuestions: []string{"Is a BOM allowed?"},
		Claims: []verdict.Claim{{Claim: "All tests pass", Verified: true, Check: 1}, {Claim: "vet is clean", Check: 2},
			{Claim: "It is fast"}},
	}
}

func receipts() []verdict.Receipt {
	return []verdict.Receipt{
		{Command: "go test ./parse", Expect: "exit 0", Result: verdict.CheckPassed, SHA256: "0123456789abcdef0123",
			Bytes: 1834, DurationMS: 1240, Output: "ok\n"},
		{Command: "go vet ./...", Expect: "no output", Result: verdict.CheckFailed, Exit: 1, SHA256: "fedcba9876543210",
			Bytes: 46, Output: "parse/lexer.go:12:\tunreachable code\n", Why: "exit code 1, expected 0"},
		{Command: "make bench", Expect: "`20 ms`", Result: verdict.CheckUnrun, Exit: -1, Why: "denied"},
	}
}

// samples are entries of every event of the contract, by the event's name.
func samples() map[string][]history.Entry {
	lines := strings.Repeat("A line of a long answer, of which there are many.\n\n", 9)
	output := strings.Repeat("ok  \tgithub.com/arbiter-cli/arbiter/parse\t0.012s\n", 10)
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	bash := raw(`{"command":"go test ./... 2>&1 | tee /tmp/out\nwc -l /tmp/out","description":"Run the tests","timeout":60000}`)
	edit := raw(`{"file_path":"/home/ada/project/parse/lexer.go","old_string":"return nil","new_string":"return err","replace_all":false}`)
	return map[string][]history.Entry{
		"session": {
			entry("supervisor", contract.Session{Session: "run-7", CWD: "/home/ada/project", ClaudeVersion: "2.1.329",
				Permissions: "ask"}),
			entry("supervisor", contract.Session{Session: "run-7", CWD: "/p", Permissions: "rules", Sandbox: "bubblewrap",
				Trusted: true}),
			entry("supervisor", contract.Session{Session: "run-7", CWD: "/p", Permissions: "allow-all", Sandbox: "unsandboxed",
				SandboxReason: "bwrap is not installed"}),
			entry("supervisor", contract.Session{Session: "run-7", CWD: "/p", Resumed: true, Rehearsal: true,
				Scenario: "small-job", Permissions: "allow-all", StandIn: true}),
		},
		"state": {entry("supervisor", contract.State{From: "executing", To: "evaluating", Trigger: "AGENT_DONE"})},
		"spawn": {
			entry("orch-2", contract.Spawn{Name: "Orchestrator II", Mode: "developer", Prompt: "Go on with the parser.",
				Generation: 1, SuccessorOf: "orch-1"}),
			entry("orch-2", contract.Spawn{Name: "Orchestrator II", Mode: "developer", Resumed: true, Generation: 2}),
			entry("arbiter", contract.Spawn{Name: "Arbiter", Generation: 1}),
		},
		"message": {
			with(entry("arbiter", contract.Message{MessageID: "m1", From: "arbiter", To: "orch-2", Kind: "brief",
				Text: "# The parser\n\nMake it read *numbers*:\n\n- integers\n- `1e9`"}), time.Second,
				contract.Delivered{MessageID: "m1"}),
			entry("human", contract.Message{MessageID: "m2", From: "human", To: "arbiter", Kind: "task",
				Text: "Write a JSON parser."}),
			entry("orch-1", contract.Message{MessageID: "m3", From: "orch-1", To: "arbiter", Kind: "progress", Text: lines}),
			entry("supervisor", contract.Message{MessageID: "m4", From: "supervisor", To: "orch-1", Kind: "continue",
				Text: "Continue."}),
			entry("arbiter", contract.Message{MessageID: "m5", From: "arbiter", To: "human", Kind: "complete",
				Text: "It is finished."}),
			with(entry("human", contract.Message{MessageID: "m6", From: "human", To: "orch-1", Kind: "message",
				Text: "Use *make*."}), time.Second, contract.Withdrawn{MessageID: "m6"}),
			func() history.Entry {
				e := entry("human", contract.Message{MessageID: "m7", From: "human", To: "arbiter", Kind: "message",
					Text: "Be quick."})
				e.Edited = &contract.Message{MessageID: "m7", From: "human", To: "arbiter", Kind: "message", Text: "Be slow.",
					Edited: true}
				return e
			}(),
		},
		"delivered": {entry("orch-1", contract.Delivered{MessageID: "m1"})},
		"assistant": {
			entry("orch-1", contract.Assistant{Text: "I look at the **lexer** first."}),
			entry("orch-1", contract.Assistant{Text: "Found it.", Subagent: "toolu_1"}),
		},
		"delta": {entry("orch-1", contract.Delta{Text: "I lo"})},
		"tool_use": {
			with(entry("orch-1", contract.ToolUse{Tool: "Bash", Input: bash, ToolUse: "t1"}), 3*time.Second,
				contract.ToolResult{ToolUse: "t1", Text: output}),
			with(entry("orch-1", contract.ToolUse{Tool: "Bash", Input: bash, ToolUse: "t2"}), time.Second,
				contract.ToolResult{ToolUse: "t2", Text: "Exit code 2\nmake: *** no rule", IsError: true}),
			entry("orch-1", contract.ToolUse{Tool: "Edit", Input: edit, ToolUse: "t3", Subagent: "toolu_1"}),
			entry("orch-1", contract.ToolUse{Tool: "Write",
				Input: raw(`{"file_path":"a.go","content":"package a\n\nfunc main() {}\n"}`), ToolUse: "t4"}),
			entry("orch-1", contract.ToolUse{Tool: "MultiEdit",
				Input: raw(`{"file_path":"a.go","edits":[{"old_string":"a","new_string":"b"},{"old_string":"c","new_string":"d","replace_all":true}]}`)}),
			entry("orch-1", contract.ToolUse{Tool: "mcp__forge__open",
				Input: raw(`{"query":"is:open","limit":5,"deep":{"x":[1,2]}}`)}),
			entry("orch-1", contract.ToolUse{Tool: "Agent",
				Input: raw(`{"description":"Survey the parser","prompt":"Read **all** of it.","subagent_type":"Explore"}`)}),
		},
		"tool_result": {entry("orch-1", contract.ToolResult{ToolUse: "t9", Text: output})},
		"tool_call": {entry("arbiter", contract.ToolCall{Tool: "spawn_orchestrator",
			Input: raw(`{"prompt":"Write the parser.","mode":"developer"}`)})},
		"subagent_start": {
			entry("orch-1", contract.SubagentStart{Description: "Survey the parser", ToolUse: "toolu_1", Type: "Explore"}),
			func() history.Entry {
				e := entry("orch-1", contract.SubagentStart{Description: "Survey the parser", ToolUse: "toolu_1", Type: "Explore"})
				e.Progress = &contract.SubagentProgress{ToolUse: "toolu_1", Tokens: 12_345, ToolUses: 4, LastTool: "Grep"}
				return e
			}(),
			with(entry("orch-1", contract.SubagentStart{Description: "Survey the parser", ToolUse: "toolu_1"}), time.Minute,
				contract.SubagentStop{ToolUse: "toolu_1", Status: "completed", Tokens: 20_100}),
		},
		"subagent_stop": {entry("orch-1", contract.SubagentStop{Description: "Survey the parser", ToolUse: "toolu_1",
			Status: "failed", Tokens: 20_100})},
		"subagent_progress": {entry("orch-1", contract.SubagentProgress{Description: "Survey the parser", ToolUse: "toolu_1",
			Tokens: 12_345, ToolUses: 1, LastTool: "Grep"})},
		"turn": {
			entry("orch-1", func() contract.Turn {
				b := contract.Turn{CostUSD: 0.1234, Outcome: "done",
					Models: []contract.ModelCost{{Model: "claude-sonnet-4-5", CostUSD: 0.1234}}}
				b.Usage.Input, b.Usage.CacheRead, b.Usage.Output = 1200, 60_000, 850
				return b
			}()),
			entry("orch-1", contract.Turn{Outcome: "interrupted"}),
		},
		"cost":    {entry("orch-1", contract.Cost{CostUSD: 0.25, RunCostUSD: 1.5})},
		"context": {entry("orch-1", contract.Context{Tokens: 142_000, Window: 200_000, Pct: 71})},
		"context_warning": {entry("orch-1", contract.ContextWarning{Pct: 71.2, Level: "warn"}),
			entry("orch-1", contract.ContextWarning{Pct: 86, Level: "critical"})},
		"compact": {entry("orch-1", contract.Compact{Trigger: "auto", Blocked: true, PreTokens: 167_000}),
			entry("orch-1", contract.Compact{Trigger: "manual", PreTokens: 167_000, PostTokens: 20_000})},
		"check": {entry("orch-1", contract.Check{Number: 1, Of: 3, Receipt: receipts()[0]}),
			entry("orch-1", contract.Check{Number: 2, Of: 3, Receipt: receipts()[1]}),
			entry("orch-2", contract.Check{Number: 3, Of: 7, Receipt: receipts()[0], Again: true}),
			entry("orch-2", contract.Check{Number: 4, Of: 7, Receipt: receipts()[1], Again: true,
				Agents: []string{"orch-1"}})},
		"handoff": {
			entry("orch-1", contract.Handoff{From: "orch-1", To: "orch-2", Document: document(), Receipts: receipts(),
				Proofs: []string{"verified", "refuted", "unverified"}}),
			entry("orch-1", contract.Handoff{From: "orch-1", To: "arbiter", Document: document(),
				GeneratedBecause: "the human ended it"}),
			entry("orch-1", contract.Handoff{From: "orch-1", To: "orch-2"}),
		},
		"decision": {
			entry("arbiter", contract.Decision{Decision: "SELECT_MODE", Mode: "developer",
				Reason: "The plan stands; it has to be built.", Source: "session"}),
			entry("arbiter", contract.Decision{Decision: "COMPLETE", Reason: "All checks passed.", Source: "rules"}),
			entry("arbiter", contract.Decision{Decision: "ADDRESS_ORCHESTRATOR", To: "orch-2", Source: "session"}),
			entry("arbiter", contract.Decision{Decision: "CONTINUE", Source: "fallback",
				Reason: strings.Repeat("It must be waited for. ", 40)}),
			entry("arbiter", contract.Decision{Decision: "HANDOFF", Source: "session"}),
			entry("human", contract.Decision{Decision: "RETRY", To: "orch-1", Source: "human"}),
			entry("arbiter", contract.Decision{Decision: "ADDRESS_HUMAN", Source: "cache"}),
			entry("arbiter", contract.Decision{
				Decision: "SELECT_MODE", Mode: "tester", Source: "fallback", Reason: "The step is built; it has to be tested.",
				Number: 12, Point: "select",
				Warnings: []string{"the answer is not JSON", "the model gave mode \"wizard\", which is none"},
			}),
			entry("arbiter", contract.Decision{Decision: "CONTINUE", To: "orch-1", Source: "model", Reason: "It goes well.",
				Number: 3, Point: "evaluate", CostUSD: 0.002}),
		},
		"plan": {entry("arbiter", contract.Plan{Steps: []contract.Step{
			{Text: "Survey", Status: "done"}, {Text: "Build the parser", Status: "active", Agent: "orch-1"},
			{Text: "Bench", Status: "failed"}, {Text: "Fuzz", Status: "skipped"},
			{Text: "Ship", Status: "pending", Mode: "reviewer"},
		}}), entry("orch-1", contract.Plan{
			Steps: []contract.Step{{Text: "Build the parser", Status: "active", Agent: "orch-1", Mode: "developer"}},
			Tasks: []contract.Tasks{{Agent: "orch-1", Items: []contract.Step{{Text: "The lexer", Status: "done"},
				{Text: "Numbers", Status: "active"}, {Text: "Strings", Status: "pending"}}}},
		}), entry("arbiter", contract.Plan{})},
		"permission_request": {
			entry("orch-1", contract.PermissionRequest{Request: "r1", Tool: "Bash", Input: bash,
				Reason: "The command writes outside of the workspace"}),
			with(entry("orch-1", contract.PermissionRequest{Request: "r1", Tool: "Edit", Input: edit, Subagent: "toolu_1"}),
				time.Minute, contract.Permission{Request: "r1", Behavior: "deny", By: "human"}),
			with(entry("orch-1", contract.PermissionRequest{Request: "r1", Tool: "Bash",
				Input: raw(`{"command":"a\nb\nc\nd\ne\nf\ng\nh"}`)}), time.Minute,
				contract.Permission{Request: "r1", Behavior: "allow", By: "human"}),
		},
		"takeover": {
			entry("orch-1", contract.Takeover{State: "began"}),
			entry("orch-1", contract.Takeover{State: "open"}),
			entry("orch-1", contract.Takeover{State: "ended", Reason: "the human left it", Words: 2,
				Files: []string{"a.go", "b.go", "c.go", "d.go", "e.go", "f.go"}, Digest: "The human said:\n\n- *make* it `so`"}),
			entry("orch-1", contract.Takeover{State: "failed", Reason: "the bridge was lost"}),
		},
		"acceptance": {
			entry("supervisor", contract.Acceptance{Text: "make test", Command: "make test", By: "human", Status: "passed",
				SHA256: "ab", Tree: "cd"}),
			entry("supervisor", contract.Acceptance{Text: "It is fast", Command: "make bench", By: "arbiter", Status: "failed",
				ExitCode: 2}),
			entry("supervisor", contract.Acceptance{Text: "It is documented", By: "human", Status: "unproven", ExitCode: -1}),
		},
		"workspace": {
			entry("orch-1", contract.Workspace{Dir: "/w", Isolation: "shared"}),
			entry("orch-1", contract.Workspace{Dir: "/state/orch-1", Branch: "arbiter/0f3b8a52/orch-1.1", Base: "c0ffee",
				Isolation: "worktree"}),
		},
		"changes": {
			entry("orch-1", contract.Changes{Files: []contract.FileChange{{Path: "cmd/main.go", Status: "modified", Added: 12,
				Deleted: 3, Agents: []string{"orch-1"}}}}),
			entry("orch-1", contract.Changes{More: 3, Files: []contract.FileChange{
				{Path: "new.go", Status: "added", Added: 1200}, {Path: "old.go", Status: "deleted", Deleted: 7},
				{Path: "b", Old: "a", Status: "renamed"},
				{Path: "logo.png", Status: "modified"}, {Path: "run", Status: "retyped"},
				{Path: "more.go", Status: "added", Added: 1},
			}}),
		},
		"merge": {
			entry("orch-2", contract.Merge{Status: "conflict", Head: "b7a9d1", Files: []string{"go.mod"}}),
			entry("orch-2", contract.Merge{Status: "merged", Head: "c0ffee", Files: []string{"a.go", "go.mod"}}),
		},
		"overlap":   {entry("supervisor", contract.Overlap{Path: "cmd/main.go", Agents: []string{"orch-1", "orch-2"}})},
		"withdrawn": {entry("human", contract.Withdrawn{MessageID: "m2"})},
		"budget": {
			entry("supervisor", contract.Budget{Scope: "run", SpentUSD: 4.02, LimitUSD: 5, Level: "warn"}),
			entry("supervisor", contract.Budget{Scope: "day", SpentUSD: 19, LimitUSD: 20, Level: "warn"}),
			entry("orch-1", contract.Budget{Scope: "agent", SpentUSD: 2.5, LimitUSD: 2.5, Level: "limit"}),
		},
		"forecast": {
			entry("supervisor", contract.Forecast{USD: 2.4, Tokens: 900000, Minutes: 36, From: 12, Unknown: 1}),
			entry("supervisor", contract.Forecast{Step: 2, Mode: "tester", USD: 0.4, Tokens: 90000, Minutes: 6, From: 12}),
			entry("orch-2", contract.Forecast{Step: 2, USD: 0.4, Tokens: 90000, Minutes: 6, From: 12}),
			entry("supervisor", contract.Forecast{Unknown: 3}),
		},
		"fuse": {
			entry("orch-1", contract.Fuse{USD: 2, Status: "set"}),
			entry("orch-1", contract.Fuse{USD: 2, Spent: 1.62, Status: "warn"}),
			entry("orch-1", contract.Fuse{USD: 2, Spent: 2.05, Status: "blown", Rehearsal: true}),
		},
		"quota": {
			entry("supervisor", contract.Quota{Window: "five_hour", UsedPct: 81, ResetsAt: "2026-03-14T12:00:00Z",
				LeftSeconds: 2400}),
			entry("supervisor", contract.Quota{Window: "seven_day", UsedPct: 30.5}),
		},
		"settled": {entry("supervisor", contract.Settled{Item: "limit"})},
		"quiet": {
			entry("orch-1", contract.Quiet{Seconds: 312, Doing: "Bash go test ./..."}),
			entry("arbiter", contract.Quiet{Seconds: 300, Doing: "thinking"}),
		},
		"host": {
			entry("supervisor", contract.Host{Name: "box", Status: contract.HostWaiting, Reason: "it is being started"}),
			entry("supervisor", contract.Host{Name: "box", Status: contract.HostUp}),
			entry("supervisor", contract.Host{Name: "box", Status: contract.HostLost, Reason: "the link broke"}),
			entry("supervisor", contract.Host{Name: "box", Status: contract.HostDown, Reason: "parked: permission denied"}),
		},
		"halted": {entry("human", contract.Halted{By: "screen"}), entry("human", contract.Halted{By: "socket"})},
		"permission": {
			entry("orch-1", contract.Permission{Request: "r2", Behavior: "allow", By: "human", Tool: "Bash",
				Rule: "Bash(go test *)", Scope: "always", Action: "0123456789abcdef"}),
			entry("orch-1", contract.Permission{Request: "r3", Behavior: "deny", By: "halted", Tool: "Bash",
				Subagent: "toolu_1"}),
			entry("orch-1", contract.Permission{Request: "r4", Behavior: "deny", By: "role", Tool: "Write"}),
			entry("orch-1", contract.Permission{Request: "r1", Behavior: "allow", By: "rule", Tool: "Bash",
				Rule: "Bash(go test *)"}),
			entry("orch-1", contract.Permission{Request: "r1", Behavior: "deny", By: "timeout"}),
		},
		"question": {entry("arbiter", contract.Question{Text: "Shall the parser allow a **BOM**?"})},
		"accepted": {entry("human", contract.Accepted{Message: "plan set"})},
		"rejected": {entry("human", contract.Rejected{Message: `there is no living agent "orch-9"`})},
		"retry":    {entry("orch-1", contract.Retry{Attempt: 2, DelayMS: 4000, Reason: "overloaded"})},
		"restart": {entry("orch-1", contract.Restart{Attempt: 1, DelayMS: 2000, Reason: "it crashed: signal 9"}),
			entry(contract.Supervisor, contract.Restart{Attempt: 1, DelayMS: 800, Reason: "the bridge ended unasked"})},
		"error": {entry("orch-1", contract.Error{Category: "usage_limit",
			Message: "The plan's limit is reached until 14:00.", RecoveryOptions: []string{"retry", "cancel"}})},
		"notice": {entry("supervisor", contract.Notice{Text: "the machine slept for 2m0s; agents get time to " +
			"recover"})},
		"done": {entry("orch-1", contract.Done{Reason: "released"}),
			entry("orch-1", contract.Done{Reason: "succeeded by orch-3"})},
		"result": {entry("supervisor", contract.Result{
			Status: "complete", Summary: "The parser **stands**.", CostUSD: 1.5, Iterations: 2, DurationMS: 754_000, Crashes: 1,
			Session: "run-7",
			Checks:  &contract.Checks{Passed: 3, Failed: 1, Unproven: 2}, Rehearsal: true,
		}), entry("supervisor", contract.Result{Status: "complete", Summary: "Proved.", Session: "run-7",
			Acceptance: []contract.Acceptance{{Text: "It builds.", Status: "passed"},
				{Text: "It is fast.", Status: "failed"},
				{Text: "It is liked.", Status: "unproven"}},
			Changes: &contract.ResultChanges{Files: 4, Added: 120, Deleted: 3}}),
			entry("supervisor", contract.Result{Status: "needs_input", Summary: "Which one?", Session: "run-7"}),
			entry("supervisor", contract.Result{Status: "cancelled", Summary: "cancelled by the human", Session: "run-7",
				InterruptedWork: []string{
					"Orchestrator I (orch-1): Bash `npm install` for 11s", "step 1 of the plan: install, which takes its time where " +
						"the network is slow and the way is long",
				}}),
		},
	}
}

// renderers are all ways to make a card.
var renderers = []struct {
	name string
	make func(history.Entry, EventOptions) Block
}{
	{"talk", EventTalk},
	{"stream", EventStream},
	{"log", func(e history.Entry, o EventOptions) Block { return EventLog(e, o, false) }},
	{"raw", func(e history.Entry, o EventOptions) Block { return EventLog(e, o, true) }},
}

// sound reports violations of what must hold for every card: its width, and no characters that a terminal
// acts on.
func sound(c Block, o EventOptions) error {
	width := o.inside(c.Indent).width()
	for i, l := range append([]render.Line{c.Head}, c.Lines...) {
		if n := l.Width(); n > width {
			return fmt.Errorf("row %d is %d columns wide, want at most %d: %q", i, n, width, l.Text())
		}
		for _, s := range l {
			for _, r := range s.Text {
				if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != 0x200c && r != 0x200d || r == 0x2028 || r == 0x2029 {
					return fmt.Errorf("row %d holds %U: %q", i, r, s.Text)
				}
			}
		}
	}
	return nil
}

// kept returns a body as the history returns it.
func kept(t testing.TB, b contract.Body) contract.Body {
	t.Helper()
	if d, ok := b.(contract.Delta); ok { // it is no entry
		return contract.Delta{Text: sanitize.Text(d.Text)}
	}
	c := history.New(history.Memory)
	c.Add(dawn, contract.Event{Body: b})
	e, ok := c.All().Entry(0)
	testkit.Need(t, ok, "%T is lost", b)
	return e.Event.Body
}

func last(c Block) string { return c.Lines[len(c.Lines)-1].Text() }

// TestFoldCountsWhatItHides: the number of lines is right, and a single line is never replaced by a line
// that says so.
func TestFoldCountsWhatItHides(t *testing.T) {
	result := func(text string) Block {
		return EventStream(entry("orch-1", contract.ToolResult{Text: text}), options(40))
	}
	for n := range 60 {
		text := strings.TrimSuffix(strings.Repeat("line\n", n), "\n")
		c := result(text)
		switch {
		case n <= foldResult+foldSlack:
			testkit.Check(t, len(c.Lines) == n && !c.Foldable, "%d lines: %d shown, foldable %v", n, len(c.Lines),
				c.Foldable)
		case last(c) != fmt.Sprintf("▸ %d more lines", n-foldResult) || len(c.Lines) != foldResult+1 || !c.Foldable:
			t.Errorf("%d lines: %d shown, the last %q", n, len(c.Lines), last(c))
		}
	}
	for text, want := range map[string]string{
		strings.Repeat("x", 100_000):                            "▸ 100 kB more", // all on one line
		strings.Repeat("x", 200) + strings.Repeat("\nline", 12): "▸ 12 more lines",
		"a\nb\n" + strings.Repeat("x", 200) + "\nc\nd\ne":       "▸ 3 more lines",
		strings.Repeat("0123456789\n", 25_000):                  "▸ 24,996 more lines",
		// blank lines at the end do not count
		strings.Repeat("日本語\n", 20) + strings.Repeat(" \t\n", 10_000): "▸ 16 more lines",
	} {
		c := result(text)
		testkit.Check(t, last(c) == want, "%.20q…: %q, want %q", text, last(c), want)
	}
	prose := func(text string) Block {
		return EventTalk(entry("arbiter", contract.Message{From: "orch-1", To: "arbiter", Text: text}), options(40))
	}
	if c := prose(strings.Repeat("word\n\n", 23)); last(c) != "▸ 33 more lines" { // 45 rows
		t.Errorf("%d lines, the last %q", len(c.Lines), last(c))
	}
	c := prose(strings.Repeat("some words in a line\n\n", 5000))
	testkit.Check(t, strings.HasSuffix(last(c), ",987 more lines"), "%d lines, the last %q", len(c.Lines), last(c))
}

// TestOpenRequestsAreNotFolded: open questions and requests are shown to their ends, because the actual
// question is often there; answered ones are folded like all other cards.
func TestOpenRequestsAreNotFolded(t *testing.T) {
	question := contract.Question{Text: strings.Repeat("Some words of mine.\n\n", 45) + "Shall I go on?"}
	long := contract.Question{Text: strings.Repeat("Some words of mine.\n\n", 5000) + "Shall I go on?"}
	command := map[string]string{"command": strings.Repeat("make one\n", 5000) + "Shall I go on?"}
	input := testkit.Must(json.Marshal(command))(t)
	request := contract.PermissionRequest{Request: "r1", Tool: "Bash", Input: input}
	yes := contract.Message{From: contract.Human, To: contract.Arbiter, Kind: "answer", Text: "yes"}
	for name, tt := range map[string]struct{ waits, answer contract.Body }{
		"question": {question, yes}, "long question": {long, yes},
		"request": {request, contract.Permission{Request: "r1", Tool: "Bash", Behavior: "allow", By: contract.Human}},
	} {
		e := entry("arbiter", tt.waits)
		c := EventTalk(e, options(40))
		text := textEventOf(c)
		testkit.Check(t, strings.Contains(text, "Shall I go on?") && !strings.Contains(text, " more") && !c.Foldable,
			"%s: %d lines are shown, foldable %v", name, len(c.Lines), c.Foldable)
		answer := entry("human", tt.answer).Event
		e.Outcome = answer.Body
		c = EventTalk(e, options(40))
		text = textEventOf(c)
		testkit.Check(t, !strings.Contains(text, "Shall I go on?") && strings.Contains(text, " more") && c.Foldable,
			"%s, answered: %d lines are shown, foldable %v", name, len(c.Lines), c.Foldable)
	}
}

func textEventOf(c Block) string {
	var b strings.Builder
	for _, l := range c.Lines {
		b.WriteString(l.Text() + "\n")
	}
	return b.String()
}

// TestUnfoldedIsAll: an unfolded card contains every character of the text.
func TestUnfoldedIsAll(t *testing.T) {
	text := strings.Repeat("ab 日本\tz "+strings.Repeat("q", 37)+"\n", 50) + "end"
	for _, width := range []int{1, 2, 3, 9, 40, 200} {
		o := options(width)
		o.Open = true
		c := EventStream(entry("orch-1", contract.ToolResult{Text: text}), o)
		want := text
		if width == 1 { // a mark replaces a wide character that does not fit
			want = strings.NewReplacer("日", "…", "本", "…").Replace(want)
		}
		strip := strings.NewReplacer("\n", "", "\t", "", " ", "")
		got, want := strip.Replace(textEventOf(c)), strip.Replace(want)
		testkit.Check(t, got == want, "width %d: %d characters, want %d", width, len(got), len(want))
	}
}

// TestWholeInputIsShown: the card shows every member of an input that a person must allow,
// whatever the tool.
func TestWholeInputIsShown(t *testing.T) {
	for tool := range strings.FieldsSeq("Bash Check Write NotebookEdit Edit MultiEdit Agent Task Read Grep mcp__x__y") {
		for _, input := range []string{
			`{"command":"ls","file_path":"F1","content":"C1","old_string":"O1","new_string":"N1","prompt":"P1","zzz":"Z1","deep":{"a":["D1"]},"edits":[{"old_string":"E1","new_string":"E2","more":"E3"}]}`,
			`{"command":{"sh":"D1"},"file_path":["F1"],"content":7,"old_string":null,"new_string":"N1","edits":"E1","prompt":["P1"]}`,
			`{"command":"C1","command":"C2"}`,
			`["C1",2]`,
			`"C1"`,
			`{"command":"C1"`,
		} {
			request := contract.PermissionRequest{Tool: tool, Input: json.RawMessage(input)}
			shown := textEventOf(EventTalk(entry("orch-1", request), options(60)))
			for _, word := range strings.Fields("C1 C2 F1 O1 N1 P1 Z1 D1 E1 E2 E3 7 null") {
				testkit.Check(t, !strings.Contains(input, word) || strings.Contains(shown, word),
					"%s, %s: %q is not shown:\n%s", tool, input, word, shown)
			}
		}
	}
}

// TestConcealedIsShown: the card says so if a command is not exactly what is visible.
func TestConcealedIsShown(t *testing.T) {
	for input, want := range map[string]bool{
		`{"command":"ls -l\n\tfoo – 日本 👨‍👩‍👧"}`: false,
		`{"content":"a\r\nb"}`:                 false,
		`{"command":"ls \u202e"}`:              true,
		`{"command":"ls \u001b[8m; rm -rf ~"}`: true,
		"{\"command\":\"ls \u200b\"}":          true,
		"{\"command\":[\"ls \u2066\"]}":        true,
		`{"comm\u0007and":"ls"}`:               true,
		`{"command":"a","command":"b"}`:        false,
	} {
		b := contract.PermissionRequest{Tool: "Bash", Input: json.RawMessage(input)}
		shown := ""
		for _, l := range append(EventTalk(entry("orch-1", b), options(100)).Lines,
			Action("Bash", b.Input, options(100))...) {
			shown += l.Text() + "\n"
		}
		plain, _ := eventtext.Text(entry("orch-1", b), nil)
		testkit.Same(t, fmt.Sprintf("how often %q says so", input), map[bool]int{true: 3}[want],
			strings.Count(shown+plain, eventtext.Unseen))
	}
}

// TestHumanIsAlerted: what waits for a human stands out while it waits.
func TestHumanIsAlerted(t *testing.T) {
	ask := contract.PermissionRequest{Tool: "Bash", Input: json.RawMessage(`{"command":"ls"}`)}
	if c := EventTalk(entry("orch-1", ask), options(60)); c.Gutter != render.Alert || c.Head[0].Role != render.Alert {
		t.Errorf("a request: gutter %v, head %v", c.Gutter, c.Head)
	}
	for behavior, role := range map[string]render.Role{"allow": render.Good, "deny": render.Bad} {
		c := EventTalk(with(entry("orch-1", ask), time.Second, contract.Permission{Behavior: behavior, By: "human"}),
			options(60))
		testkit.Check(t, c.Gutter != render.Alert && c.Lines[len(c.Lines)-1][0].Role == role, "%s: gutter %v, %v",
			behavior, c.Gutter, c.Lines)
	}
	question := entry("arbiter", contract.Question{Text: "?"})
	if c := EventTalk(question, options(60)); c.Gutter != render.Alert || c.Head[0].Role != render.Alert {
		t.Errorf("a question: gutter %v, head %v", c.Gutter, c.Head)
	}
	answer := contract.Message{From: contract.Human, To: contract.Arbiter, Kind: "answer", Text: "!"}
	c := EventTalk(with(question, time.Second, answer), options(60))
	testkit.Check(t, c.Gutter != render.Alert && c.Head[0].Role != render.Alert, "answered: gutter %v, head %v",
		c.Gutter, c.Head)
}

// TestIndentLeavesRoom: a card leaves exactly the columns free that its indent takes.
func TestIndentLeavesRoom(t *testing.T) {
	for width := range 130 {
		for depth := range maxDepth + 1 {
			got, want := options(width).inside(depth).width(), max(width-Inset(width, depth), 1)
			testkit.Check(t, got == want, "width %d, depth %d: %d columns, want %d", width, depth, got, want)
		}
	}
}

// TestErrorIsWrappedOnce: the mark before the message of an error leaves no line of one word below each full one.
func TestErrorIsWrappedOnce(t *testing.T) {
	message := strings.TrimSpace(strings.Repeat("word ", 30))
	c := EventTalk(entry("orch-1", contract.Error{Message: message}), options(40))
	testkit.Same(t, "lines of 30 words, seven in each", 5, len(c.Lines))
}

func TestSubagentParents(t *testing.T) {
	k := history.New(history.Memory)
	use := func(id, subagent string) {
		k.Add(dawn, contract.Event{ID: "orch-1", Body: contract.ToolUse{Tool: "Agent", ToolUse: id, Subagent: subagent}})
	}
	use("a", "")
	use("b", "a")
	use("c", "b")
	o := options(100)
	o.Parent = k.Parent
	for id, depth := range map[string]int{"": 0, "a": 1, "b": 2, "c": 3, "never heard of": 1} {
		c := EventStream(entry("orch-1", contract.ToolUse{Tool: "Read", Input: json.RawMessage(`{}`), Subagent: id}), o)
		testkit.Same(t, fmt.Sprintf("the depth of %q", id), depth, c.Indent)
	}
	for i := range 9999 {
		use(fmt.Sprint(i), "a")
	}
	testkit.Check(t, k.Parent("1") == "a" && k.Parent("9998") == "" && k.Parent("b") == "a", "too many are remembered")
}

func TestLive(t *testing.T) {
	l := history.Live{Agent: "arbiter", Text: "So **it** sh", Began: dawn}
	o := options(40)
	c := EventLive(l, o)
	testkit.Same(t, "shows", "So it sh", c.Lines[0].Text())
	o.Stream = &render.MarkdownStream{}
	got := EventLive(l, o)
	testkit.Check(t, len(got.Lines) == len(c.Lines), "%d lines with a stream, %d without", len(got.Lines), len(c.Lines))
	frames := map[string]bool{}
	for i := range 20 {
		o.Now = dawn.Add(time.Duration(i) * beat)
		frames[last(EventLive(l, o))] = true
	}
	testkit.Same(t, "frames", len(eventLook.Glyphs.Spinner), len(frames))
	o.Look = &render.Look{Glyphs: render.Unicode, Still: true}
	testkit.Same(t, "without motion", "…", last(EventLive(l, o)))
}

func TestSummaryOfInput(t *testing.T) {
	for input, want := range map[string]string{
		`{"command":"make test"}`:                                   "make test",
		`{"command":"a\nb"}`:                                        "a …",
		`{"command":"\nb"}`:                                         "b",
		`{"command":"printf 'a\\nb'"}`:                              `printf 'a\nb'`,
		`{"command":"\u001b[2Jls\u202e"}`:                           "ls",
		`{"other":1}`:                                               "",
		`{"command":"` + strings.Repeat("ab", 3000) + `"}`:          strings.Repeat("ab", 199) + "a…",
		`{"command":"` + strings.Repeat(`\u00e9`, 3000) + `"}`:      strings.Repeat("é", 399) + "…",
		`{"command":"` + strings.Repeat(`\ud83d\ude00`, 999) + `"}`: strings.Repeat("😀", 399) + "…",
		``:   "",
		`[]`: "",
	} {
		testkit.Same(t, fmt.Sprintf("%.60s", input), want, eventtext.Summary("Bash", json.RawMessage(input)))
	}
	testkit.Same(t, "an unknown tool", "q", eventtext.Summary("mcp__x__y", json.RawMessage(`{"limit":5,"query":"q"}`)))
	got := eventtext.Summary("mcp__x__y", json.RawMessage(`{"limit":5}`))
	testkit.Check(t, got == `{ "limit": 5 }` || got == `{"limit":5}`, "an unknown tool: %q", got)
}

// TestLogbookPaths: the logbook shows paths relative to the agent's directory, like the cards.
func TestLogbookPaths(t *testing.T) {
	o := options(100)
	o.Root = func(string) string { return "/loom" }
	input := json.RawMessage(`{"file_path":"/loom/a/b.go"}`)
	got := EventLog(entry("orch-1", contract.ToolUse{Tool: "Read", Input: input}), o, false)
	testkit.Includes(t, "", dump(got), "Read: a/b.go")
	testkit.Excludes(t, "", dump(got), "/loom")
}

// TestTimesOfAnotherDay: a time that is not of today has its date: in the logbook, on a timeline, and where a request
// is denied.
func TestTimesOfAnotherDay(t *testing.T) {
	o := options(100)
	e := entry("orch-1", contract.Notice{Text: "x"})
	for days, want := range []string{"|09:26:53 ", "|14 Mar 09:26:53 "} {
		o.Now = dawn.AddDate(0, 0, days)
		testkit.Includes(t, "the logbook", dump(EventLog(e, o, false)), want)
	}
	tomorrow := TimelineFrame{Look: dark, Now: timelineBegan.AddDate(0, 0, 1)}
	lines := timelineOf(story()...).Lines(&TimelineView{}, tomorrow, 100, 24)
	text := strings.Join(testkit.Each(lines, render.Line.Text), "\n")
	testkit.Includes(t, "the timeline", text, " 1 Mar 14:00:00 ", "1 Mar 14:01:40  ")
	next := "Denied at " + time.Now().AddDate(0, 0, 1).Format("2 Jan") + " 15:04 "
	for days, want := range []string{"Denied at 15:04 ", next} {
		y, m, d := time.Now().AddDate(0, 0, days).Date()
		deadline := time.Date(y, m, d, 15, 4, 0, 0, time.Local)
		testkit.Includes(t, "a deadline", eventtext.DeniedAt(deadline.Format(time.RFC3339)), want)
	}
}

// TestStepsRemain: the steps of a document without remaining work are counted as it, like everywhere else.
func TestStepsRemain(t *testing.T) {
	d := &verdict.Document{Accomplished: []string{"a"}, Steps: []verdict.Step{{Text: "b"}, {Text: "c"}}}
	got := EventTalk(entry("orch-1", contract.Handoff{From: "orch-1", To: "orch-2", Document: d}), options(80))
	testkit.Includes(t, "", dump(got), "2 remaining")
}

func TestNumbers(t *testing.T) {
	for got, want := range map[string]string{
		eventtext.Span(900 * time.Millisecond): "900 ms", eventtext.Span(9400 * time.Millisecond): "9.4 s",
		eventtext.Span(59 * time.Second): "59 s", eventtext.Span(61 * time.Second): "1 min 01 s",
		eventtext.Span(25 * time.Hour): "25 h 00 min",
	} {
		testkit.Same(t, "", want, got)
	}
}

// TestEveryEvent draws every event of the contract in every way. One width is compared with a golden file; at every
// other one the cards are sound, and an unfolded card has the same text. An event that has no sample fails, so that
// none is forgotten. The file has for each its text, its line in a log, and its cards; of a card only the lines after
// those of the card before it; ⏎ stands for a blank line.
func TestEveryEvent(t *testing.T) {
	all := samples()
	var b strings.Builder
	for _, name := range contract.EventNames() {
		testkit.Check(t, len(all[name]) != 0, "%s has no sample", name)
		for i, e := range all[name] {
			got := e.Event.Body.EventName()
			testkit.Need(t, got == name, "the sample of %s is a %s", name, got)
			plain, _ := eventtext.Text(e, nil)
			fmt.Fprintf(&b, "%s %d: %s\n%s", name, i, plain, dump(EventLog(e, options(100), false)))
			drawn, last := map[string]bool{"": true}, []string(nil)
			for _, renderer := range renderers {
				for _, open := range []bool{false, true} {
					o := options(60)
					o.Open = open
					c := renderer.make(e, o)
					if text := dump(c); (renderer.name == "talk" || renderer.name == "stream") && !drawn[text] {
						drawn[text] = true
						lines, same := strings.SplitAfter(text, "\n"), 0
						for same < min(len(lines), len(last)) && lines[same] == last[same] {
							same++
						}
						fmt.Fprintf(&b, "%s ", renderer.name)
						if same > 0 {
							fmt.Fprintf(&b, "%d lines as before\n", same)
						}
						b.WriteString(strings.Join(lines[same:], ""))
						last = lines
					}
					for _, width := range []int{100, 60, 30, 10} {
						o.Width = width
						narrow := renderer.make(e, o)
						err := sound(narrow, o)
						testkit.Check(t, err == nil, "%s %d, %s, %d columns: %v", name, i, renderer.name, width, err)
						got, want := lettersEvent(narrow), lettersEvent(c)
						whole := open && width >= 30 && renderer.name != "log" && !strings.Contains(got+want, "…")
						testkit.Check(t, !whole || got == want, "%s %d, %s: %d columns show %q, 60 columns %q", name, i,
							renderer.name, width, got, want)
					}
				}
			}
		}
	}
	for name := range all {
		testkit.Check(t, slices.Contains(contract.EventNames(), name), "%s is not an event of the contract", name)
	}
	tuitest.File(t, "events", blankLines.ReplaceAllString(b.String(), " ⏎\n"))
}

// blankLines matches the blank line after a line, of a text or of a card.
var blankLines = regexp.MustCompile(`\n *\|?\n`)

// lettersEvent returns the text of a card without blanks and separators, which is the same however its lines are
// wrapped.
func lettersEvent(c Block) string {
	return strings.Join(strings.Fields(strings.NewReplacer("·", "", "─", "").Replace(textEventOf(c))), "")
}

// dump renders a card as text: its gutter's indent, its head with the time after a bar, and its lines
// between bars.
func dump(c Block) string {
	var b strings.Builder
	indent := strings.Repeat(" ", c.Indent*insetWidth)
	if n := len(c.Head); n > 0 {
		fmt.Fprintf(&b, "%s== %s | %s\n", indent, c.Head[:n-1].Text(), c.Head[n-1].Text)
	}
	for _, l := range c.Lines {
		fmt.Fprintf(&b, "%s|%s\n", indent, l.Text())
	}
	if c.Foldable {
		b.WriteString(indent + "(folds)\n")
	}
	return b.String()
}

var eventHostile = tuitest.Hostile()

// filler sets every field of any event.
type filler struct{ n int }

func (f *filler) text() string {
	f.n++
	return eventHostile[f.n%len(eventHostile)]
}

func (f *filler) raw() json.RawMessage {
	f.n++
	keys := []string{"command", "file_path", "content", "old_string", "new_string", "edits", "prompt", "description",
		"query", f.text()}
	m := map[string]any{}
	for _, k := range keys {
		m[k] = f.text()
	}
	switch f.n % 4 {
	case 0:
		m["edits"] = []any{map[string]any{"old_string": f.text(), "new_string": f.text(), f.text(): 1}}
	case 1:
		m["deep"] = map[string]any{f.text(): []any{f.text(), 1, nil, true}}
	case 2:
		return json.RawMessage(`{"command":"ls","command":"rm \u001b[2J"`) // a duplicate key, and incomplete
	}
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	// encoding/json escapes characters that others do not.
	return json.RawMessage(strings.NewReplacer(`\u2028`, "\u2028", `\u202e`, "\u202e", `\u007f`,
		"\x7f").Replace(string(raw)))
}

func (f *filler) fill(v reflect.Value, _ reflect.StructField) bool {
	f.n++
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.text())
	case reflect.Int, reflect.Int64:
		v.SetInt([]int64{0, -1, 7, math.MaxInt64, math.MinInt64}[f.n%5])
	case reflect.Float64:
		v.SetFloat([]float64{0, -1, 71.4, math.Inf(1), math.NaN(), 1e300}[f.n%6])
	case reflect.Bool:
		v.SetBool(f.n%2 == 0)
	case reflect.Slice:
		if v.Type() != reflect.TypeFor[json.RawMessage]() {
			v.Set(reflect.MakeSlice(v.Type(), f.n%4, f.n%4))
			return false
		}
		v.SetBytes(f.raw())
	default:
		return v.Kind() == reflect.Pointer && f.n%7 == 0
	}
	return true
}

// words that a field may have to hold for its branch to be taken.
var enums = map[string][]string{
	"tool": {"Bash", "Write", "Edit", "MultiEdit", "NotebookEdit", "Agent", "Check", "Grep", "mcp__a__b",
		"set_plan"},
	"behavior": {"allow", "deny"},
	"status":   {"complete", "done", "active", "failed", "completed"},
	"decision": {"SELECT_MODE", "COMPLETE", "CONTINUE", "RETRY", "HANDOFF"},
	"level":    {"warn", "critical"},
	"result":   {"passed", "failed", "unrun", "unclear"},
}

func (f *filler) enum(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if words := enums[name]; words != nil && v.Field(i).Kind() == reflect.String && f.n%3 != 0 {
				v.Field(i).SetString(words[f.n%len(words)])
			}
			f.n++
			f.enum(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			f.enum(v.Index(i))
		}
	case reflect.Pointer:
		f.enum(v.Elem())
	}
}

// TestEventHostileText fills every field of every event with hostile text, as the history returns it, and
// hostile JSON, and checks that none of it is drawn out of its place.
func TestEventHostileText(t *testing.T) {
	outcomes := map[string]string{
		"tool_use": "tool_result", "subagent_start": "subagent_stop", "permission_request": "permission",
		"message": "delivered",
	}
	looks := []*render.Look{eventLook, {Glyphs: render.ASCII, Still: true}}
	f := &filler{}
	make := func(name string) contract.Body {
		v := reflect.New(reflect.TypeOf(contract.Events()[slices.Index(contract.EventNames(), name)])).Elem()
		testkit.Fill(v, f.fill)
		f.enum(v)
		return kept(t, v.Interface().(contract.Body))
	}
	rounds := 6 // each frontend, each look, unfolded and folded
	if testkit.AtNight() {
		rounds = 12
	}
	for _, name := range append(contract.EventNames(), "unknown") {
		for round := range rounds {
			e := entry([]string{"orch-1", "arbiter", "\x1b[2Jorch"}[round%3], nil)
			if name == "unknown" {
				e.Event.Body = kept(t, contract.Unknown{Name: f.text(), Raw: f.raw(), Problem: f.text()})
			} else {
				e.Event.Body = make(name)
			}
			if other := outcomes[name]; other != "" && round%2 == 0 {
				e = with(e, time.Duration(f.n)*time.Second, make(other))
				e.Progress = &contract.SubagentProgress{Tokens: 7, ToolUses: -1, LastTool: "[red]"}
			}
			for i, width := range []int{-1, 0, 1, 2, 3, 4, 5, 7, 8, 10, 13, 20, 30, 60, 100} {
				if (round/2+i)%2 != 0 && !testkit.AtNight() {
					continue // each look has each width in another round
				}
				o := EventOptions{
					Width: width, Look: looks[round%2], Open: round%4 > 1, Now: dawn.Add(48 * time.Hour),
					Parent: func(id string) string { return id }, // a cycle
				}
				if round%3 == 0 {
					o.Name = func(string) string { return f.text() }
				}
				for _, renderer := range renderers {
					c := renderer.make(e, o)
					err := sound(c, o)
					testkit.Need(t, err == nil, "%s, %s, width %d, round %d: %v", name, renderer.name, width, round, err)
				}
				l := history.Live{Agent: e.Event.ID, Text: "x" + sanitize.Text(f.text()), Began: dawn}
				err := sound(EventLive(l, o), o)
				testkit.Need(t, err == nil, "live, width %d: %v", width, err)
			}
			text, ok := eventtext.Text(e, nil)
			if !ok {
				continue
			}
			testkit.Need(t, sanitize.Text(text) == text, "%s: prose with control characters: %q", name, text)
		}
	}
}

// FuzzCards takes any line of the contract, with any JSON in it.
func FuzzCards(f *testing.F) {
	for _, list := range samples() {
		for _, e := range list {
			line := testkit.Must(contract.EncodeLine(nil, 1, dawn, e.Event))(f)
			f.Add(string(line), 20, "ok\n\tresult", true)
			f.Add(string(line), 1, "長い", false)
		}
	}
	f.Fuzz(func(t *testing.T, line string, width int, result string, open bool) {
		l, err := contract.DecodeLine([]byte(line))
		if err != nil || len(line) > 1<<16 {
			t.Skip()
		}
		e := entry(sanitize.Text(l.ID), kept(t, l.Body))
		if _, ok := l.Body.(contract.ToolUse); ok {
			e = with(e, time.Second, contract.ToolResult{Text: sanitize.Text(result), IsError: open})
		}
		o := options(width % 200)
		o.Open = open
		for _, renderer := range renderers {
			err := sound(renderer.make(e, o), o)
			testkit.Check(t, err == nil, "%s, width %d: %v", renderer.name, o.Width, err)
		}
		eventtext.Text(e, nil)
	})
}
