package main

import (
	"crypto/sha256"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	pty "github.com/arbiter-cli/arbiter/rehearsal/terminal"
)

// TestReplayOnTheScreen: a finished run is played back on the screen, without Claude Code, and none of its
// files changes. Keys jump to the end, show the timeline and leave.
func TestReplayOnTheScreen(t *testing.T) {
	t.Parallel()
	size := pty.Size{Columns: 100, Rows: 30}
	p := show(t, size, "", nil, "--stand-in", "--scenario", scenarioFile(t, brief), "--task", "Count the omens")
	p.await("It is woven.", "It is done")
	p.leave()
	list := exec.Command("arbiter", "sessions", "--json")
	list.Env = p.cmd.Env
	out, err := list.Output()
	var runs []runstore.Line
	if err == nil {
		err = json.Unmarshal(out, &runs)
	}
	if err != nil || len(runs) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	log, err := filepath.Glob(filepath.Join(envOf(p.cmd.Env, "HOME"), "*", "*", "*", "*", runs[0].Run, "events.ndjson"))
	if err != nil || len(log) != 1 {
		t.Fatalf("the run's directory is not found: %v %v", log, err)
	}
	before := sumsOf(t, filepath.Dir(log[0]))
	env := append(p.cmd.Env, "PATH=/nowhere", "ARBITER_CLAUDE=/nowhere/claude")
	again := show(t, size, "", env, "replay", runs[0].Run[:8], "--screen", "--theme", "high-contrast-dark")
	again.await("PLAYBACK 1×", "Count the omens")
	again.press("$") // TestPlayback tests pausing: this run would be over before a key is pressed
	again.await("It is woven.", "the end", "It is done")
	again.press("F6")
	again.await("TIMELINE", "The Arbiter")
	again.press("Esc")
	again.await("PLAYBACK", "It is woven.")
	again.press("q")
	state, err := again.Exit(again.ctx)
	if err != nil || state.ExitCode() != 0 {
		t.Errorf("it ends with %v, %v", state, err)
	}
	if after := sumsOf(t, filepath.Dir(log[0])); len(after) != len(before) {
		t.Errorf("%d files were %d", len(after), len(before))
	} else {
		for path, sum := range before {
			if after[path] != sum {
				t.Errorf("%s was written to", path)
			}
		}
	}
}

// envOf returns a variable's last value.
func envOf(env []string, name string) (value string) {
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			value = v
		}
	}
	return value
}

// sumsOf returns the checksums of the files below a directory.
func sumsOf(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	sums := map[string][32]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		sums[path] = sha256.Sum256(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sums
}
