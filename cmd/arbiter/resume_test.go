package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// again prepares and starts another arbiter with the home, environment and directory of s.
func (s *script) again(args ...string) *script {
	s.t.Helper()
	next := &script{t: s.t, change: make(chan struct{}, 1), ended: make(chan struct{}), offScript: s.offScript}
	next.cmd = exec.Command("arbiter", args...)
	next.cmd.Env, next.cmd.Dir, next.cmd.WaitDelay = s.cmd.Env, s.cmd.Dir, waitTimeout
	next.cmd.Stderr = &next.stderr
	next.launch()
	return next
}

// output runs an arbiter command in the same environment, and checks its exit code.
func (s *script) output(want int, args ...string) (stdout, stderr string) {
	s.t.Helper()
	c := s.beside(args...)
	testkit.Check(s.t, int(c.code) == want, "arbiter %q: exit code %d, want %d\n%s%s", args, c.code, want, c.out,
		c.errs)
	return c.out, c.errs
}

// gone waits for the end with any exit code. After a timeout it reports the stacks of all
// goroutines.
func (s *script) gone() {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(waitTimeout):
		_ = s.cmd.Process.Signal(syscall.SIGABRT)
		_ = s.cmd.Wait()
		s.t.Fatalf("arbiter did not end within %s", waitTimeout)
	}
	_ = s.cmd.Wait()
}

// killed kills arbiter, and waits until no process of its run is left.
func (s *script) killed() {
	s.t.Helper()
	_ = s.cmd.Process.Kill()
	s.gone()
	awaitGone(s.t, s.run())
}

// stateDir returns the state directory of its runs.
func (s *script) stateDir() string {
	for _, v := range s.cmd.Env {
		if home, ok := strings.CutPrefix(v, "HOME="); ok {
			return filepath.Join(home, ".local", "state", "arbiter")
		}
	}
	s.t.Fatal("it has no home")
	return ""
}

func (s *script) run() string { return collect[contract.Session](s)[0].Session }

// about lists the events of a type about an agent.
func about[B contract.Body](s *script, agent string) (list []B) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lines {
		if b, ok := l.Body.(B); ok && l.ID == agent {
			list = append(list, b)
		}
	}
	return list
}

// spawns lists the spawn events of an agent.
func (s *script) spawns(agent string) []contract.Spawn { return about[contract.Spawn](s, agent) }

