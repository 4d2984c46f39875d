package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/crashpoint"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/internal/testkit"
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
			n.named()
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
			s := standInPlayer.plays(t, "dialogue", "Name it")
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
		n.named()
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
	east := standInPlayer
	east.env = []string{"TZ=Pacific/Kiritimati"}
	s := east.asksName(t)
	s.mustSignal(syscall.SIGINT)
	<-s.ended // before stdin is closed, which would be another event
	s.finish(contract.ExitInterrupted)
	zone := func(name string) {
		s.cmd.Env = append(s.cmd.Env, "TZ="+name) // the last one counts
	}
	zone("Pacific/Niue") // 25 hours behind
	n := s.again("--json", "--resume")
	n.answers()
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
	list := besideJSON[[]runstore.Line](s, "sessions", "ls")
	if len(list) != 2 || list[0].Run != second.run() || list[1].Run != s.run() ||
		!list[0].LastActive.After(list[1].LastActive) {
		t.Errorf("listed %+v", list)
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
		if strings.Contains(stderr, "\x1b") || !utf8.ValidString(stderr) || len(stderr) > 4096 {
			t.Errorf("--session %.20q: %.300q", name, stderr)
		}
		for _, command := range [][]string{{"sessions", "show"}, {"sessions", "rm"}, {"logs"}, {"replay"}} {
			s.output(int(contract.ExitUsage), append(command, "--", name)...)
		}
	}
	testkit.Same(t, "the state directory", before, filesBelow(t, filepath.Dir(filepath.Dir(dir))))
}

// TestStubbornAgents: an agent that ignores SIGTERM and uses all of a CPU, one that leaves a daemon behind, and
// one that forks hundreds of processes. Arbiter still answers, one Ctrl-C ends the run within the time of the
// kill ladder, and no process is left.
func TestStubbornAgents(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, c := range []struct {
		fault string
		least int // minimum number of the run's processes before the end
	}{
		{"ignore-term,spin", 3}, {"orphan,hang", 4}, {"fork-storm:300,quiet", 300},
	} {
		t.Run(c.fault, func(t *testing.T) {
			onlyLinux(t)
			t.Parallel()
			s := perform(t, spin("echo spun"), sick{"orch-1.1": c.fault})
			s.at("orch-1")
			testkit.Await(t, "all processes", func() bool { return len(survivors(s.run())) >= c.least })
			s.send(contract.SetPlan{Steps: []contract.Step{}})
			await[contract.Accepted](s, "an answer in the midst of it", nil)
			s.mustSignal(syscall.SIGINT)
			s.finish(contract.ExitInterrupted) // also checks that no process is left
			testkit.Empty(t, "errors", collect[contract.Error](s))
		})
	}
}

// TestStoppedAgent: a stopped process is reported as stopped, not as dead. The run can still be ended, and it
// continues when the process is continued.
func TestStoppedAgent(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, p := range players(t) {
		for _, then := range []string{"end", "go on"} {
			t.Run(p.name+"/"+then, func(t *testing.T) {
				p.long(t) // the kernel stops the real CLI and the stand-in alike
				onlyLinux(t)
				t.Parallel()
				s := p.plays(t, "dialogue", "Name it", "--watch-every", "1s")
				await[contract.Question](s, "a question", nil)
				pid := agentPID(t, s.run(), "arbiter.1")
				testkit.OK(t, syscall.Kill(pid, syscall.SIGSTOP))
				s.awaitNotice("is stopped")
				if then == "go on" {
					testkit.OK(t, syscall.Kill(pid, syscall.SIGCONT))
					s.named()
				} else {
					s.mustSignal(syscall.SIGINT)
					s.finish(contract.ExitInterrupted)
				}
				testkit.Empty(t, "started again", s.reasons())
			})
		}
	}
}

// TestProgramGone: when a dead process is to be replaced, its program has been removed, replaced by a file that
// is not a program, or made not executable. Arbiter reports that once and does not retry forever, and the other
// agents continue.
func TestProgramGone(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, c := range []struct {
		name string
		do   func(path string) error
	}{
		{"removed", os.Remove},
		{"replaced", func(path string) error { return os.WriteFile(path, []byte("\x7fELF, but no more\n"), 0o700) }},
		{"not executable", func(path string) error { return os.Chmod(path, 0o600) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			onlyLinux(t)
			t.Parallel()
			claude := sickClaude(t, nil)
			s := withClaude(claude).plays(t, scenarioFile(t, spin("touch up.txt; exec tail -f /dev/null")), "Weave")
			s.at("orch-1")
			awaitFile(t, filepath.Join(collect[contract.Session](s)[0].CWD, "up.txt"))
			pid := agentPID(t, s.run(), "orch-1.1")
			testkit.OK(t, c.do(claude))
			testkit.OK(t, syscall.Kill(pid, syscall.SIGKILL))
			r := s.finish(contract.ExitComplete)
			if !sums(r, "without it") {
				t.Errorf("result %+v", r)
			}
			e := collect[contract.Error](s)
			if len(e) != 1 || !strings.Contains(e[0].Message, claude) || len(e[0].RecoveryOptions) == 0 {
				t.Errorf("errors %+v", e)
			}
			if n := len(s.spawns("orch-1")); n > 2 {
				t.Errorf("%d spawns", n)
			}
		})
	}
}

