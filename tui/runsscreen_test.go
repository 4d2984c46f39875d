package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// everywhere has runs of several directories.
func everywhere(_ *Options, h *fakeHost) {
	at := time.Date(1999, 12, 31, 23, 0, 0, 0, time.UTC)
	h.found.State = " --state-dir runs"
	h.all = []RunInfo{
		{ID: "0aaaaaaa-1", Title: "Teach the loom", Status: "live", LastActive: at.Add(59 * time.Minute),
			CWD: "/home/weaver/loom", Here: true, Live: true, CostUSD: 1.5, Bytes: 12_345},
		{ID: "0bbbbbbb-2", Title: "Mend the shuttle", Status: "interrupted", LastActive: at, CWD: "/home/weaver/loom",
			Here: true, Resumable: true, Bytes: 123},
		{ID: "0ccccccc-3", Title: "Spin \x1b[31mred yarn", Status: "needs_input", LastActive: at.Add(-time.Hour),
			CWD: "/srv/other/place/of a long name/that does not end/\x1b]0;x\x07yarn", Resumable: true,
			CostUSD: 0.25, Bytes: 1234},
		{ID: "0ddddddd-4", Title: "Another loom", Status: "live", LastActive: at.Add(-2 * time.Hour), CWD: "/srv/other",
			Live: true, CostUSD: 20, Bytes: 123_456},
		{ID: "0eeeeeee-5", Title: "It was never begun", Status: "damaged", LastActive: at.Add(-3 * time.Hour),
			CWD: "/srv/other"},
		{ID: "0fffffff-6", Title: "Count the omens", Status: "complete", LastActive: at.AddDate(0, 0, -3),
			CWD: "/srv/omens", Finished: true, Resumable: true, CostUSD: 3, Bytes: 1_234_567},
	}
}

// TestAllRuns: Enter does what is possible with each run here, and otherwise shows the command.
func TestAllRuns(t *testing.T) {
	for _, tt := range []struct {
		keys  []string
		sees  string
		begun string // the run that is resumed or shown
	}{
		{nil, "", "0aaaaaaa-1"},
		{[]string{"Down"}, "", "0bbbbbbb-2"},
		{[]string{"Down", "Down"}, "arbiter --resume --session 0ccccccc --state-dir runs", ""},
		{[]string{"Down", "Down", "Down"}, "", "0ddddddd-4"},
		{[]string{"Down", "Down", "Down", "Down"}, "cannot be resumed", ""},
		{[]string{"G"}, "The report of 0fffffff-6", ""},
	} {
		play(t, 120, 30, everywhere, func(s *scene) {
			s.Press("F4")
			s.Press(append(tt.keys, "Enter")...)
			if tt.sees != "" {
				s.Expect(tt.sees)
			}
			s.host.mu.Lock()
			begun := ""
			if b := s.host.begun; len(b) > 0 {
				begun = b[0].Resume
			}
			s.host.mu.Unlock()
			testkit.Same(t, fmt.Sprintf("%v begins", tt.keys), tt.begun, begun)
		})
	}
}

// TestRunsAreSearched: words find runs by their task, directory, status and id; Esc shows all again. Beside the list
// are the last words of the current run.
func TestRunsAreSearched(t *testing.T) {
	play(t, 120, 30, func(o *Options, h *fakeHost) {
		everywhere(o, h)
		h.past = longPast(40)
	}, func(s *scene) {
		s.Press("F4")
		s.Expect("6 runs, 2 live", "Another loom", "TASK", "STATE", "AGE", "COST", "Thread number 39.")
		s.Press("s", "g")
		s.Expect("Sorted by task.", "▸ Another loom")
		s.Press("/")
		s.Type("LIVE other\n")
		s.Expect("2 live, 1 of 6", "Another loom", "$20.00", "/srv/other")
		s.ExpectNot("Teach the loom", "Mend the shuttle")
		s.Press("r")
		s.Expect("The report of 0ddddddd-4")
		s.Press("Esc")
		s.Expect("Another loom")
		s.Press("Esc")
		s.Expect("6 runs", "Teach the loom")
		s.Press("/")
		s.Type("nobody knows it")
		s.Expect("Nothing matches", "/nobody knows it")
		s.Press("Esc")
		s.Press("Esc")
		s.ExpectNot("RUNS")
	})
}

// TestRunsBesideOne: while a run is shown here, another one is opened in another terminal, and choosing the
// current one returns to it.
func TestRunsBesideOne(t *testing.T) {
	play(t, 120, 30, func(o *Options, h *fakeHost) {
		everywhere(o, h)
		h.all[1].ID, h.all[1].Live = fakeRunID, true
	}, func(s *scene) {
		s.startWork()
		s.Press("F4")
		s.Press("Enter")
		s.Expect("arbiter attach 0aaaaaaa")
		s.Press("Down", "Enter")
		s.Expect("THE WEAVING")
	})
}

