package main

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestGraders: the hidden tests pass for the solution, and fail for the start state and each mutant; each scripted
// model has a script that parses. selftest plays them.
func TestGraders(t *testing.T) {
	for _, name := range []string{"contra", "relay"} {
		task := testkit.Must(loadTask("tasks/" + name))(t)
		if err := tryGraders(t.Context(), task); err != nil {
			t.Error(err)
		}
		models := testkit.Must(scriptedModels(task))(t)
		for model, m := range models {
			if _, err := m.scenario(); err != nil {
				t.Errorf("%s, %s: %v", name, model, err)
			}
		}
	}
}

// TestReport: a difference between two arms is named only if it is clear.
func TestReport(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		arm, seed string
		passed    int
	}{{"a", "1", 1}, {"a", "2", 1}, {"b", "1", 2}, {"b", "2", 2}, {"c", "1", 1}, {"c", "2", 2}} {
		at := dir + "/" + c.arm + c.seed
		testkit.OK(t, errors.Join(os.Mkdir(at, 0o700),
			writeJSON(at+"/trial.json", Trial{Arm: c.arm, Task: "x", Seed: c.seed}),
			writeJSON(at+"/grade.json", Grade{Passed: c.passed, Total: 2})))
	}
	var out strings.Builder
	testkit.OK(t, report(&out, dir))
	for _, want := range []string{"b − a: all pass differs by +100 to +100 points (90 %, 2 pairs): a difference",
		"c − a: all pass differs by +0 to +100 points (90 %, 2 pairs): no difference seen"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
