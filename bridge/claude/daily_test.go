package claude

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
)

// TestLiveDailyLines runs each of the daily lines in the CLI's default mode, and compares whether the CLI
// asks with what was recorded; with -update it records. Lines that the CLI asks about do not run. The
// others run, in a directory of the test.
func TestLiveDailyLines(t *testing.T) {
	t.Parallel()
	testkit.Long(t)
	const root, sessions = "../..", 4
	spec := realSpec(t)
	daily := corpus.DailyLines(t, root)
	found := testkit.Must(NewLauncher(t.TempDir()).Detect(context.Background(), spec))(t)
	version := found.Version
	if version != daily.Version && !*update {
		t.Skipf("this is CLI %s, and the record is of %s", version, daily.Version)
	}
	recorded := slices.Clone(daily.Lines)
	share := (len(recorded) + sessions - 1) / sessions
	t.Run("lines", func(t *testing.T) {
		for lines := range slices.Chunk(recorded, share) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				recordLines(t, spec, lines)
			})
		}
	})
	if t.Failed() {
		return
	}
	if *update {
		corpus.Daily{Version: version, Lines: recorded}.Write(t, root)
		return
	}
	for i, l := range recorded {
		if l != daily.Lines[i] {
			t.Errorf("asks: %v, recorded: %v: %q", l.Asks, !l.Asks, l.Line)
		}
	}
}

// recordLines makes a session try lines, and records in each whether the CLI asked.
func recordLines(t *testing.T, spec bridge.ClaudeSpec, lines []corpus.DailyLine) {
	model := startAPI(t)
	s := prepare(t, spec, model.env())
	corpus.DailyPlace(t, s.dir)
	s.cfg.Judged = true
	s.cfg.Env["SHELL"] = "/bin/bash"
	var mu sync.Mutex
	var judged, asked []string
	command := func(raw json.RawMessage) string {
		var input struct{ Command string }
		if err := json.Unmarshal(raw, &input); err != nil {
			t.Error(err)
		}
		return input.Command
	}
	s.host.judge = func(_ context.Context, p bridge.JudgeParams) (bridge.JudgeResult, error) {
		mu.Lock()
		defer mu.Unlock()
		judged = append(judged, command(p.Input))
		return bridge.JudgeResult{Behavior: bridge.Pass}, nil
	}
	s.host.permission = func(_ context.Context, p bridge.PermissionParams) (bridge.PermissionResult, error) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, command(p.Input))
		return bridge.PermissionResult{Behavior: bridge.Deny, Message: "no"}, nil
	}
	s.launch()
	for some := range slices.Chunk(lines, 10) {
		for _, l := range some {
			model.then(reply{tools: []call{bash(l.Line)}})
			if strings.Contains(l.Line, "cd ") { // which persists
				model.then(reply{tools: []call{bash("cd '" + s.dir + "'")}})
			}
		}
		model.then(reply{text: "done"})
		s.turn("go")
	}
	for i, l := range lines {
		if !slices.Contains(judged, l.Line) {
			t.Errorf("the CLI refuses %q on its own", l.Line)
		}
		lines[i].Asks = slices.Contains(asked, l.Line)
	}
	if back := "cd '" + s.dir + "'"; slices.Contains(asked, back) {
		t.Errorf("it asked before %s", back)
	}
	if t.Failed() {
		t.Log(strings.Join(judged, "\n"))
	}
}
