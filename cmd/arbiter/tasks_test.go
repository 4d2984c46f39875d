package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestTaskFromStdin: --task - reads the task from stdin; the task is never the character "-".
func TestTaskFromStdin(t *testing.T) {
	testkit.Long(t)
	h := newTestHome(t, players(t)[0])
	for _, tt := range []struct {
		name, in, want string
		args           []string
		exit           contract.Exit
	}{
		{"headless", "# Two threads\n\nSpin them.\n", `"text":"# Two threads\n\nSpin them."`, []string{"--json"},
			contract.ExitComplete},
		{"plain", "Two threads\n", "It is done.", []string{"--plain"}, contract.ExitComplete},
		{"nothing", " \n", "stdin is empty", []string{"--json"}, contract.ExitUsage},
		{"too much", strings.Repeat("x", settings.MaxTask+1), "the task on stdin has more than 1,048,576 bytes",
			[]string{"--json"}, contract.ExitUsage},
		{"the screen", "Two threads", "add --plain, --json or --detach", nil, contract.ExitUsage},
	} {
		c := runIn(t, h.env, h.work, tt.in, append(append(h.rehearsing("parallel"), tt.args...), "--task", "-")...)
		if c.code != tt.exit || !strings.Contains(c.out+c.errs, tt.want) {
			t.Errorf("%s: %+v, want %d and %q", tt.name, c, tt.exit, tt.want)
		}
	}
}

// TestTwoTasks: a second --task is refused, and does not replace the first.
func TestTwoTasks(t *testing.T) {
	var out, errs strings.Builder
	code := run([]string{"arbiter", "--json", "--task", "one", "--task=two"}, strings.NewReader(""), &out, &errs)
	if code != int(contract.ExitUsage) || !strings.Contains(errs.String(), "--task is given twice") || out.Len() > 0 {
		t.Errorf("exit code %d, said %q, told %q", code, errs.String(), out.String())
	}
}

// TestNothingAsked: a run without a task leaves no files, and is in no list.
func TestNothingAsked(t *testing.T) {
	h := newTestHome(t, players(t)[0])
	c := runIn(t, h.env, h.work, "", append(h.rehearsing("parallel"), "--json")...)
	if lines, err := contractLines(c.out); err != nil || c.code != contract.ExitUsage ||
		strings.Contains(c.errs, "To resume:") || !strings.Contains(c.errs, "no task was given") {
		t.Errorf("exit code %d, %d lines, %v\n%s", c.code, len(lines), err, c.errs)
	}
	if runs := h.runs(); len(runs) != 0 {
		t.Errorf("left behind: %v", runs)
	}
}

// TestRunWithoutTaskIsNotOffered: a run that was killed before it got a task cannot be resumed without one.
func TestRunWithoutTaskIsNotOffered(t *testing.T) {
	t.Parallel()
	s := start(t, nil, "--stand-in", "--json", "--scenario", "parallel")
	await[contract.Spawn](s, "the Arbiter", nil)
	_ = s.cmd.Process.Kill() // so that the program cannot clean up
	<-s.ended
	n := s.again("--json", "--resume", "--session", s.run())
	_ = n.stdin.Close()
	<-n.ended
	_ = n.cmd.Wait()
	if got := n.cmd.ProcessState.ExitCode(); got != int(contract.ExitUsage) ||
		!strings.Contains(n.stderr.String(), "has no task") {
		t.Errorf("exit code %d, said %q", got, n.stderr.String())
	}
}

// TestLeftIsNotCancelled: a run that was ended by Ctrl+C is listed as interrupted.
func TestLeftIsNotCancelled(t *testing.T) {
	t.Parallel()
	s := dialogue(t)
	s.mustSignal(syscall.SIGINT)
	s.finish(contract.ExitInterrupted)
	out, _ := s.output(0, "sessions", "--json")
	var list []runstore.Line
	testkit.OK(t, json.Unmarshal([]byte(out), &list))
	if len(list) != 1 || list[0].Status != runstore.Interrupted || !list[0].Resumable {
		t.Errorf("listed %+v", list)
	}
}

// TestRequirementsNameTheRun: a run has the heading of its requirements file as its title, also in lists.
func TestRequirementsNameTheRun(t *testing.T) {
	h := newTestHome(t, players(t)[0])
	testkit.OK(t, os.WriteFile(filepath.Join(h.work, "REQUIREMENTS.md"), []byte("# A lighthouse\n\nIt must be tall.\n"),
		0o600))
	h.output(append(h.rehearsing("parallel"), "--json", "--no-input", "REQUIREMENTS.md")...)
	var list []runstore.Line
	testkit.OK(t, json.Unmarshal([]byte(h.output("sessions", "--json")), &list))
	if len(list) != 1 || list[0].Title != "A lighthouse" {
		t.Errorf("listed %+v", list)
	}
}
