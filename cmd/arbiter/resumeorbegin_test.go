package main

import (
	"os"
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestResumeOrBegin: the same command begins a run, continues it after a kill without sending the task again,
// and reports its result when it is complete.
func TestResumeOrBegin(t *testing.T) {
	line := []string{"--json", "--stand-in", "--scenario", "dialogue", "--task", "Name it", "--resume-or-begin"}
	first := start(t, nil, line...)
	asked := await[contract.Question](first, "a question", nil)
	run := first.run()
	if err := first.cmd.Process.Signal(os.Kill); err != nil {
		t.Fatal(err)
	}
	first.gone()
	awaitGone(t, run)

	second := first.again(line...)
	if again := await[contract.Question](second, "the question again", nil); again.Text != asked.Text {
		t.Errorf("asked %q, and then %q", asked.Text, again.Text)
	}
	second.send(contract.Say{Text: "Call it nameless."})
	if r := second.finish(contract.ExitComplete); r.Session != run {
		t.Errorf("run %s, and then %s", run, r.Session)
	}
	for _, m := range collect[contract.Message](second) {
		if m.Kind == "task" {
			t.Errorf("the task was given again: %+v", m)
		}
	}

	third := first.again(line...)
	if r := third.finish(contract.ExitComplete); r.Session != run || r.Status != contract.StatusComplete ||
		len(third.spawns("arbiter")) != 0 {
		t.Errorf("the result, asked for again: %+v", r)
	}
}
