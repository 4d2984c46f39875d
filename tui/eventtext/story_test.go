package eventtext

import (
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// TestStory: a run is shown with its times, without arbiter's internal events; calls come before their
// consequences.
func TestStory(t *testing.T) {
	at := time.Date(2026, 1, 31, 23, 59, 58, 0, time.UTC)
	var s Story
	var got strings.Builder
	emit := func(id string, b contract.Body) {
		got.WriteString(s.Text(at, contract.Event{ID: id, Body: b}))
		at = at.Add(time.Second)
	}
	emit("supervisor", contract.Session{CWD: "/loom", ClaudeVersion: "2.1.329", Permissions: "ask"})
	emit("orch-1", contract.Message{From: "arbiter", To: "orch-1", Kind: "brief",
		Text: "Mend it." + contract.BriefCompany + "\n\nOthers work here."})
	emit("orch-1", contract.Delivered{MessageID: "m1"})
	emit("orch-1", contract.ToolUse{Tool: "Read", Input: []byte(`{"file_path":"/loom/a.go"}`)})
	emit("orch-1", contract.ToolUse{Tool: "mcp__arbiter__update_plan", Input: []byte(`{"index":1}`)})
	for range 7 {
		emit("orch-1", contract.ToolUse{Tool: "Bash", Input: []byte(`{"command":"go test ./..."}`)})
	}
	emit("orch-1", contract.ToolUse{Tool: "Bash", Input: []byte(`{"command":"ls"}`), Subagent: "s1"})
	emit("orch-1", contract.Retry{Attempt: 1, DelayMS: 1000, Reason: "overloaded"})
	emit("orch-1", contract.Retry{Attempt: 2, DelayMS: 2000, Reason: "overloaded"})
	emit("orch-1", contract.Check{Number: 1, Of: 1,
		Receipt: verdict.Receipt{Command: "go vet", Result: "failed", Exit: 1}})
	emit("arbiter", contract.Plan{Steps: []contract.Step{{Text: "Mend", Status: "active"}}})
	emit("arbiter", contract.Plan{Steps: []contract.Step{{Text: "Mend", Status: "done"}}})
	emit("arbiter", contract.Decision{Decision: verdict.Continue, Reason: "It holds"})
	emit("orch-1", contract.ToolUse{Tool: "Bash", Input: []byte(`{"command":"ls"}`)})
	emit("orch-1", contract.Turn{Outcome: "done"})
	emit("orch-1", contract.ToolUse{Tool: "Bash", Input: []byte(`{"command":"rm -rf build"}`)})
	emit("orch-1", contract.PermissionRequest{Request: "p1", Tool: "Bash", Input: []byte(`{"command":"rm -rf build"}`)})
	emit("orch-1", contract.Turn{Outcome: "done"})
	want := `— 31 January 2026 —
23:59:58  The weaving begins. Claude Code 2.1.329, in /loom. Permissions: ask.
23:59:59  The Arbiter to Orchestrator I, brief: Mend it.
— 1 February 2026 —
00:00:11  Orchestrator I used
            - Read: a.go
            - Bash: go test ./...
            - Bash: go test ./...
            - Bash: go test ./...
            - Bash: go test ./...
            - Bash: go test ./...
            - and 2 more calls
          Patience. The API is asked again after 1 s, attempt 1: overloaded.
00:00:13  Check 1 of 1, failed with exit code 1: go vet
00:00:14  The plan: 0 of 1 step done; now: Mend.
            1. Mend
00:00:15  Step 1 of 1, Mend: done.
00:00:16  The Arbiter decides: The thread continues. Why: It holds.
00:00:18  Orchestrator I used Bash: ls
00:00:20  Orchestrator I asks to use Bash: rm -rf build
`
	testkit.Same(t, "", strings.Split(want, "\n"), strings.Split(got.String(), "\n"))
}

// TestStoryNamesHosts: an agent on another host is shown with the host's name, until it moves, and one of another make
// with that.
func TestStoryNamesHosts(t *testing.T) {
	var s Story
	for _, tt := range []struct{ host, make, want string }{{"box", "", "Orchestrator II @box asks"},
		{"box", "codex", "Orchestrator II @box [codex] asks"}, {"", "", "Orchestrator II asks"}} {
		s.Text(time.Time{}, contract.Event{ID: "orch-2",
			Body: contract.Spawn{Name: "Orchestrator II", Host: tt.host, Make: tt.make}})
		got := s.Text(time.Time{}, contract.Event{ID: "orch-2", Body: contract.Question{Text: "Which?"}})
		testkit.Includes(t, "on host "+tt.host, got, tt.want)
	}
}

// TestEditedLines: lines that an edit does not change do not count.
func TestEditedLines(t *testing.T) {
	for input, want := range map[string]struct {
		tool           string
		added, removed int
	}{
		`{"content":"a\nb\n"}`: {"Write", 2, 0},
		`{"content":""}`:       {"Write", 0, 0},
		`{"old_string":"a\nb\nc","new_string":"a\nx\ny\nc"}`:                                        {"Edit", 2, 1},
		`{"old_string":"a\nb","new_string":""}`:                                                     {"Edit", 0, 2},
		`{"old_string":"","new_string":"a"}`:                                                        {"Edit", 1, 0},
		`{"old_string":1,"new_string":"a\nb"}`:                                                      {"Edit", 0, 0}, // the tool refuses it
		`{"edits":[{"old_string":"a","new_string":"b\nc"},{"old_string":"x\ny","new_string":"x"}]}`: {"MultiEdit", 2, 2},
		`{"edits":7}`:        {"MultiEdit", 0, 0},
		`{"command":"a\nb"}`: {"Bash", 0, 0},
		`no JSON`:            {"Edit", 0, 0},
	} {
		if added, removed := EditedLines(want.tool, []byte(input)); added != want.added || removed != want.removed {
			t.Errorf("%s %s: +%d -%d, want +%d -%d", want.tool, input, added, removed, want.added, want.removed)
		}
	}
}

// TestMembers: the input of a request is shown member by member only if its meaning cannot differ from what
// is shown.
func TestMembers(t *testing.T) {
	for raw, want := range map[string]bool{
		`{}`: true, ` {"a":{"b":[1]}} `: true, `{"command":"ls","description":"x"}`: true,
		`{"command":"ls","command":"rm"}`: false, `{"command":"ls","comm\u0061nd":"rm"}`: false,
		`{"a":1}x`: false, `{"a" 1}`: false, `{"a":1,}`: false, `[1]`: false, `{"a":"`: false, ``: false,
	} {
		list, sound := Members([]byte(raw))
		testkit.Check(t, sound == want && (want || list == nil), "%s: %v, %d members", raw, sound, len(list))
	}
}

// TestSubagentEnd: a subagent that ended with its agent's process did not succeed.
func TestSubagentEnd(t *testing.T) {
	for _, tt := range []struct {
		stop   contract.SubagentStop
		text   string
		failed bool
	}{
		{contract.SubagentStop{Status: "completed", Tokens: 1200}, "done, 1.2k tokens", false},
		{contract.SubagentStop{}, "done", false},
		{contract.SubagentStop{Status: "stopped"}, "stopped", false},
		{contract.SubagentStop{Status: "failed"}, "failed", true},
		{contract.SubagentStop{Status: "lost"}, "lost", true},
	} {
		if text, failed := SubagentEnd(tt.stop); text != tt.text || failed != tt.failed {
			t.Errorf("%+v: %q, %v, want %q, %v", tt.stop, text, failed, tt.text, tt.failed)
		}
	}
}

// TestSince sums up runs whose human was away.
func TestSince(t *testing.T) {
	began := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	word := contract.Message{From: contract.Human, To: contract.Arbiter, Kind: "task", Text: "go on"}
	orch := func(id string, b contract.Body) contract.Event { return contract.Event{ID: id, Body: b} }
	night := []contract.Event{
		orch("orch-1", contract.Done{Reason: "before the last word"}),
		orch(contract.Arbiter, word), orch("orch-2", contract.Message{From: "orch-2", To: contract.Human, Text: "done"}),
		orch("orch-2", contract.Spawn{}), orch("orch-3", contract.Spawn{}), orch("orch-2", contract.Spawn{Resumed: true}),
		orch("orch-2", contract.Handoff{From: "orch-2", To: "orch-3"}), orch("orch-2", contract.Done{}),
		orch(contract.Arbiter, contract.Decision{Decision: verdict.Continue}),
		orch(contract.Arbiter, contract.Decision{Decision: verdict.SelectMode, CostUSD: 0.25}),
		orch(contract.Supervisor, contract.Cost{CostUSD: 0.5}),
		orch(contract.Arbiter, contract.Decision{Decision: verdict.Continue}),
		orch("orch-2", contract.Check{Receipt: verdict.Receipt{Result: verdict.CheckPassed}}),
		orch("orch-2", contract.Check{Receipt: verdict.Receipt{Result: verdict.CheckFailed}}),
		orch("orch-3", contract.Changes{Files: []contract.FileChange{{Path: "a.go"}, {Path: "b.go"}}}),
		orch("orch-3", contract.Changes{Files: []contract.FileChange{{Path: "a.go"}}}),
		orch("orch-3", contract.Restart{Reason: "its process ended"}), orch("orch-3", contract.Turn{CostUSD: 1.5}),
		orch("orch-3", contract.PermissionRequest{Request: "perm-1"}),
		orch("orch-3", contract.PermissionRequest{Request: "perm-2"}),
		orch("orch-3", contract.Permission{Request: "perm-1", Behavior: "deny", By: contract.ByTimeout}),
		orch(contract.Arbiter, contract.Question{Text: "Which one?"}),
	}
	full := `, 2 h 00 min ago (1 Mar 09:01): agents: Orchestrator II, Orchestrator III began; Orchestrator II ended · ` +
		`messages for you: 1 · handed off: Orchestrator II → Orchestrator III · decisions: 2 × CONTINUE, 1 × SELECT_MODE · ` +
		`checks: 1 passed, 1 failed · files changed: 2 · trouble: 1 time, last: its process ended · ` +
		`waits for you: 2 requests, the oldest for 1 h 42 min · cost: $2.25`
	for what, c := range map[string]struct {
		events []contract.Event
		after  time.Duration // of the first event
		want   string
	}{
		"a night":   {night, 2*time.Hour + time.Minute, full},
		"a moment":  {night, 8 * time.Minute, ""},
		"no event":  {nil, time.Hour, ""},
		"only word": {night[:2:2], time.Hour, ""},
		"answered": {append(night[:len(night):len(night)], orch("orch-3", contract.Permission{Request: "perm-2",
			Behavior: "allow", By: contract.Human})), 2 * time.Hour, ""},
		"settled": {[]contract.Event{orch("orch-1", contract.Done{}),
			orch(contract.Supervisor, contract.Question{Question: "limit"}),
			orch("orch-2", contract.Turn{CostUSD: 1}),
			orch(contract.Supervisor, contract.Settled{Item: "limit"})}, time.Hour,
			", 1 h 00 min ago (1 Mar 09:00): agents: Orchestrator I ended · cost: $1.00"},
		"a lost turn": {[]contract.Event{orch("orch-1", contract.Done{}), orch("orch-2", contract.Cost{CostUSD: 2}),
			orch("orch-2", contract.Spawn{Resumed: true}), orch("orch-2", contract.Turn{CostUSD: 1})}, time.Hour,
			"cost: $3.00"},
		"an unknown cost": {[]contract.Event{orch("orch-1", contract.Done{}), orch("orch-2", contract.Turn{CostUSD: 1}),
			orch("orch-1", contract.Turn{Unknown: true})}, time.Hour, "cost: $1.00 + ?"},
		"many agents": {func() (list []contract.Event) {
			for range 40 {
				list = append(list, orch("orch-7", contract.Spawn{}))
			}
			return list
		}(), time.Hour, "Orchestrator VII, and 34 more began"},
		"over": {append(night[:len(night):len(night)], orch("", contract.Result{Status: contract.StatusComplete})),
			2 * time.Hour, "It is done."},
		"resumed": {append(night[:len(night):len(night)], orch("", contract.Result{Status: contract.StatusInterrupted}),
			orch("", contract.Session{Resumed: true})), 2*time.Hour + time.Minute, full},
	} {
		var s Since
		for i, e := range c.events {
			s.Take(began.Add(time.Duration(i)*time.Minute), e)
		}
		local := time.Local
		time.Local = time.UTC
		got := s.Text(began.Add(c.after), nil)
		time.Local = local
		testkit.Check(t, strings.HasSuffix(got, c.want) && (c.want != "" || got == ""), "%s:\n%s\n, want\n%s", what,
			got, c.want)
	}
}

// TestAgentState: the time belongs to what is said, not to the status of the agent's process.
func TestAgentState(t *testing.T) {
	began := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	asked := began.Add(time.Minute)
	request := supervisor.InboxItem{Kind: supervisor.InboxPermission, Agent: "orch-1", Since: asked,
		Request: &contract.PermissionRequest{}}
	question := supervisor.InboxItem{Kind: supervisor.InboxQuestion, Agent: contract.Arbiter, Since: asked}
	for _, tt := range []struct {
		name, id string
		takeover *supervisor.Takeover
		does     string
		since    time.Time
	}{
		{"asks for a permission", "orch-1", nil, "permission?", asked},
		{"another asks", "orch-2", nil, "works", began},
		{"asks a question", contract.Arbiter, nil, "asks you", asked},
		{"is attached", "orch-2", &supervisor.Takeover{Stage: supervisor.TakeoverOpen, Since: asked}, "in your hands", asked},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var a supervisor.Agent
			a.ID, a.Takeover, a.Status, a.Since = tt.id, tt.takeover, supervisor.AgentBusy, began
			if tt.id == contract.Arbiter {
				a.Role = supervisor.RoleArbiter
			}
			does, since := AgentState(&supervisor.State{}, &a, []supervisor.InboxItem{request, question})
			testkit.Same(t, "what it does", tt.does, does)
			testkit.Same(t, "since", tt.since, since)
		})
	}
}
