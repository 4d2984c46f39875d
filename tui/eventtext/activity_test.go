package eventtext

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/tuitest"
)

var began = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// trackerOf feeds a tracker events of one agent, one second apart.
func trackerOf(bodies ...contract.Body) (*Tracker, AgentActivity) {
	t := &Tracker{}
	for i, b := range bodies {
		t.Add(began.Add(time.Duration(i)*time.Second), contract.Event{ID: "orch-1", Body: b})
	}
	return t, t.Agent("orch-1")
}

func use(id, tool, input string) contract.ToolUse {
	return contract.ToolUse{Tool: tool, ToolUse: id, Input: json.RawMessage(input)}
}

// TestItems: messages and tool calls are kept in order, with the results.
func TestItems(t *testing.T) {
	_, a := trackerOf(
		contract.Assistant{Text: "I begin with the **tests**."},
		use("1", "Bash", `{"command":"go test ./..."}`),
		contract.ToolResult{ToolUse: "1", Text: "=== RUN\n\nok  \tloom\t0.1s\nok  \twriter\t0.2s\n\n"},
		use("2", "Edit", `{"file_path":"/loom/a.go","old_string":"a\nb\nc\n","new_string":"a\nB\nB\nc\n"}`),
		contract.ToolResult{ToolUse: "2", Text: "done"},
		use("3", "Bash", `{"command":"false"}`),
		contract.ToolResult{ToolUse: "3", Text: "Exit code 1\nno", IsError: true},
		contract.Assistant{Text: "of a subagent", Subagent: "x"},
		contract.Message{From: "orch-1", To: "arbiter", Text: "\nHow `far`?\nMore."},
		use("4", "Bash", `{"command":"sleep 9"}`),
	)
	var got []string
	for _, i := range a.Items {
		got = append(got, fmt.Sprintf("%s|%s %s|%s|+%d-%d|%v", i.Text, i.Tool, i.Summary, i.Result, i.Added, i.Removed,
			i.Failed))
	}
	want := []string{"I begin with the tests.| ||+0-0|false",
		"|Bash go test ./...|=== RUN\nok   loom 0.1s\nok   writer 0.2s|+0-0|false", "|Edit /loom/a.go|done|+2-1|false",
		"|Bash false|Exit code 1\nno|+0-0|true", "To the Arbiter: How far?| ||+0-0|false", "|Bash sleep 9||+0-0|false"}
	testkit.Same(t, "", want, got)
	r := a.Running()
	testkit.Check(t, r.Summary == "sleep 9" && r.At.Equal(began.Add(9*time.Second)), "it runs %+v", r)
	testkit.Check(t, a.Seen.Equal(began.Add(9*time.Second)), "seen at %s", a.Seen)
}

// TestCallsOfATurnEndWithIt: a call without an answer ends with its turn.
func TestCallsOfATurnEndWithIt(t *testing.T) {
	for _, end := range []contract.Body{contract.Turn{}, contract.Done{}, contract.Restart{}, contract.Spawn{}} {
		_, a := trackerOf(use("1", "Bash", `{"command":"sleep 9"}`), end)
		r := a.Running()
		testkit.Check(t, !r.Call() && a.Items[0].Cut, "after %T it runs %+v", end, r)
	}
	tracker, _ := trackerOf(use("1", "Bash", `{"command":"sleep 9"}`))
	tracker.Add(began, contract.Event{ID: contract.Supervisor, Body: contract.Session{}})
	testkit.Check(t, !tracker.Agent("orch-1").Running().Call(), "a call of an earlier process run goes on")
}

