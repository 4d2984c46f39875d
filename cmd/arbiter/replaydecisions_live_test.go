package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
)

// aside prepares an arbiter process in the directory of a journal. The directory for its temporary files must
// have no files of arbiter at the end of the test. (The CLI leaves some of its own.)
func (r aRun) aside(stdin string, args ...string) (cmd *exec.Cmd, out, errs *shared) {
	r.t.Helper()
	home, err := os.Getwd()
	if err != nil {
		r.t.Fatal(err)
	}
	tmp := r.t.TempDir()
	cmd = exec.Command("arbiter", args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(home, "state"),
		"XDG_CACHE_HOME=" + host.CacheHome(), "TMPDIR=" + tmp, "LANG=C.UTF-8", "CLAUDE_CODE_MAX_RETRIES=0"}
	cmd.Dir, cmd.Stdin, cmd.WaitDelay = home, strings.NewReader(stdin), waitTimeout
	out, errs = new(shared), new(shared)
	cmd.Stdout, cmd.Stderr = out, errs
	r.t.Cleanup(func() {
		if left, _ := filepath.Glob(filepath.Join(tmp, "arbiter-*")); len(left) > 0 {
			r.t.Errorf("left in the temporary directory: %v", left)
		}
	})
	return cmd, out, errs
}

// asking runs such a process to its end.
func (r aRun) asking(want contract.Exit, stdin string, args ...string) (stdout, stderr string) {
	r.t.Helper()
	cmd, out, errs := r.aside(stdin, args...)
	_ = cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != int(want) {
		r.t.Errorf("arbiter %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, want, out, errs)
	}
	return out.String(), errs.String()
}

// decidingBy returns the flags for a scenario in which these steps answer each question. Each question is a
// separate conversation, even if it is a repeated question with a correction.
func decidingBy(t *testing.T, steps string) []string {
	t.Helper()
	script := "name: decider\ntitle: Somebody decides\nactors:\n" + corrected +
		"  - name: decider\n    match: {role: main}\n    steps:\n" + steps
	return []string{"--scenario", write(t, script, t.TempDir(), "decider.yaml")}
}

const corrected = `
  - name: corrected
    match: {role: main, contains: "there is no such agent.*(?s).*magician"}
    steps:
      - {verdict: {decision: SELECT_MODE, mode: planner, reason: no magic}}
`

const choosesPlanner = `
      - {expect: Weave, verdict: {decision: SELECT_MODE, mode: planner, reason: nothing is planned}, repeat: forever}
`

// TestDecisionsAreMadeAgainByAModel has a model repeat recorded decisions from their inputs alone: the first
// comes out the same, the second differs.
func TestDecisionsAreMadeAgainByAModel(t *testing.T) {
	testkit.Long(t)
	for _, p := range players(t) {
		t.Run(p.name, func(t *testing.T) {
			r := newJournal(t, threeDecisions(t)...)
			args := append(append([]string{"replay", r.id, "--decisions", "--json"}, decidingBy(t, choosesPlanner)...),
				p.args...)
			out, errs := r.asking(contract.ExitFailed, "", args...)
			lines := strings.Split(strings.TrimSpace(out), "\n")
			if len(lines) != 3 {
				t.Fatalf("%d lines:\n%s%s", len(lines), out, errs)
			}
			var first subcommands.Redecision
			var sum subcommands.Tally
			if err := json.Unmarshal([]byte(lines[0]), &first); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(lines[2]), &sum); err != nil {
				t.Fatal(err)
			}
			if !first.Same || first.Now.Source != decider.ByModel || !strings.Contains(first.Now.Prompt, "| Weave") {
				t.Errorf("the first: %s", lines[0])
			}
			if sum.Decider != "stateless" || sum.Asked != 2 || sum.Same != 1 || sum.Differ != 1 || sum.Skipped != 1 ||
				sum.CostUSD <= 0 {
				t.Errorf("the figures: %s", lines[2])
			}
			if strings.Contains(errs, "PROBLEM") {
				t.Error(errs)
			}
		})
	}
}

