package view

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/history"
	"github.com/arbiter-cli/arbiter/tui/render"
)

var (
	dawn      = time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)
	eventLook = &render.Look{Glyphs: render.Unicode}
)

func options(width int) EventOptions {
	return EventOptions{Width: width, Look: eventLook, Now: dawn.Add(time.Hour), Time: true}
}

// entry is an entry as the history returns it.
func entry(id string, b contract.Body) history.Entry {
	return history.Entry{N: 6, At: dawn, Event: contract.Event{ID: id, Body: b}}
}

// with is an entry with its outcome.
func with(e history.Entry, after time.Duration, b contract.Body) history.Entry {
	e.Outcome, e.OutcomeAt = &contract.Event{ID: e.Event.ID, Body: b}, e.At.Add(after)
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
		{
			Command: "go vet ./...", Expect: "no output", Result: verdict.CheckFailed, Exit: 1, SHA256: "fedcba9876543210",
			Bytes:  46,
			Output: "parse/lexer.go:12:\tunreachable code\n", Why: "exit code 1, expected 0",
		},
		{Command: "make bench", Expect: "`20 ms`", Result: verdict.CheckUnrun, Exit: -1, Why: "denied"},
	}
}

// samples are entries of every event of the contract, by the event's name.
func samples() map[string][]history.Entry {
	lines := strings.Repeat("A line of a long answer, of which there are many.\n\n", 23)
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
		"quota": {
			entry("supervisor", contract.Quota{Window: "five_hour", UsedPct: 81, ResetsAt: "2026-03-14T12:00:00Z",
				LeftSeconds: 2400}),
			entry("supervisor", contract.Quota{Window: "seven_day", UsedPct: 30.5}),
		},
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
		"restart":  {entry("orch-1", contract.Restart{Attempt: 1, DelayMS: 2000, Reason: "it crashed: signal 9"})},
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
	make func(history.Entry, EventOptions) EventView
}{
	{"talk", EventTalk},
	{"stream", EventStream},
	{"log", func(e history.Entry, o EventOptions) EventView { return EventLog(e, o, false) }},
	{"raw", func(e history.Entry, o EventOptions) EventView { return EventLog(e, o, true) }},
}

// sound reports violations of what must hold for every card: its width, and no characters that a terminal
// acts on.
func sound(c EventView, o EventOptions) error {
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

// clean sanitises every string of an event like the history.
func clean(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(sanitize.Text(v.String()))
	case reflect.Struct:
		for i := range v.NumField() {
			clean(v.Field(i))
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			return
		}
		for i := range v.Len() {
			clean(v.Index(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			clean(v.Elem())
		}
	}
}

// cleaned returns a sanitised body.
func cleaned(b contract.Body) contract.Body {
	v := reflect.New(reflect.TypeOf(b)).Elem()
	v.Set(reflect.ValueOf(b))
	clean(v)
	return v.Interface().(contract.Body)
}

// TestSingularAndPlural: a single thing is named in the singular.
func TestSingularAndPlural(t *testing.T) {
	handoff := contract.Handoff{From: "orch-1", To: "orch-2", Document: &verdict.Document{
		Checks: []verdict.Check{{Command: "make", Expect: "ok"}, {Command: "make test", Expect: "ok"}},
	}, Receipts: []verdict.Receipt{{Result: verdict.CheckPassed}, {Result: verdict.CheckFailed}}}
	text := eventtext.Line(contract.Event{ID: "orch-1", Body: handoff}, nil)
	if !strings.Contains(text, "1 check passed, 1 check failed") {
		t.Errorf("%q", text)
	}
}