// TestSubagents: a group is followed from its first start to its last end, and another takes its place.
func TestSubagents(t *testing.T) {
	start := func(id string) contract.Body {
		return contract.SubagentStart{Description: "look " + id, ToolUse: id, Type: "Explore"}
	}
	bash := use("c", "Bash", `{"command":"ls"}`)
	bash.Subagent = "a"
	tracker, a := trackerOf(use("a", "Agent", `{"description":"look a"}`), start("a"), start("b"), start("a"), bash,
		contract.SubagentProgress{ToolUse: "b", Tokens: 61_000, ToolUses: 3, CostUSD: 0.5})
	testkit.Check(t, len(a.Subagents) == 2 && a.Working() == 2 && a.Subagents[0].Doing.Summary == "ls" &&
		a.Subagents[1].Tokens == 61_000, "%+v", a.Subagents)
	testkit.Check(t, !a.Running().Call(),
		"the call that started one, or one of theirs, is taken for the agent's own: %+v", a.Running())
	add := func(b contract.Body) { tracker.Add(began.Add(time.Minute), contract.Event{ID: "orch-1", Body: b}) }
	add(contract.ToolResult{ToolUse: "c", Subagent: "a"})
	add(contract.SubagentStop{ToolUse: "b", Status: "failed", Tokens: 70_000})
	a = tracker.Agent("orch-1")
	testkit.Check(t, !a.Subagents[0].Doing.Call() && a.Working() == 1 && a.Subagents[1].Failed &&
		a.Subagents[1].Tokens == 70_000, "%+v", a.Subagents)
	add(contract.SubagentStop{ToolUse: "a", Status: "completed"})
	add(start("d"))
	if a = tracker.Agent("orch-1"); len(a.Subagents) != 1 || a.Subagents[0].ID != "d" {
		t.Errorf("another group: %+v", a.Subagents)
	}
}

// TestBounds: memory is bounded, however many events arrive, and a returned value does not change.
func TestBounds(t *testing.T) {
	tracker := &Tracker{}
	long := strings.Repeat("all that there is to say, ", 100_000)
	before := tracker.Agent("orch-1")
	for i := range 500 {
		id := fmt.Sprint(i)
		for _, b := range []contract.Body{contract.Assistant{Text: long},
			contract.SubagentStart{ToolUse: id, Description: long},
			use(id+"c", "Bash", `{"command":"`+long[:5000]+`"}`), contract.ToolResult{ToolUse: id + "c", Text: long}} {
			tracker.Add(began, contract.Event{ID: "orch-1", Body: b})
		}
		if i == 5 {
			before = tracker.Agent("orch-1")
		}
	}
	a := tracker.Agent("orch-1")
	testkit.Check(t, len(a.Items) == keptItems && len(a.Subagents) == keptSubagents && len(before.Items) == 12,
		"%d items, %d subagents are kept, %d were", len(a.Items), len(a.Subagents), len(before.Items))
	for _, i := range a.Items {
		testkit.Check(t, len(i.Text) <= keptText && len(i.Summary) <= 2000 && len(i.Result) <= keptResult*4*keptLine,
			"%d, %d, %d bytes of an item are kept", len(i.Text), len(i.Summary), len(i.Result))
	}
	for i := range 2 * keptAgents {
		tracker.Add(began, contract.Event{ID: fmt.Sprint("orch-", i), Body: contract.Delta{}})
	}
	testkit.Check(t, len(tracker.agents) == keptAgents, "%d agents are kept", len(tracker.agents))
}

// TestHostileTextIsMadeFit: returned text contains no characters that a terminal acts on.
func TestHostileTextIsMadeFit(t *testing.T) {
	for _, text := range tuitest.Hostile() {
		quoted, _ := json.Marshal(text)
		_, a := trackerOf(contract.Assistant{Text: text},
			contract.SubagentStart{ToolUse: "s", Description: text},
			contract.ToolUse{Tool: text, ToolUse: "1", Input: json.RawMessage(`{"command":` + string(quoted) + `}`)},
			contract.ToolResult{ToolUse: "1", Text: text}, contract.Message{From: "orch-1", To: text, Text: text},
			contract.Decision{Reason: text})
		for _, got := range append(a.Items, ActivityItem{Text: a.Subagents[0].Name}) {
			for _, s := range []string{got.Text, got.Tool, got.Summary, strings.ReplaceAll(got.Result, "\n", "")} {
				testkit.Check(t, !strings.ContainsAny(s, "\x00\x07\x08\r\x1b\x7f") &&
					!strings.ContainsAny(s, "\u009b\u009d\u202e"), "%.100q: %.100q", text, s)
			}
		}
	}
}
