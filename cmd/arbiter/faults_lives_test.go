package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/bridge/crashpoint"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// crashingArbiter builds arbiter with its crash points enabled.
func crashingArbiter(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "arbiter")
	build := exec.Command("go", "build", "-ldflags", crashpoint.LinkerFlags, "-o", path, ".")
	out, err := build.CombinedOutput()
	testkit.Need(t, err == nil, "build: %v\n%s", err, out)
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
			got := s.cmd.ProcessState.ExitCode()
			testkit.Check(t, got == int(contract.ExitBug), "exit code %d, want %d", got, contract.ExitBug)
			run := s.run()
			awaitGone(t, run)
			reports, _ := filepath.Glob(filepath.Join(filepath.Dir(collect[contract.Session](s)[0].Log), "crash-*.txt"))
			testkit.Need(t, len(reports) == 1, "reports: %v", reports)
			info, err := os.Stat(reports[0])
			testkit.Check(t, err == nil && info.Mode().Perm() == 0o600, "mode %v, %v", info.Mode(), err)
			raw := testkit.Must(os.ReadFile(reports[0]))(t)
			text, point := string(raw), strings.Split(at, ":")[0]
			testkit.Includes(t, "the report", text, "panic: crash point "+point, "goroutine ", "crashpoint.Here",
				`"event":"session"`, "Two threads")
			testkit.Excludes(t, "the key is shown", text, secret)
			testkit.Excludes(t, "the key is shown", s.stderr.String(), secret)
			testkit.Includes(t, "the report is not mentioned", s.stderr.String(), reports[0])
			s.cmd.Env = append(s.cmd.Env, "ARBITER_CRASH_AT=")
			s.cmd.Path = ""
			s.again("--json", "--resume").finish(contract.ExitComplete)
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
			s := standInPlayer.asksName(t, "--env", "ARBITER_STANDIN_FAULT=ignore-term", "--pid-namespace", "never")
			pid := s.bridge()
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
			testkit.Need(t, len(survivors(s.run())) != 0, "the bridge is gone already: this test could not fail")
			n := s.again("--json", "--resume")
			await[contract.Session](n, "the second process run", nil)
			for agent, pids := range aliveAs(s.run()) {
				testkit.Check(t, !strings.HasSuffix(agent, ".1"), "%s lives in the second process run: %v", agent, pids)
			}
			left := survivors(s.run())
			testkit.Check(t, left[pid] == "", "the old bridge lives in the second process run")
			n.named()
		})
	}
}

// TestHostileRunNames: a hostile name of a run leads to no file outside the state directory.
func TestHostileRunNames(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	s := standInPlayer.plays(t, "parallel", "Two threads", "--no-input")
	s.finish(contract.ExitComplete)
	dir := filepath.Dir(collect[contract.Session](s)[0].Log)
	before := filesBelow(t, filepath.Dir(filepath.Dir(dir)))
	names := []string{
		"", " ", ".", "..", "../..", "../runs/" + s.run(), "/etc/passwd", dir, "*", "?", "-", "--", "%00", "~", "$HOME",
		"\n", "a\tb", "\x1b[2J", "\xff\xfe", "⟦", strings.Repeat("a", 1<<16), s.run() + "/", s.run() + "0",
		strings.ToUpper(s.run()) + " ", "00000000-0000-0000-0000-000000000000",
	}
	for _, name := range names {
		_, stderr := s.output(int(contract.ExitUsage), "--json", "--no-input", "--session="+name, "--task", "x")
		testkit.Check(t, !strings.Contains(stderr, "\x1b") && utf8.ValidString(stderr) && len(stderr) <= 4096,
			"--session %.20q: %.300q", name, stderr)
		for _, command := range [][]string{{"sessions", "show"}, {"sessions", "rm"}, {"logs"}, {"replay"}} {
			s.output(int(contract.ExitUsage), append(command, "--", name)...)
		}
	}
	testkit.Same(t, "the state directory", before, filesBelow(t, filepath.Dir(filepath.Dir(dir))))
}

// untilLetGo is a command that ends when the test says so.
const untilLetGo = "until test -e let-go; do sleep 0.1; done"

func (s *script) letGo() { write(s.t, "", collect[contract.Session](s)[0].CWD, "let-go") }
