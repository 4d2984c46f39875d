package claude

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
)

func TestTurnsWithSteering(t *testing.T) {
	counted := newTurns()
	begin := func(id string, steer bool) error { _, err := counted.begin(id, steer); return err }
	if err := begin("a", true); err != nil { // a steering message without a running turn starts one
		t.Fatal(err)
	}
	if err := begin("b", false); errCode(err) != bridge.CodeBusy {
		t.Errorf("second message: %v", err)
	}
	if err := begin("b", true); err != nil {
		t.Errorf("steer: %v", err)
	}
	if err := begin("c", true); err != nil {
		t.Errorf("steer: %v", err)
	}
	if diff := cmp.Diff([]string{"a", "b"},
		counted.finish(resultFrame{MessageUUIDs: []string{"b", "a", "stranger"}})); diff != "" {
		t.Errorf("first result (-want +got):\n%s", diff)
	}
	// No tool was left after which the CLI could insert c: c becomes the next turn.
	if err := begin("d", false); errCode(err) != bridge.CodeBusy {
		t.Errorf("message before c's turn: %v", err)
	}
	if got := counted.finish(resultFrame{MessageUUIDs: []string{"a"}}); got != nil {
		t.Errorf("a second result for a: %v", got)
	}
	if diff := cmp.Diff([]string{"c"}, counted.finish(resultFrame{MessageUUIDs: []string{"c"}})); diff != "" {
		t.Errorf("second result (-want +got):\n%s", diff)
	}
	if counted.busy() {
		t.Error("busy with nothing open")
	}
	<-counted.whenIdle()
	if err := begin("a", false); errCode(err) != bridge.CodeRefused {
		t.Errorf("a again: %v", err)
	}
}

func TestTurnsWithoutIDs(t *testing.T) {
	counted := newTurns()
	for _, id := range []string{"a", "b"} {
		if _, err := counted.begin(id, true); err != nil {
			t.Fatal(err)
		}
	}
	if !counted.deliver("a") || counted.deliver("a") || counted.deliver("stranger") {
		t.Error("delivered is said once, and of our own messages")
	}
	if got := counted.finish(resultFrame{Origin: json.RawMessage(`{"kind":"peer"}`)}); got != nil {
		t.Errorf("a peer's result ended %v", got)
	}
	if diff := cmp.Diff([]string{"a"}, counted.finish(resultFrame{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b"}, counted.lose()); diff != "" {
		t.Errorf("lost (-want +got):\n%s", diff)
	}
	if _, err := counted.begin("c", false); errCode(err) != bridge.CodeEnded {
		t.Errorf("after the end: %v", err)
	}
}

func TestGauge(t *testing.T) {
	g := newGauge(bridge.AgentConfig{ContextCap: 300_000})
	frame := func(id, model, parent string, tokens int) assistantFrame {
		return assistantFrame{MessageID: id, Model: model, Parent: parent,
			Usage: &bridge.Usage{Input: 1, CacheRead: tokens - 3, CacheCreation: 2, Output: 999}}
	}
	for _, test := range []struct {
		f    assistantFrame
		want *bridge.Context
	}{
		{frame("m1", "opus", "", 30_000),
			&bridge.Context{Tokens: 30_000, Window: 300_000, Pct: 10, Source: fromStream}},
		{frame("m1", "opus", "", 30_000), nil}, // the same message's next block
		{frame("m2", "haiku", "toolu_1", 90_000), nil},
		{assistantFrame{MessageID: "m3", Model: synthetic, Usage: &bridge.Usage{}}, nil},
		{assistantFrame{MessageID: "m4", Model: "opus"}, nil},
		{frame("m5", "opus", "", 60_000),
			&bridge.Context{Tokens: 60_000, Window: 300_000, Pct: 20, Source: fromStream}},
	} {
		got, ok := g.reading(test.f)
		if ok != (test.want != nil) || ok && got != *test.want {
			t.Errorf("%s: %+v, %v", test.f.MessageID, got, ok)
		}
	}
	g.turnEnded(map[string]modelUsage{"opus": {ContextWindow: 200_000}, "haiku": {ContextWindow: 100}})
	if c, _ := g.reading(frame("m6", "opus", "", 60_000)); c.Window != 200_000 || c.Pct != 30 {
		t.Errorf("with the model's window: %+v", c)
	}
	g.window.Compaction = 100_000
	if c, _ := g.reading(frame("m7", "opus", "", 60_000)); c.Window != 100_000 {
		t.Errorf("with the threshold: %+v", c)
	}
	if p := (&gauge{}).pct(); p != 0 {
		t.Errorf("no window known: %v", p)
	}
}

func TestSubagentAccounting(t *testing.T) {
	s := newSubagents()
	s.call("t1", "dig")
	if _, ok := s.start(taskStarted{TaskType: "local_bash", ToolUse: "t9"}); ok {
		t.Error("a Bash passed for a subagent")
	}
	start, ok := s.start(taskStarted{TaskType: "local_agent", ToolUse: "t1", AgentType: "Explore"})
	if !ok || start != (bridge.SubagentStart{Description: "dig", ToolUse: "t1", Type: "Explore"}) {
		t.Errorf("start: %+v, %v", start, ok)
	}
	if _, ok := s.start(taskStarted{TaskType: "local_agent", ToolUse: "t1"}); ok {
		t.Error("started twice")
	}
	s.start(taskStarted{TaskType: "local_agent", ToolUse: "t2", Description: "delve"})
	if stop, ok := s.stop("t1", "completed", 7); !ok ||
		stop != (bridge.SubagentStop{Description: "dig", ToolUse: "t1", Status: "completed", Tokens: 7}) {
		t.Errorf("stop: %+v, %v", stop, ok)
	}
	if _, ok := s.stop("t1", "completed", 0); ok {
		t.Error("stopped twice") // task_notification, then the tool result
	}
	want := []bridge.SubagentStop{{Description: "delve", ToolUse: "t2", Status: "stopped"}}
	if diff := cmp.Diff(want, s.stopAll("stopped")); diff != "" {
		t.Errorf("rest (-want +got):\n%s", diff)
	}
}

func TestFlatten(t *testing.T) {
	for in, want := range map[string]string{
		`"plain"`: "plain",
		`[{"type":"text","text":"a"},{"type":"image","source":{}},{"type":"text","text":"b"}]`: "a\n[image]\nb",
		`null`:    "",
		``:        "",
		`{"x":1}`: `{"x":1}`,
	} {
		if got := flatten(json.RawMessage(in)); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}
