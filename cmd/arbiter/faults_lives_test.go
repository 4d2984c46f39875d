package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/bridge/crashpoint"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// crashingArbiter builds arbiter with its crash points enabled.
func crashingArbiter(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "arbiter")
	build := exec.Command("go", "build", "-ldflags", crashpoint.LinkerFlags, "-o", path, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return path
}

// TestPanic: a panic in any of arbiter's goroutines ends the run with exit code 70 and a report for the
// developers. No process is left, and the run can be resumed.
func TestPanic(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	bin := crashingArbiter(t)
	// A made-up secret with the form of an API key.
	const secret = "sk-ant-api03-QkW7xPz4TnL9vRb2MdYc8HgJf5sKa1Ue6Wo3Ip0Zx7Nq4Bt9Vl2Cm5Dy8Eg"
	for _, at := range []string{"loop.apply:30", "loop.append:30", "loop.send:2", "loop.spawned:2", "loop.emit:30",
		"shutdown.step"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			s := prepare(t, []string{"ARBITER_CRASH_AT=panic:arbiter/" + at}, "--stand-in", "--json", "--scenario",
				"parallel", "--task", "Two threads, and the key is "+secret)
			s.cmd.Path = bin
			s.launch()
			s.gone()
			if got := s.cmd.ProcessState.ExitCode(); got != int(contract.ExitBug) {
				t.Errorf("exit code %d, want %d", got, contract.ExitBug)
			}
			run := s.run()
			awaitGone(t, run)
			reports, _ := filepath.Glob(filepath.Join(filepath.Dir(collect[contract.Session](s)[0].Log), "crash-*.txt"))
			if len(reports) != 1 {
				t.Fatalf("reports: %v", reports)
			}
			if info, err := os.Stat(reports[0]); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			raw := testkit.Must(os.ReadFile(reports[0]))(t)
			text, point := string(raw), strings.Split(at, ":")[0]
			for _, want := range []string{"panic: crash point " + point, "goroutine ", "crashpoint.Here",
				`"event":"session"`, "Two threads"} {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in the report:\n%.3000s", want, text)
				}
			}
			if strings.Contains(text, secret) || strings.Contains(s.stderr.String(), secret) {
				t.Error("the key is shown")
			}
			if !strings.Contains(s.stderr.String(), reports[0]) {
				t.Errorf("the report is not mentioned: %s", s.stderr.String())
			}
			s.cmd.Env = append(s.cmd.Env, "ARBITER_CRASH_AT=")
			s.cmd.Path = ""
			if n := s.again("--json", "--resume"); n.finish(contract.ExitComplete).Status != contract.StatusComplete {
				t.Error("not completed")
			}
		})
	}
}

// TestResumeWhileOldBridgeRuns: the new process waits until the bridge of the last one has let go of the
// run, and ends that bridge if it cannot do so.
func TestResumeWhileOldBridgeRuns(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, state := range []string{"is ending", "is stopped"} {
		t.Run(state, func(t *testing.T) {
			onlyLinux(t)
			t.Parallel()
			s := start(t, nil, "--stand-in", "--env", "ARBITER_STANDIN_FAULT=ignore-term", "--pid-namespace", "never",
				"--json", "--scenario", "dialogue", "--task", "Name it")
			await[contract.Question](s, "a question", nil)
			pid, ok := childNamed(s.cmd.Process.Pid, "bridge")
			if !ok {
				t.Fatal("no bridge")
			}
			for agent, pids := range aliveAs(s.run()) { // stopped, it delays the end of its bridge until it is killed
				if strings.HasSuffix(agent, ".1") {
					for _, pid := range pids {
						testkit.OK(t, syscall.Kill(pid, syscall.SIGSTOP))
					}
				}
			}
			testkit.OK(t, s.cmd.Process.Kill())
			if _, err := s.cmd.Process.Wait(); err != nil { // s.gone would wait for the bridge to let go of stderr
				t.Fatal(err)
			}
			if state == "is stopped" { // only now: on orphaning its group the kernel would have continued it
				testkit.OK(t, syscall.Kill(pid, syscall.SIGSTOP))
			}
			if len(survivors(s.run())) == 0 {
				t.Fatal("the bridge is gone already: this test could not fail")
			}
			n := s.again("--json", "--resume")
			await[contract.Session](n, "the second process run", nil)
			for agent, pids := range aliveAs(s.run()) {
				if strings.HasSuffix(agent, ".1") {
					t.Errorf("%s lives in the second process run: %v", agent, pids)
				}
			}
			if left := survivors(s.run()); left[pid] != "" {
				t.Error("the old bridge lives in the second process run")
			}
			await[contract.Question](n, "the question again", nil)
			n.send(contract.Say{Text: "Call it nameless."})
			n.finish(contract.ExitComplete)
		})
	}
}

// TestInterruptedAtAnyMoment: Ctrl-C at every early moment of a run's first process, and of one that resumes
// the run. Nothing is left; the run can be resumed, or resuming says that there is nothing to resume.
func TestInterruptedAtAnyMoment(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	const first, second = 8, 5 // lines that are printed without further input
	for lines := range first {
		t.Run(fmt.Sprintf("first process run, %d lines", lines), func(t *testing.T) {
			t.Parallel()
			s := start(t, nil, "--stand-in", "--json", "--scenario", "dialogue", "--task", "Name it")
			s.interruptAfter(lines)
			if len(collect[contract.Session](s)) == 0 {
				s.nothingOrResumable()
				return
			}
			awaitGone(t, s.run())
			s.nothingOrResumable()
		})
	}
	for lines := range second {
		t.Run(fmt.Sprintf("second process run, %d lines", lines), func(t *testing.T) {
			t.Parallel()
			s := dialogue(t)
			s.killed()
			n := s.again("--json", "--resume")
			n.interruptAfter(lines)
			awaitGone(t, s.run())
			n.resumed()
		})
	}
}