// TestAgentStrikesUpwards: an agent's shell kills its ancestors. In a PID namespace it finds no
// ancestor to kill. Without one the run survives or can be resumed, and an event reports what
// happened.
func TestAgentStrikesUpwards(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	// The script kills the ancestor once, and only if it is the expected program.
	const strike = `test -e struck && { echo struck; exit; }; touch struck
up() { cut -d' ' -f4 /proc/$1/stat; }
b=$(up $PPID); a=$(up $b)
eval victim=\$VICTIM
tr '\0' ' ' < /proc/$victim/cmdline | grep -q 'arbiter.* WORD' && kill -9 $victim
echo tried`
	command := func(victim, word string) string {
		return strings.NewReplacer("VICTIM", victim, "WORD", word).Replace(strike)
	}
	for _, mode := range []string{"auto", "never"} {
		t.Run("bridge/"+mode, func(t *testing.T) {
			onlyLinux(t)
			t.Parallel()
			s := perform(t, spin(command("b", "bridge")), nil, "--pid-namespace", mode)
			r := s.finish(contract.ExitComplete)
			// Only inside a PID namespace, which root gets without further setup, the bridge cannot be reached.
			want := 0
			if mode == "never" || os.Getuid() != 0 {
				want = 1
			}
			if r.Crashes != want || len(s.reasons()) != want {
				t.Errorf("%d crashes, want %d, restarts %q", r.Crashes, want, s.reasons())
			}
			if list := s.reasons(); len(list) > 0 && !strings.Contains(list[0], "the bridge") ||
				len(list) > 0 && !strings.Contains(list[0], "signal: killed") {
				t.Errorf("the cause is not named: %q", list)
			}
		})
		t.Run("arbiter/"+mode, func(t *testing.T) {
			onlyLinux(t)
			t.Parallel()
			s := perform(t, spin(command("a", "--rehearse")), nil, "--pid-namespace", mode)
			if mode == "auto" && os.Getuid() == 0 {
				s.finish(contract.ExitComplete)
				return
			}
			s.gone()
			if s.cmd.ProcessState.Exited() {
				t.Fatalf("arbiter ended on its own: %v", s.cmd.ProcessState)
			}
			awaitGone(t, s.run())
			n := s.again("--json", "--resume")
			n.awaitNotice("ended without a report")
			testkit.Same(t, "crashes", 1, n.finishes("spun").Crashes)
		})
	}
}

// TestGreedyAgents: an agent near its limit of memory or output files gets a warning; one above it is restarted
// on its session, and the work completes.
func TestGreedyAgents(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	// A tool's memory counts as well. tail keeps input without a line end in memory as a whole.
	const hoard = `(head -c 315000000 /dev/zero; exec tail -f /dev/null) | tail`
	for _, c := range []struct {
		name, limit   string
		command, near string
		over          string
		what          string
	}{
		{"memory", "--max-memory=400", hoard, "", "bloat:500M,quiet", " memory"},
		{"output", "--max-output=1", "echo spun", "fill:900K,quiet", "fill:2M,quiet", "bfault.output"},
	} {
		t.Run(c.name+"/near", func(t *testing.T) {
			onlyLinux(t)
			t.Parallel()
			s := perform(t, spin(c.command), sick{"orch-1.1": c.near}, "--watch-every", "500ms", c.limit)
			testkit.Includes(t, "notice", s.awaitNotice(" uses ").Text, c.what, " of ")
			s.send(contract.Interrupt{ID: "orch-1"})
			s.finish(contract.ExitComplete)
			testkit.Empty(t, "started again", s.reasons())
		})
		t.Run(c.name+"/over", func(t *testing.T) {
			onlyLinux(t)
			t.Parallel()
			// The files remain after the process has ended: the test deletes them, or the next process would be
			// over the limit too.
			const tidy = `sh:rm -rf "${TMPDIR:?}"/claude-*/*/*/tasks`
			s := perform(t, spin("echo spun"), sick{"orch-1.1": c.over, "orch-1.2": tidy}, "--watch-every", "500ms",
				c.limit)
			testkit.Includes(t, "notice", s.awaitNotice("is being restarted").Text, c.what)
			testkit.Same(t, "crashes", 0, s.finishes("spun").Crashes)
			if list := s.reasons(); len(list) != 1 || !strings.Contains(list[0], "over its limits") {
				t.Errorf("restarts %q", list)
			}
			if sp := s.spawns("orch-1"); len(sp) != 2 || sp[0].SessionID != sp[1].SessionID || !sp[1].Resumed {
				t.Errorf("spawned %+v", sp)
			}
		})
	}
}

// TestCrashLoopIsParked: an Arbiter that dies at once each time is started five times, then no more. Rules
// decide in its place until the human brings it back.
func TestCrashLoopIsParked(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	s := perform(t, spin(untilLetGo), sick{"arbiter.[1-5]": "die-mid-turn"})
	s.awaitNotice("The Arbiter can no longer rule: it is parked")
	testkit.Same(t, "spawns before it was parked", 5, len(s.spawns(contract.Arbiter)))
	e := collect[contract.Error](s)
	if len(e) != 1 || e[0].Category != bridge.CatCrash || !slices.Contains(e[0].RecoveryOptions, "retry") {
		t.Errorf("errors %+v", e)
	}
	for agent, pids := range aliveAs(s.run()) {
		if strings.HasPrefix(agent, "arbiter.") {
			t.Errorf("%s lives while parked: %v", agent, pids)
		}
	}
	s.send(contract.Choose{Option: "retry"})
	s.awaitNotice("The Arbiter rules again.")
	s.letGo()
	testkit.Same(t, "crashes", 5, s.finishes("spun").Crashes)
	testkit.Same(t, "spawns in all", 6, len(s.spawns(contract.Arbiter)))
}

// untilLetGo is a command that ends when the test says so.
const untilLetGo = "until test -e let-go; do sleep 0.1; done"

func (s *script) letGo() { write(s.t, "", collect[contract.Session](s)[0].CWD, "let-go") }
