package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestGraders: the hidden tests pass for the solution, and fail for the start state and each mutant; each scripted
// model has a script that parses. TestSelftest plays them.
func TestGraders(t *testing.T) {
	for _, name := range []string{"contra", "relay"} {
		task := testkit.Must(loadTask("tasks/" + name))(t)
		start, oracle := filepath.Join(task.dir, "repo"), filepath.Join(task.dir, "oracle")
		trees := [][]string{{start, oracle}, {start, oracle}, {start}} // the solution passes twice
		for _, m := range testkit.Must(filepath.Glob(filepath.Join(task.dir, "broken", "*")))(t) {
			trees = append(trees, []string{start, oracle, m})
		}
		for i, layers := range trees {
			tree := t.TempDir()
			for _, layer := range layers {
				testkit.OK(t, exec.CommandContext(t.Context(), "cp", "-R", layer+"/.", tree).Run())
			}
			g := testkit.Must(gradeTree(t.Context(), task, tree))(t)
			testkit.Check(t, g.All() == (i < 2), "%q: all hidden tests pass: %v; failed: %q", layers, g.All(), g.Failed)
		}
		for model, m := range testkit.Must(scriptedModels(task))(t) {
			_, err := m.scenario()
			testkit.Check(t, err == nil, "%s, %s: %v", name, model, err)
		}
	}
}

// TestHuman: a question gets the answer of the first pattern that it matches, and a run that only asks is cancelled.
func TestHuman(t *testing.T) {
	h, asked := testkit.Must(loadTask("tasks/contra"))(t).Human, map[string]int{}
	for _, c := range []struct {
		event contract.Body
		want  contract.CommandBody
	}{
		{contract.Question{Text: "May I change the test?"}, contract.Say{Text: h[0].Answer}},
		{contract.Question{Text: "Which colour?"}, contract.Say{Text: "Decide yourself."}},
		{contract.Question{Text: "Which colour?"}, contract.Say{Text: "Decide yourself."}},
		{contract.Question{Text: "Which colour?"}, contract.Cancel{}},
		{contract.Question{Text: "Raise it?", Options: []string{"raise", "finish"}}, contract.Choose{Option: "finish"}},
		{contract.PermissionRequest{Request: "r"},
			contract.Permit{Request: "r", Behavior: "deny", Message: "Do it without."}},
		{contract.Notice{Text: "Which colour?"}, nil},
	} {
		testkit.Same(t, fmt.Sprintf("the reaction to %+v", c.event), c.want,
			testkit.Must(h.reacts(c.event, asked))(t))
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
			writeJSON(at+"/trial.json",
				Trial{Arm: c.arm, Task: "x", Seed: c.seed, Grade: Grade{Passed: c.passed, Total: 2}})))
	}
	var out strings.Builder
	testkit.OK(t, report(&out, dir))
	testkit.Includes(t, "the report", out.String(),
		"b − a: all pass differs by +100 to +100 points (90 %, 2 pairs): a difference",
		"c − a: all pass differs by +0 to +100 points (90 %, 2 pairs): no difference seen")
}