// TestResume ends a run in each possible way while a question is open, and resumes it in another time zone: no process
// of it is left, the question is asked again, the Arbiter's session continues, and the work is completed. A complete
// run accepts another task.
func TestResume(t *testing.T) {
	kill := func(t *testing.T, pid int) {
		testkit.OK(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	ways := []struct {
		name string
		end  func(t *testing.T, s *script)
		exit contract.Exit // -1: it was killed
	}{
		{"interrupt", func(t *testing.T, s *script) { s.mustSignal(syscall.SIGINT) }, contract.ExitInterrupted},
		{"terminate", func(t *testing.T, s *script) { s.mustSignal(syscall.SIGTERM) }, contract.ExitTerminated},
		{"kill arbiter", func(t *testing.T, s *script) { kill(t, s.cmd.Process.Pid) }, -1},
		{"kill arbiter and bridge", func(t *testing.T, s *script) {
			pid := s.bridge()
			_ = s.cmd.Process.Signal(syscall.SIGSTOP) // so that it does not start another
			kill(t, pid)
			kill(t, s.cmd.Process.Pid)
		}, -1},
		{"cancel", func(t *testing.T, s *script) { s.send(contract.Cancel{}) }, contract.ExitFailed},
		{"end of input", func(t *testing.T, s *script) { s.send(contract.Say{Text: "Choose yourself."}) },
			contract.ExitComplete},
	}
	for _, p := range players(t) {
		for _, way := range ways {
			t.Run(p.name+"/"+way.name, func(t *testing.T) {
				p.long(t)
				t.Parallel()
				s := p.plays(t, "dialogue", "Name it")
				asked := await[contract.Question](s, "a question", nil)
				run := s.run()
				testkit.Check(t, len(survivors(run)) > 0, "living agents bear no mark: this test could not fail")
				way.end(t, s)
				if way.name != "end of input" {
					s.gone() // the end of its stdin would answer the question
				}
				if way.exit >= 0 {
					r := s.finish(way.exit)
					signalled := way.exit == contract.ExitInterrupted || way.exit == contract.ExitTerminated
					testkit.Same(t, "it was stopped by a signal", signalled, strings.HasPrefix(r.Summary, "stopped by SIG"))
				}
				awaitGone(t, run)
				if way.name == "end of input" {
					s.anotherTask(run)
					return
				}
				s.cmd.Env = append(s.cmd.Env, "TZ=Pacific/Niue") // the last one counts
				n := s.again("--json", "--resume")
				again := await[contract.Question](n, "the question again", nil)
				testkit.Same(t, "the question again", asked.Text, again.Text)
				if way.exit < 0 {
					n.awaitNotice("ended without a report")
				}
				n.answers()
				await[contract.Accepted](n, "accepted", nil)
				r := n.finish(contract.ExitComplete)
				testkit.Same(t, "run", run, r.Session)
				testkit.Check(t, r.DurationMS >= 0 && r.DurationMS <= waitTimeout.Milliseconds(), "%d ms", r.DurationMS)
				first, second := s.spawns("arbiter"), n.spawns("arbiter")
				testkit.Check(t, len(first) == 1 && len(second) == 1 && first[0].SessionID == second[0].SessionID &&
					second[0].Resumed && second[0].Generation == 2, "the Arbiter was spawned as %+v, and then as %+v",
					first, second)
				n.sameInReplay(s)
			})
		}
	}
}

// anotherTask checks that a complete run repeats its result, and accepts another task.
func (s *script) anotherTask(run string) {
	s.t.Helper()
	same := s.again("--json", "--resume")
	same.finish(contract.ExitComplete)
	testkit.Same(s.t, "the result, asked for again: spawns", 0, len(same.spawns("arbiter")))
	n := s.again("--json", "--session", run[:8], "--task", "Another")
	e := await[contract.Session](n, "the session", nil)
	testkit.Check(s.t, e.Resumed && e.Session == run, "session %+v", e)
	await[contract.Message](n, "the task", func(_ string, b contract.Message) bool {
		return b.Kind == "task" && b.Text == "Another"
	})
	await[contract.Question](n, "that the script is played", nil)
	n.cancels()
}

// sameInReplay compares what both processes printed with what replay prints.
func (s *script) sameInReplay(earlier *script) {
	s.t.Helper()
	out, _ := s.output(0, "replay", s.run())
	lines := testkit.Must(contractLinesOf(out))(s.t)
	want := append(append([]contract.Line(nil), earlier.lines...), s.lines...)
	// Events that were on disk but not printed when the first process was killed are in the replay too, before
	// the second process begins.
	second := 0
	for i, l := range lines {
		if _, ok := l.Body.(contract.Session); ok {
			second = i
		}
	}
	testkit.Need(s.t, second >= len(earlier.lines), "the replay has %d lines of the first process run, it printed %d",
		second, len(earlier.lines))
	lines = append(lines[:len(earlier.lines):len(earlier.lines)], lines[second:]...)
	testkit.Need(s.t, len(lines) == len(want), "the replay has %d lines, %d were printed", len(lines), len(want))
	for i := range want {
		a, _ := json.Marshal(want[i])
		b, _ := json.Marshal(lines[i])
		testkit.Need(s.t, bytes.Equal(a, b), "line %d was\n%s\nand is replayed as\n%s", i+1, a, b)
	}
}

// contractLinesOf decodes the lines of several processes.
func contractLinesOf(out string) ([]contract.Line, error) {
	var lines []contract.Line
	seq := uint64(0)
	for line := range strings.Lines(out) {
		if strings.Contains(line, `"event":"session"`) {
			seq = 0
		}
		seq++
		l, err := contractLine([]byte(line), seq)
		if err != nil {
			return nil, err
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// TestStrays: arbiter and bridge are killed at the same moment, and no PID namespace ends the agents with them.
// The next start ends the remaining daemons and reports how many there were. halt does the same, and so does
// removing the run, after which no other command could.
func TestStrays(t *testing.T) {
	const one = "ended processes that 1 earlier run had left behind: 1 process"
	for name, clear := range map[string]func(t *testing.T, s *script, run string){
		"resume": func(t *testing.T, s *script, _ string) {
			n := s.again("--json", "--resume")
			await[contract.Notice](n, "the count", func(_ string, b contract.Notice) bool {
				return strings.Contains(b.Text, one)
			})
			n.named()
		},
		"halt": func(t *testing.T, s *script, run string) {
			testkit.Includes(t, "halt", stderrOf(s.output(0, "halt", "--all")), one)
			awaitGone(t, run)
		},
		"removal": func(t *testing.T, s *script, run string) {
			testkit.Includes(t, "sessions rm", stderrOf(s.output(0, "sessions", "rm", run)), one)
			awaitGone(t, run)
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "resume" {
				testkit.Long(t)
			}
			s := start(t, nil, "--stand-in", "--env", "ARBITER_STANDIN_FAULT=orphan", "--json", "--pid-namespace",
				"never", "--scenario", "dialogue", "--task", "Name it")
			await[contract.Question](s, "a question", nil)
			run := s.run()
			pid := s.bridge()
			agent := agentPID(t, run, "arbiter.1")
			// Stopped, so that it does not start another bridge.
			testkit.OK(t, syscall.Kill(s.cmd.Process.Pid, syscall.SIGSTOP))
			for _, p := range []int{pid, s.cmd.Process.Pid, agent} {
				// The agent may have ended by then.
				err := syscall.Kill(p, syscall.SIGKILL)
				testkit.Need(t, err == nil || err == syscall.ESRCH, "%v", err)
			}
			s.gone()
			testkit.Await(t, "end of the bridge, which holds the run", func() bool {
				stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
				return err != nil || strings.Contains(string(stat), ") Z ")
			})
			awaitSurvivors(t, run, 1) // the daemon that the agent has started
			clear(t, s, run)
		})
	}
}

// TestBothKilledAtWork: when arbiter and bridge are killed, a working agent and its tool end too, even if no
// PID namespace ends them and no other run begins.
func TestBothKilledAtWork(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, p player) {
		b := atWork(t, p, "--pid-namespace", "never")
		bridge := b.bridge()
		b.mustSignal(syscall.SIGSTOP) // so that it does not start another bridge
		for _, pid := range []int{bridge, b.cmd.Process.Pid} {
			testkit.OK(t, syscall.Kill(pid, syscall.SIGKILL))
		}
		b.gone()
		b.awaitStill(waitTimeout)
	})
}

// TestOneAtATime: a run belongs to one arbiter; the error of a second one names its process. Nor can the run be resumed
// from a copy of its state directory while it is live, and no command on the copy ends its agents.
func TestOneAtATime(t *testing.T) {
	s := dialogue(t)
	run := s.run()
	testkit.Includes(t, "resume of a live run", stderrOf(s.output(2, "--json", "--resume")), run[:8], "process")
	testkit.Includes(t, "removal of a live run", stderrOf(s.output(2, "sessions", "rm", run)), "process")
	copied := filepath.Join(t.TempDir(), "copy")
	testkit.Must(exec.Command("cp", "-a", s.stateDir(), copied).Output())(t)
	testkit.Includes(t, "resume of a copy", stderrOf(s.output(2, "--json", "--resume", "--session", run, "--state-dir",
		copied)), "of another state directory")
	s.output(0, "sessions", "rm", run, "--state-dir", copied)
	s.named()
	testkit.Empty(t, "its agents were ended", collect[contract.Restart](s))
	s.output(0, "sessions", "rm", run)
	testkit.Includes(t, "show of a removed run", stderrOf(s.output(2, "sessions", "show", run)), "no run")
	testkit.Includes(t, "resume of nothing", stderrOf(s.output(2, "--json", "--resume")), "nothing to resume")
}

// TestDirectoryBelongsToOne: a second run in the same directory is refused, since two would undo each other's work,
// also one with another state directory, which does not know the first run.
func TestDirectoryBelongsToOne(t *testing.T) {
	claude := standInProgram(t)
	s := start(t, nil, "--json", "--claude", claude)
	await[contract.Session](s, "the session", nil)
	another := func(args ...string) string {
		return stderrOf(s.output(2, append([]string{"--json", "--no-input", "--claude", claude, "--task", "Another"},
			args...)...))
	}
	testkit.Includes(t, "a second run", another(), "another run already works in", s.run()[:8])
	testkit.Includes(t, "a run of another state directory", another("--state-dir", filepath.Join(t.TempDir(), "other")),
		"of another state directory")
	s.killed()
	for _, args := range [][]string{nil, {"--state-dir", filepath.Join(t.TempDir(), "third")}} {
		// The locks of the dead process are free at once.
		n := s.again(append([]string{"--json", "--claude", claude}, args...)...)
		await[contract.Session](n, "the session", nil)
		n.cancels()
	}
}

// standInProgram writes a program claude that is the stand-in, without a model.
func standInProgram(t *testing.T) string {
	t.Helper()
	return program(t, "claude", "exec "+agentProgram(t)+" stand-in \"$@\"\n")
}

// TestDamagedJournal: the journal from the damage on is put aside, and the run continues from the undamaged
// part.
func TestDamagedJournal(t *testing.T) {
	s := dialogue(t)
	s.send(contract.Configure{Allow: "Bash(ls)"}) // a batch after those of the agents
	await[contract.Accepted](s, "the command", nil)
	s.killed()
	dir := filepath.Dir(collect[contract.Session](s)[0].Log)
	files, _ := filepath.Glob(filepath.Join(dir, "journal-*"))
	testkit.Need(t, len(files) == 1, "journal files: %v", files)
	raw := testkit.Must(os.ReadFile(files[0]))(t)
	// The damage is after the Arbiter's start, and not in the last batch, where it would look like the effect
	// of a crash.
	at := bytes.Index(raw, []byte(`"input":"agent_event"`))
	testkit.Need(t, at >= 0, "no event is in the journal")
	raw[at] ^= 0x10
	testkit.OK(t, os.WriteFile(files[0], raw, 0o600))
	n := s.again("--json", "--resume")
	await[contract.Notice](n, "the damage", func(_ string, b contract.Notice) bool {
		return strings.Contains(b.Text, "journal was damaged") &&
			strings.Contains(b.Text, "was copied to "+filepath.Join(dir, "damaged-"))
	})
	aside, _ := filepath.Glob(filepath.Join(dir, "damaged-*"))
	testkit.Check(t, len(aside) != 0, "nothing was put aside")
	n.named()
}

// TestStateOfAnotherVersionIsRefused: a run whose state was written by another version of arbiter is not
// resumed and not changed; its events can still be read.
func TestStateOfAnotherVersionIsRefused(t *testing.T) {
	run := newJournal(t, weaving)
	state := filepath.Join(os.Getenv("XDG_STATE_HOME"), "arbiter")
	store := testkit.Must(journal.OpenStore(state))(t)
	defer store.Close()
	opened, _, err := store.Open(run.id, 0, journal.Options{}, func(*journal.Recovered) ([]byte, error) {
		return []byte(`{"v":99,"state":{"Options":"of another shape"}}`), nil
	})
	testkit.OK(t, err)
	testkit.OK(t, opened.Close())
	segment := filepath.Join(state, "runs", run.id, "journal-000002")
	before := testkit.Must(os.ReadFile(segment))(t)
	_, errs := run.arbiter(contract.ExitEnvironment, "--json", "--resume", "--session", run.id)
	testkit.Includes(t, "the refusal", errs, "another version of arbiter", "version 99, of a newer arbiter",
		"arbiter replay")
	after, err := os.ReadFile(segment)
	testkit.Check(t, err == nil && string(after) == string(before), "the journal was changed: %v", err)
	out, _ := run.arbiter(contract.ExitComplete, "replay", run.id)
	testkit.Includes(t, "replay", out, `"event":"session"`)
	testkit.Includes(t, "audit", stdoutOf(run.arbiter(contract.ExitComplete, "logs", run.id, "--audit")), "begun")
}
