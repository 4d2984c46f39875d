package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// replayed is a run that is played back.
type replayed struct {
	player *view.Player
	t      *testing.T
}

func (r replayed) Player() *view.Player        { return r.player }
func (r replayed) ID() string                  { return r.player.ID() }
func (r replayed) Snapshot() *supervisor.State { return r.player.Snapshot() }
func (r replayed) Changed() <-chan struct{}    { return r.player.Changed() }
func (r replayed) Stop()                       { r.t.Error("the playback is stopped") }
func (r replayed) Leave()                      { r.t.Error("the playback is left running") }
func (r replayed) Halt() string                { r.t.Error("the playback is halted"); return "" }
func (r replayed) Done() <-chan struct{}       { return nil }
func (r replayed) Outcome() Outcome            { return Outcome{} }
func (r replayed) Silent() (none time.Time)    { return none }

func (r replayed) Put(c contract.Command) bool {
	r.t.Errorf("the playback is sent %q", c.Body.CommandType())
	return false
}

// replaying opens a screen that plays back a short run.
func replaying(o *Options, h *fakeHost) {
	at := time.Date(1999, 12, 30, 12, 0, 0, 0, time.UTC)
	var list []queuedEvent
	add := func(after time.Duration, id string, b contract.Body) {
		at = at.Add(after)
		list = append(list, queuedEvent{at: at, e: contract.Event{ID: id, Body: b}})
	}
	add(0, "supervisor", contract.Session{Session: fakeRunID, CWD: "/home/weaver/loom", Permissions: "ask",
		Trusted: true})
	add(0, "arbiter", contract.Spawn{Name: "The Arbiter", Generation: 1})
	add(0, "human", contract.Message{MessageID: "m1", From: "human", To: "arbiter", Kind: "task",
		Text: "Teach the loom"})
	add(0, "supervisor", contract.State{From: "idle", To: "executing"})
	add(time.Second, "orch-1", contract.Spawn{Name: "Orchestrator I", Mode: "developer", Generation: 1,
		Prompt: "Begin."})
	add(time.Second, "orch-1", contract.ToolUse{Tool: "Bash", ToolUse: "t1",
		Input: []byte(`{"command":"go test ./..."}`)})
	add(4*time.Second, "orch-1", contract.ToolResult{ToolUse: "t1", Text: "ok"})
	add(time.Hour, "orch-1", contract.Turn{Outcome: "done", CostUSD: 0.5})
	add(time.Second, "arbiter", contract.Message{MessageID: "m2", From: "arbiter", To: "human", Kind: "complete",
		Text: "The loom knows it."})
	add(0, "supervisor", contract.Result{Status: "complete", Summary: "The loom knows it.", CostUSD: 0.5})
	if err := h.write(list); err != nil {
		h.t.Fatal(err)
	}
	h.strange = func(runloop.Sink) Run {
		return replayed{view.NewPlayer(fakeRunID, journal.NewLog(fakeHostLog{h})), h.t}
	}
	o.Begin = &Begin{}
}

// TestPlayback: the run is played back; the user can pause it, move forwards and back, open its pages and
// leave; it accepts no commands.
func TestPlayback(t *testing.T) {
	play(t, 120, 40, replaying, func(s *scene) {
		s.Settle()
		s.Expect("PLAYBACK 1×", "Teach the loom", "Space pause")
		s.ExpectNot("Orchestrator I")
		s.Advance(1100 * time.Millisecond)
		s.Expect("Orchestrator I", "developer")
		s.Press("Space")
		s.Expect("PLAYBACK 1× · paused · 12:00:01")
		s.Advance(20 * time.Second)
		s.ExpectNot("go test")
		s.Press("Space", "+")
		s.Advance(time.Second)
		s.Expect("PLAYBACK 2× · 12:00:0", "go test")
		for _, key := range []string{"i", "x", `Ctrl+\`, "Shift+Tab", "Alt+i", ":"} {
			s.Press(key)
		}
		s.Expect("it takes no commands")
		s.Click(3, 39)
		s.Expect("paused")
		s.Wheel(3, 39, 1)
		s.Expect("paused · 12:00:06", "Orchestrator I")
		s.Press("$")
		s.Expect("· the end", "The loom knows it.", "It is done")
		s.Press("F6")
		s.Expect("TIMELINE", "Orchestrator I")
		s.Press("Esc", "Left")
		s.ExpectNot("The loom knows it.", "· the end")
		s.Press("0")
		s.Expect("Teach the loom")
		s.ExpectNot("Orchestrator I")
		if n := strings.Count(s.Text(), "Teach the loom"); n != 2 { // in the title, and as a message
			t.Errorf("the task is reported %d times:\n%s", n, s.Text())
		}
		s.Press("F6")
		s.ExpectNot("Orchestrator I")
		s.Press("Esc", "q")
		if err := s.ExpectEnd(); err != nil {
			t.Error(err)
		}
	})
}