// TestModelIsTriedOnInput: an answer that cannot be used is corrected, and after several such answers there
// is not a decision; a refused login gives the exit code for the environment.
func TestModelIsTriedOnInput(t *testing.T) {
	testkit.Long(t)
	for _, p := range players(t) {
		for _, c := range []struct {
			name, steps string
			want        contract.Exit
			out, errs   string
		}{
			{"decides", choosesPlanner, contract.ExitComplete, "SELECT_MODE planner", ""},
			{"is corrected", `
      - {verdict: {decision: SELECT_MODE, mode: magician, reason: magic}}
`, contract.ExitComplete, "magician", ""},
			{"cannot be used", `
      - {verdict: {decision: SELECT_MODE, mode: wizard, reason: magic}, repeat: forever}
`, contract.ExitFailed, "", "wizard"},
			{"is refused", `
      - {fault: {status: 401}, repeat: forever}
`, contract.ExitEnvironment, "", "auth"},
		} {
			t.Run(p.name+"/"+c.name, func(t *testing.T) {
				if c.name == "decides" || c.name == "cannot be used" {
					p.long(t)
				}
				r := newJournal(t)
				args := append(append([]string{"decide", "--input", "-"}, decidingBy(t, c.steps)...), p.args...)
				out, errs := r.asking(c.want, string(encoded(t, aSelection("Weave"))), args...)
				if !strings.Contains(out, c.out) || !strings.Contains(errs, c.errs) {
					t.Errorf("stdout:\n%s\nstderr:\n%s", out, errs)
				}
			})
		}
	}
}

var markInLog = regexp.MustCompile(`msg=bridge run=(\S+)`)

// TestAskingIsCalledOff interrupts a decider whose model is silent: no process is left.
func TestAskingIsCalledOff(t *testing.T) {
	for _, p := range players(t) {
		t.Run(p.name, func(t *testing.T) {
			r := newJournal(t, threeDecisions(t)...)
			args := append(append([]string{"replay", r.id, "--decisions", "--debug"},
				decidingBy(t, "      - {fault: {stall: 300s}}\n")...), p.args...)
			cmd, _, errs := r.aside("", args...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			mark := ""
			until(t, "a model that is asked", func() bool {
				if m := markInLog.FindStringSubmatch(errs.String()); m != nil {
					mark = m[1]
				}
				if mark == "" {
					return false
				}
				for _, line := range survivors(mark) {
					if strings.Contains(line, "--system-prompt") {
						return true
					}
				}
				return survivors(mark) == nil // without /proc the process cannot be seen
			})
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != int(contract.ExitInterrupted) {
				t.Errorf("exit code %d\n%s", code, errs)
			}
			if left := survivors(mark); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(waitTimeout)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("no %s within %s", what, waitTimeout)
		}
	}
}

// TestMomentsAreExplained plays a run, and checks what would be decided at its end and at its beginning.
func TestMomentsAreExplained(t *testing.T) {
	testkit.Long(t)
	s := start(t, nil, "--stand-in", "--json", "--task", "Weave it")
	s.finish(contract.ExitComplete)
	out, _ := s.output(int(contract.ExitComplete), "decide", "--at", "last", "--json")
	var points []string
	for line := range bytes.Lines([]byte(out)) {
		var x subcommands.Explanation
		if err := json.Unmarshal(line, &x); err != nil {
			t.Fatal(err)
		}
		if x.Rules == nil || x.Rendered == nil || x.Rendered.Problem != "" ||
			!strings.Contains(string(x.Input), "Weave it") {
			t.Errorf("%s", line)
		}
		points = append(points, string(x.Point))
	}
	if strings.Join(points, " ") != "select evaluate" {
		t.Errorf("points %q:\n%s", points, out)
	}
	if out, _ = s.output(int(contract.ExitComplete), "decide", "--explain", "--at", "1",
		s.run()); !strings.Contains(out, "after record 1") || strings.Contains(out, "evaluate") {
		t.Error(out)
	}
	// It also shows what was decided.
	if out, _ = s.output(int(contract.ExitComplete), "decide", "--explain"); !strings.Contains(out, "session") ||
		!strings.Contains(out, "COMPLETE") {
		t.Error(out)
	}
}