// TestRunsCannotBeRead: the screen says why, and lists the runs of this directory.
func TestRunsCannotBeRead(t *testing.T) {
	play(t, 120, 30, func(_ *Options, h *fakeHost) {
		h.unlisted = errors.New("the state directory is gone")
		h.found.Runs = []RunInfo{{ID: "0aaaaaaa-1", Title: "Teach the loom", Status: "interrupted"}}
	}, func(s *scene) {
		s.Press("F4")
		s.Expect("the state directory is gone", "Teach the loom")
		s.Press("r")
		s.Expect("the state directory is gone")
	})
}

func (h *fakeHost) Settings(context.Context) ([]Setting, string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.settings, "/home/weaver/.config/arbiter/config.yaml", h.unreadable
}

func (h *fakeHost) ChangeSetting(_ context.Context, name, value string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.set = append(h.set, name+"="+value)
	for i := range h.settings {
		if h.settings[i].Name == name {
			h.settings[i].Value = value
		}
	}
	return name + " is written", h.barred
}

func (h *fakeHost) OpenSettings() error { h.opened = append(h.opened, "settings"); return nil }

// configured adds some settings to the program.
func configured(_ *Options, h *fakeHost) {
	h.settings = []Setting{
		{Name: "model", About: "MODEL of every agent, such as opus or a full id.", Value: "opus",
			Source: "~/.config/arbiter/config.yaml:3: model", When: "with the next run; /model changes the present one"},
		{Name: "permissions", About: "What happens to a tool call that no rule covers.", Value: "ask", Default: "ask",
			Choices: []string{"ask", "rules", "accept-edits", "allow-all"}, When: "with the next run"},
		{Name: "allow", About: "Allow what RULE covers.", Value: `["Bash(git *)", "Edit(src/**)"]`, Source: "--allow",
			When: "with the next run"},
		{Name: "max-cost", Group: "Limits", About: "cost limit in US dollars (0: no limit, or so)", Value: "0",
			Default: "0", When: "with the next run"},
		{Name: "theme", Group: "The screen", About: "Colours of the screen.", Value: "evil\x1b[31m\u202e",
			Source: "$ARBITER_THEME", Choices: []string{"dark", "light"}, When: "at once"},
	}
}

// TestSettings: the page shows values and where they are set, and changes them in the file.
func TestSettings(t *testing.T) {
	play(t, 120, 40, configured, func(s *scene) {
		s.Press("F8")
		s.Expect("SETTINGS", "IN EFFECT", "Limits", "no limit", "The screen", "config.yaml",
			"opus", "$ARBITER_THEME", "Set by", "changes the present one")
		s.Press("Down", "Enter")
		s.Expect("accept-edits")
		s.Press("Down", "Enter")
		testkit.Same(t, "changed", "permissions=rules", strings.Join(s.host.set, " "))
		s.Press("x")
		testkit.Same(t, "changed", "permissions=rules permissions=", strings.Join(s.host.set, " "))
		s.Press("e", "Up", "Enter")
		s.Expect("/settings model opus")
		s.host.barred = errors.New("max-cost: \"x\" is not a number")
		s.Press("Ctrl+U")
		s.Type("/settings max-cost x\n")
		s.Expect("Nothing was written")
	})
}

// TestModelPicker: /model lists the models with their known properties, and selects one.
func TestModelPicker(t *testing.T) {
	weaving(t, 120, 40, func(s *scene) {
		s.Type("/model\n")
		s.Expect("claude-opus-4-5", "$5 in, $25 out", "price unknown", "2026-10")
		s.Press("Down", "Enter")
		s.expectTook(contract.Configure{Model: "sonnet"})
	})
}

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

func (r replayed) Put(_ context.Context, c contract.Command) bool {
	r.t.Errorf("the playback is sent %q", c.Body.CommandType())
	return false
}

// TestAnswersAreShownInFull: an answer for which the status line has no room is shown above it.
func TestAnswersAreShownInFull(t *testing.T) {
	play(t, 60, 15, replaying, func(s *scene) {
		s.Press("Alt+i")
		s.Expect("This is a playback: it takes no commands.")
		s.Advance(2 * flashFor)
		s.ExpectNot("it takes no commands")
	})
	weaving(t, 44, 14, func(s *scene) { // and covers no part of a dialog
		s.does(func(p *fakeRun) { p.asks("orch-1", "one", "Bash", `{"command":"make"}`) })
		s.do(func() { s.frontend.root.flash("The answer is " + strings.Repeat("word ", 20) + "end.") })
		s.Expect("The answer is", "Allow once", "Deny, and say why")
	})
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
	testkit.OK(h.t, h.write(list))
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
		s.Wheel(3, 39)
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
		err := s.ExpectEnd()
		testkit.Check(t, err == nil, "%v", err)
	})
}