// interruptAfter sends SIGINT after so many lines, and waits for the end.
func (s *script) interruptAfter(lines int) {
	s.t.Helper()
	n := 0
	if lines > 0 {
		await[contract.Body](s, "the lines before", func(string, contract.Body) bool { n++; return n == lines })
	}
	s.mustSignal(syscall.SIGINT)
	s.gone()
	state := s.cmd.ProcessState
	// Before arbiter has installed its handler, the signal kills it as it does any program.
	if ws := state.Sys().(syscall.WaitStatus); !(ws.Signaled() && lines == 0) &&
		state.ExitCode() != int(contract.ExitInterrupted) {
		s.t.Errorf("ended with %v", state)
	}
}

// nothingOrResumable resumes the latest run if it reached an agent.
func (s *script) nothingOrResumable() {
	s.t.Helper()
	n := s.again("--json", "--resume")
	<-n.change // a line, or the end
	if len(collect[contract.Session](n)) > 0 {
		await[contract.Question](n, "the question", nil)
		n.send(contract.Say{Text: "Call it nameless."})
		n.finish(contract.ExitComplete)
		return
	}
	n.gone()
	if got := n.cmd.ProcessState.ExitCode(); got != int(contract.ExitUsage) ||
		!strings.Contains(n.stderr.String(), "nothing to resume") {
		s.t.Errorf("exit code %d: %s", got, n.stderr.String())
	}
}

// TestTimeZones: processes in different time zones belong to one run, and replay shows it the same way. Runs
// are listed by absolute time, not by local time.
func TestTimeZones(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	s := start(t, []string{"TZ=Pacific/Kiritimati"}, "--stand-in", "--json", "--scenario", "dialogue", "--task",
		"Name it")
	await[contract.Question](s, "a question", nil)
	s.mustSignal(syscall.SIGINT)
	<-s.ended // before stdin is closed, which would be another event
	s.finish(contract.ExitInterrupted)
	zone := func(name string) {
		s.cmd.Env = append(s.cmd.Env, "TZ="+name) // the last one counts
	}
	zone("Pacific/Niue") // 25 hours behind
	n := s.again("--json", "--resume")
	await[contract.Question](n, "the question again", nil)
	n.send(contract.Say{Text: "Call it nameless."})
	if r := n.finish(contract.ExitComplete); r.DurationMS < 0 || r.DurationMS > waitTimeout.Milliseconds() {
		t.Errorf("result %+v", r)
	}
	zone("America/New_York")
	n.cmd.Env = s.cmd.Env
	n.sameInReplay(s)
	// A later run, in a zone where it is still the day before.
	zone("Pacific/Niue")
	second := s.again("--stand-in", "--json", "--no-input", "--scenario", "parallel", "--task", "Two threads")
	second.finish(contract.ExitComplete)
	zone("Pacific/Kiritimati")
	out, _ := s.output(0, "sessions", "ls", "--json")
	var list []runstore.Line
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) != 2 {
		t.Fatalf("%v: %s", err, out)
	}
	if list[0].Run != second.run() || list[1].Run != s.run() || !list[0].LastActive.After(list[1].LastActive) {
		t.Errorf("listed %+v", list)
	}
}

// TestHostileRunNames: a hostile name of a run leads to no file outside the state directory.
func TestHostileRunNames(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	s := start(t, nil, "--stand-in", "--json", "--no-input", "--scenario", "parallel", "--task", "Two threads")
	s.finish(contract.ExitComplete)
	dir := filepath.Dir(collect[contract.Session](s)[0].Log)
	before := tree(t, filepath.Dir(filepath.Dir(dir)))
	names := []string{
		"", " ", ".", "..", "../..", "../runs/" + s.run(), "/etc/passwd", dir, "*", "?", "-", "--", "%00", "~", "$HOME",
		"\n", "a\tb", "\x1b[2J", "\xff\xfe", "⟦", strings.Repeat("a", 1<<16), s.run() + "/", s.run() + "0",
		strings.ToUpper(s.run()) + " ", "00000000-0000-0000-0000-000000000000",
	}
	for _, name := range names {
		_, stderr := s.output(int(contract.ExitUsage), "--json", "--no-input", "--session="+name, "--task", "x")
		if strings.Contains(stderr, "\x1b") || !utf8.ValidString(stderr) || len(stderr) > 4096 {
			t.Errorf("--session %.20q: %.300q", name, stderr)
		}
		for _, command := range [][]string{{"sessions", "show"}, {"sessions", "rm"}, {"logs"}, {"replay"}} {
			s.output(int(contract.ExitUsage), append(command, "--", name)...)
		}
	}
	if after := tree(t, filepath.Dir(filepath.Dir(dir))); after != before {
		t.Errorf("the state directory was\n%s\nand is\n%s", before, after)
	}
}

// tree lists the files below a directory, with their sizes.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	testkit.OK(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && !d.IsDir() {
			fmt.Fprintln(&b, path, info.Size())
		}
		return err
	}))
	return b.String()
}
