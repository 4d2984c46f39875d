package history

import (
	"fmt"
	"reflect"
	"strconv"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

func TestMembership(t *testing.T) {
	const a, o = contract.Arbiter, "orch-1"
	tests := []struct {
		e            contract.Event
		talk, stream bool
		parties      []string
	}{
		{contract.Event{ID: o, Body: contract.Session{}}, true, false, nil},
		{contract.Event{ID: contract.Supervisor, Body: contract.State{}}, false, false, nil},
		{contract.Event{ID: o, Body: contract.Spawn{}}, true, true, nil},
		{contract.Event{ID: o, Body: contract.Spawn{Resumed: true}}, false, true, nil},
		{contract.Event{ID: contract.Human, Body: contract.Message{From: contract.Human, To: a, Kind: "task"}}, true, true,
			[]string{contract.Human, a}},
		{contract.Event{ID: o, Body: contract.Message{From: o, To: a, Kind: "done"}}, true, true, []string{o, a}},
		{contract.Event{ID: o, Body: contract.Message{From: o, To: a, Kind: "continue"}}, true, true, []string{o, a}},
		{contract.Event{ID: contract.Supervisor, Body: contract.Message{From: contract.Supervisor, To: o, Kind: "continue"}},
			false, true, []string{contract.Supervisor, o}},
		{contract.Event{ID: contract.Supervisor, Body: contract.Message{From: contract.Supervisor, To: o,
			Kind: "correction"}}, true, true, []string{contract.Supervisor, o}},
		{contract.Event{ID: o, Body: contract.Delivered{}}, false, false, nil},
		{contract.Event{ID: o, Body: contract.Assistant{}}, false, true, nil},
		{contract.Event{ID: o, Body: contract.Delta{}}, false, false, nil},
		{contract.Event{ID: o, Body: contract.ToolUse{}}, false, true, nil},
		{contract.Event{ID: o, Body: contract.ToolResult{}}, false, true, nil},
		{contract.Event{ID: o, Body: contract.ToolCall{}}, false, true, nil},
		{contract.Event{ID: o, Body: contract.SubagentStart{}}, false, true, nil},
		{contract.Event{ID: o, Body: contract.SubagentStop{}}, false, true, nil},
		{contract.Event{ID: o, Body: contract.SubagentProgress{}}, false, false, nil},
		{contract.Event{ID: o, Body: contract.Turn{}}, false, true, nil},
		{contract.Event{ID: o, Body: contract.Context{}}, false, false, nil},
		{contract.Event{ID: o, Body: contract.Cost{}}, false, false, nil},
		{contract.Event{ID: o, Body: contract.ContextWarning{}}, true, true, nil},
		{contract.Event{ID: o, Body: contract.Compact{}}, true, true, nil},
		{contract.Event{ID: o, Body: contract.Check{}}, false, true, nil},
		{contract.Event{ID: contract.Supervisor, Body: contract.Acceptance{}}, true, true, nil},
		{contract.Event{ID: o, Body: contract.Workspace{}}, false, true, nil},
		{contract.Event{ID: o, Body: contract.Changes{}}, false, true, nil},
		{contract.Event{ID: contract.Supervisor, Body: contract.Overlap{}}, true, true, nil},
		{contract.Event{ID: contract.Supervisor, Body: contract.Host{}}, true, true, nil},
		{contract.Event{ID: "orch-2", Body: contract.Merge{Status: "merged"}}, true, true, nil},
		{contract.Event{ID: o, Body: contract.Handoff{From: o, To: "orch-2"}}, true, true, []string{o, "orch-2"}},
		{contract.Event{ID: o, Body: contract.Handoff{From: o, To: a}}, true, true, []string{o, a}},
		{contract.Event{ID: a, Body: contract.Decision{}}, true, true, nil},
		{contract.Event{ID: a, Body: contract.Decision{To: o}}, true, true, []string{a, o}},
		{contract.Event{ID: a, Body: contract.Plan{}}, false, false, nil},
		{contract.Event{ID: o, Body: contract.PermissionRequest{}}, true, true, nil},
		{contract.Event{ID: o, Body: contract.Permission{Behavior: "allow"}}, false, false, nil},
		{contract.Event{ID: o, Body: contract.Permission{Behavior: "deny"}}, false, true, nil},
		{contract.Event{ID: a, Body: contract.Question{}}, true, true, nil},
		{contract.Event{ID: contract.Human, Body: contract.Accepted{}}, false, false, nil},
		{contract.Event{ID: contract.Human, Body: contract.Rejected{}}, true, false, nil},
		{contract.Event{ID: o, Body: contract.Retry{Attempt: 1}}, false, true, nil},
		{contract.Event{ID: o, Body: contract.Retry{Attempt: 2}}, false, true, nil},
		{contract.Event{ID: o, Body: contract.Retry{Attempt: 3}}, true, true, nil},
		{contract.Event{ID: o, Body: contract.Restart{}}, true, true, nil},
		{contract.Event{ID: o, Body: contract.Error{}}, true, true, nil},
		{contract.Event{ID: o, Body: contract.Notice{}}, true, true, nil},
		{contract.Event{ID: o, Body: contract.Budget{}}, true, true, nil},
		{contract.Event{ID: o, Body: contract.Fuse{}}, true, true, nil},
		{contract.Event{ID: contract.Supervisor, Body: contract.Forecast{}}, false, true, nil},
		{contract.Event{ID: contract.Supervisor, Body: contract.Quota{}}, false, false, nil},
		{contract.Event{ID: o, Body: contract.Quiet{}}, true, true, nil},
		{contract.Event{ID: o, Body: contract.Settled{}}, false, false, nil},
		{contract.Event{ID: o, Body: contract.Done{}}, true, true, nil},
		{contract.Event{ID: a, Body: contract.Done{}}, false, true, nil},
		{contract.Event{ID: contract.Supervisor, Body: contract.Result{}}, true, false, nil},
		{contract.Event{ID: o, Body: contract.Takeover{}}, true, true, nil},
		{contract.Event{ID: contract.Human, Body: contract.Withdrawn{}}, true, false, nil},
		{contract.Event{ID: contract.Human, Body: contract.Halted{}}, true, false, nil},
		{contract.Event{ID: o, Body: contract.Unknown{}}, false, true, nil},
	}
	seen := map[reflect.Type]bool{}
	for _, tt := range tests {
		seen[reflect.TypeOf(tt.e.Body)] = true
		if tt.parties == nil {
			tt.parties = []string{tt.e.ID}
		}
		testkit.Same(t, fmt.Sprintf("%+v: in the talk", tt.e), tt.talk, inTalk(tt.e))
		testkit.Same(t, fmt.Sprintf("%+v: in the stream", tt.e), tt.stream, inStream(tt.e))
		testkit.Same(t, fmt.Sprintf("%+v", tt.e), tt.parties, parties(tt.e))
	}
	for _, b := range bodies {
		testkit.Check(t, seen[reflect.TypeOf(b)], "%s is not decided upon", b.EventName())
	}
}

func TestThreads(t *testing.T) {
	c := New(Memory)
	// 0
	addAll(c, contract.Arbiter, contract.Session{Session: "run"})
	// 1
	addAll(c, contract.Human, contract.Message{MessageID: "m1", From: contract.Human, To: contract.Arbiter, Kind: "task"})
	addAll(c, contract.Arbiter, contract.Delivered{MessageID: "m1"}, contract.Delta{Text: "x"},
		contract.Decision{To: "orch-1"})
	addAll(c, "orch-1", // from 4
		contract.Spawn{Name: "Orchestrator I"},
		contract.ToolUse{Tool: "Agent", ToolUse: "t1"},
		contract.SubagentStart{ToolUse: "t1"},
		contract.ToolUse{Tool: "Read", ToolUse: "t2", Subagent: "t1"},
		contract.ToolResult{ToolUse: "t2", Subagent: "t1"},
		contract.SubagentProgress{ToolUse: "t1", Tokens: 5}, // 9
		contract.SubagentStop{ToolUse: "t1"},
		contract.ToolResult{ToolUse: "t1"},
		contract.PermissionRequest{Request: "p1"},
		contract.PermissionRequest{Request: "p1"},             // asked again
		contract.Permission{Request: "p1", Behavior: "allow"}, // 14
		contract.Permission{Request: "p2", Behavior: "allow"},
		contract.ToolResult{ToolUse: "t2"}, // a second one
		contract.Message{MessageID: "m2", From: "orch-1", To: contract.Arbiter, Kind: "done"},
	)
	addAll(c, "orch-2", contract.ToolUse{ToolUse: "t9"})
	addAll(c, "orch-3", contract.ToolResult{ToolUse: "t9"}) // another agent's
	for name, tt := range map[string]struct {
		thread *Thread
		want   []string
	}{
		"all": {c.All(), []string{
			"0 arbiter session", "1 human message > delivered", "2 arbiter delivered", "3 arbiter decision", "4 orch-1 spawn",
			"5 orch-1 tool_use > tool_result", "6 orch-1 subagent_start > subagent_stop", "7 orch-1 tool_use > tool_result",
			"8 orch-1 tool_result",
			"9 orch-1 subagent_progress", "10 orch-1 subagent_stop", "11 orch-1 tool_result",
			"12 orch-1 permission_request > permission",
			"13 orch-1 permission_request > permission", "14 orch-1 permission", "15 orch-1 permission", "16 orch-1 tool_result",
			"17 orch-1 message", "18 orch-2 tool_use", "19 orch-3 tool_result",
		}},
		"talk": {c.Talk(), []string{
			"0 arbiter session", "1 human message > delivered", "3 arbiter decision", "4 orch-1 spawn",
			"12 orch-1 permission_request > permission", "13 orch-1 permission_request > permission", "17 orch-1 message",
		}},
		"arbiter": {c.Agent(contract.Arbiter), []string{"1 human message > delivered", "3 arbiter decision",
			"17 orch-1 message"}},
		"orch-1": {c.Agent("orch-1"), []string{
			"3 arbiter decision", "4 orch-1 spawn", "5 orch-1 tool_use > tool_result", "6 orch-1 subagent_start > subagent_stop",
			"7 orch-1 tool_use > tool_result", "12 orch-1 permission_request > permission",
			"13 orch-1 permission_request > permission",
			"16 orch-1 tool_result", "17 orch-1 message",
		}},
		"orch-2": {c.Agent("orch-2"), []string{"18 orch-2 tool_use"}},
		"orch-3": {c.Agent("orch-3"), []string{"19 orch-3 tool_result"}},
		"human":  {c.Agent(contract.Human), nil},
		"nobody": {c.Agent("nobody"), nil},
	} {
		testkit.Same(t, name, tt.want, shape(t, tt.thread))
	}
	e, _ := c.All().Entry(5)
	o, ok := c.All().Entry(11)
	testkit.Check(t, ok && e.OutcomeAt.Equal(o.At), "the outcome came at %s, not %s", e.OutcomeAt, o.At)
	_, ok = c.All().Entry(20)
	testkit.Check(t, !ok, "an entry beyond the last")
	_, ok = c.Talk().Entry(-1)
	testkit.Check(t, !ok, "an entry before the first")
	if lost, err := c.Lost(); lost != 0 || err != nil {
		t.Error(lost, err)
	}
}

// TestStampsChange checks an entry that is in memory, and one that is on disk.
func TestStampsChange(t *testing.T) {
	for _, filler := range []int{0, 60_000} {
		c := New(Memory)
		addAll(c, "orch-1", contract.SubagentStart{ToolUse: "t"})
		for range filler {
			c.Add(someTime, contract.Event{ID: "orch-2", Body: contract.Notice{Text: "x"}})
		}
		th, seen := c.Agent("orch-1"), map[uint64]bool{}
		look := func(what string, changed bool) {
			t.Helper()
			if s := th.Stamp(0); s == 0 || seen[s] == changed {
				t.Errorf("%d fillers, %s: stamp %d, changed %v", filler, what, s, !seen[s])
			} else {
				seen[s] = true
			}
		}
		look("first", true)
		look("no change", false)
		addAll(c, "orch-1", contract.Notice{})
		look("another entry", false)
		addAll(c, "orch-1", contract.SubagentProgress{ToolUse: "t", Tokens: 7, LastTool: "Re\x1bad"})
		look("progress", true)
		e, _ := th.Entry(0)
		testkit.Check(t, e.Progress != nil && e.Progress.Tokens == 7 &&
			(e.Progress.LastTool == "Read" || e.Progress.LastTool == "Red"), "progress: %+v", e.Progress)
		addAll(c, "orch-1", contract.SubagentProgress{ToolUse: "t", Tokens: 8})
		look("more progress", true)
		addAll(c, "orch-1", contract.SubagentStop{ToolUse: "t"})
		look("outcome", true)
		addAll(c, "orch-1", contract.SubagentProgress{ToolUse: "t", Tokens: 9})
		look("late progress", false)
		e, _ = th.Entry(0)
		testkit.Check(t, e.Progress == nil && e.Outcome != nil && len(c.progress) == 0, "at the end: %+v", e)
		testkit.Same(t, "the stamp of an entry that is not there", 0, th.Stamp(5))
	}
}

// TestAgentsAreBounded adds events of more agents than are remembered.
func TestAgentsAreBounded(t *testing.T) {
	c := New(Memory)
	for i := range 2 * maxAgents {
		addAll(c, "agent-"+strconv.Itoa(i), contract.Notice{}, contract.Delta{Text: "x"})
	}
	testkit.Check(t, len(c.agents) <= maxAgents && len(c.parties) <= maxAgents && len(c.live.byAgent) <= maxAgents,
		"%d agents, %d ids, %d live", len(c.agents), len(c.parties), len(c.live.byAgent))
}

// TestEditedWords: an edited message stays where it was first sent, with its latest text and its delivery;
// every version is among all events.
func TestEditedWords(t *testing.T) {
	c := New(Memory)
	word := func(text string, edited bool) {
		addAll(c, contract.Human, contract.Message{MessageID: "m1", From: contract.Human, To: contract.Arbiter,
			Text: text, Edited: edited})
	}
	word("first", false)
	addAll(c, contract.Human, contract.Message{MessageID: "m2", From: contract.Human, To: "orch-1", Text: "other"})
	before := c.Talk().Stamp(0)
	word("second", true)
	between := c.Talk().Stamp(0)
	word("third", true)
	if after := c.Talk().Stamp(0); before == between || between == after {
		t.Errorf("stamps %d, %d, %d: the screen does not notice", before, between, after)
	}
	addAll(c, contract.Arbiter, contract.Delivered{MessageID: "m1"})
	addAll(c, contract.Human, contract.Withdrawn{MessageID: "m2"})
	n := c.Talk().Len()
	testkit.Need(t, n == 2, "%d entries in the conversation", n)
	n = c.All().Len()
	testkit.Need(t, n == 6, "%d events in all", n)
	e, _ := c.Talk().Entry(0)
	testkit.Check(t, e.Edited != nil && e.Edited.Text == "third" && e.Event.Body.(contract.Message).Text == "first",
		"entry %+v", e)
	testkit.Check(t, e.Outcome != nil && e.Outcome.EventName() == "delivered", "outcome %+v", e.Outcome)
	if e, _ = c.Talk().Entry(1); e.Edited != nil || e.Outcome == nil || e.Outcome.EventName() != "withdrawn" {
		t.Errorf("entry %+v, outcome %+v", e, e.Outcome)
	}
	// An edit of an unknown message is shown like a new message.
	addAll(c, contract.Human, contract.Message{MessageID: "m9", From: contract.Human, To: contract.Arbiter, Text: "late",
		Edited: true})
	testkit.Same(t, "entries in the conversation", 3, c.Talk().Len())
}

// TestWhatRunsIsCut: a call and a subagent end with their turn, their process, or the process of the run, though
// nothing says how; those of others go on.
func TestWhatRunsIsCut(t *testing.T) {
	for name, tt := range map[string]struct {
		id   string
		end  contract.Body
		want []bool
	}{
		"their turn":             {"orch-1", contract.Turn{Outcome: "interrupted"}, []bool{true, true, false}},
		"their process":          {"orch-1", contract.Done{Reason: "crash"}, []bool{true, true, false}},
		"the next process":       {contract.Supervisor, contract.Session{Resumed: true}, []bool{true, true, true}},
		"the run":                {contract.Supervisor, contract.Result{}, []bool{true, true, true}},
		"something else":         {"orch-1", contract.Notice{}, []bool{false, false, false}},
		"a process that is gone": {contract.Supervisor, nil, []bool{true, true, true}},
	} {
		c := New(Memory)
		addAll(c, "orch-1", contract.ToolUse{ToolUse: "t1"}, contract.SubagentStart{ToolUse: "t1"})
		addAll(c, "orch-2", contract.ToolUse{ToolUse: "t1"})
		before := c.All().Stamp(0)
		if addAll(c, tt.id, tt.end); tt.end == nil {
			addAll(c, "orch-2", contract.Delta{Text: "half a "})
			c.Cut(contract.Event{ID: tt.id, Body: contract.Result{}})
			_, arrives := c.Live("orch-2", 10)
			testkit.Check(t, !arrives, "a text of a process that has gone still arrives")
		}
		for i, want := range tt.want {
			e, _ := c.All().Entry(i)
			testkit.Check(t, e.Cut == want && e.Outcome == nil, "%s: entry %d: %+v", name, i, e)
		}
		testkit.Same(t, name+": it is drawn anew", tt.want[0], c.All().Stamp(0) != before)
		addAll(c, "orch-2", contract.ToolResult{ToolUse: "t1"})
		e, _ := c.All().Entry(2)
		testkit.Check(t, (e.Outcome == nil) == tt.want[2], "%s: the result of another: %+v", name, e)
	}
}

// TestAnsweredQuestions: what settles a question closes it, even if it was asked again, and is no entry of its own.
func TestAnsweredQuestions(t *testing.T) {
	c := New(Memory)
	message := func(from, to, kind string) {
		addAll(c, from, contract.Message{MessageID: from + kind, From: from, To: to, Kind: kind, Text: "x"})
	}
	addAll(c, contract.Arbiter, contract.Question{Text: "Which?", Question: "question-1"},
		contract.Question{Text: "Which?", Question: "question-1"})
	message(contract.Human, "orch-1", "instruction")
	message("orch-1", contract.Arbiter, "done")
	message(contract.Human, contract.Arbiter, "answer")
	addAll(c, contract.Arbiter, contract.Settled{Item: "question-1"})
	addAll(c, contract.Human, contract.Delivered{MessageID: "humananswer"})
	addAll(c, contract.Arbiter, contract.Question{Text: "And now?", Question: "question-2"})
	want := []string{"0 arbiter question > settled", "1 arbiter question > settled", "2 human message",
		"3 orch-1 message", "4 human message > delivered", "7 arbiter question"}
	testkit.Same(t, "", want, shape(t, c.Talk()))
}
