package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

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
			awaitCrowd(t, s.run(), c.least)
			s.send(contract.SetPlan{Steps: []contract.Step{}})
			await[contract.Accepted](s, "an answer in the midst of it", nil)
			s.mustSignal(syscall.SIGINT)
			s.finish(contract.ExitInterrupted) // also checks that no process is left
			if e := collect[contract.Error](s); len(e) != 0 {
				t.Errorf("errors %+v", e)
			}
		})
	}
}

// awaitCrowd waits until at least that many processes of the run are alive.
func awaitCrowd(t *testing.T, run string, least int) {
	t.Helper()
	until(t, fmt.Sprintf("%d processes", least), func() bool { return len(survivors(run)) >= least })
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
				s := start(t, nil, append(p.args, "--json", "--watch-every", "1s", "--scenario", "dialogue", "--task",
					"Name it")...)
				await[contract.Question](s, "a question", nil)
				pid := agentPID(t, s.run(), "arbiter.1")
				testkit.OK(t, syscall.Kill(pid, syscall.SIGSTOP))
				s.awaitNotice("is stopped")
				if then == "go on" {
					testkit.OK(t, syscall.Kill(pid, syscall.SIGCONT))
					s.send(contract.Say{Text: "Call it nameless."})
					s.finish(contract.ExitComplete)
				} else {
					s.mustSignal(syscall.SIGINT)
					s.finish(contract.ExitInterrupted)
				}
				if list := s.reasons(); len(list) != 0 {
					t.Errorf("started again: %q", list)
				}
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
			s := start(t, nil, "--rehearse", "--claude", claude, "--json", "--scenario",
				scenarioFile(t, spin("touch up.txt; exec tail -f /dev/null")), "--task", "Weave")
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
			if want := b2n(mode == "never" || os.Getuid() != 0); r.Crashes != want || len(s.reasons()) != want {
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
			if r := n.finish(contract.ExitComplete); !sums(r, "spun") || r.Crashes != 1 {
				t.Errorf("result %+v", r)
			}
		})
	}
}

func b2n(b bool) int {
	if b {
		return 1
	}
	return 0
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
			if n := s.awaitNotice(" uses "); !strings.Contains(n.Text, c.what) || !strings.Contains(n.Text, " of ") {
				t.Errorf("notice %q", n.Text)
			}
			s.send(contract.Interrupt{ID: "orch-1"})
			s.finish(contract.ExitComplete)
			if list := s.reasons(); len(list) != 0 {
				t.Errorf("started again: %q", list)
			}
		})
		t.Run(c.name+"/over", func(t *testing.T) {
			onlyLinux(t)
			t.Parallel()
			// The files remain after the process has ended: the test deletes them, or the next process would be
			// over the limit too.
			const tidy = `sh:rm -rf "${TMPDIR:?}"/claude-*/*/*/tasks`
			s := perform(t, spin("echo spun"), sick{"orch-1.1": c.over, "orch-1.2": tidy}, "--watch-every", "500ms",
				c.limit)
			if n := s.awaitNotice("is being restarted"); !strings.Contains(n.Text, c.what) {
				t.Errorf("notice %q", n.Text)
			}
			if r := s.finish(contract.ExitComplete); r.Crashes != 0 || !sums(r, "spun") {
				t.Errorf("result %+v", r)
			}
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
	if r := s.finish(contract.ExitComplete); r.Crashes != 5 || !sums(r, "spun") {
		t.Errorf("result %+v", r)
	}
	testkit.Same(t, "spawns in all", 6, len(s.spawns(contract.Arbiter)))
}

// untilLetGo is a command that ends when the test says so.
const untilLetGo = "until test -e let-go; do sleep 0.1; done"

func (s *script) letGo() { write(s.t, "", collect[contract.Session](s)[0].CWD, "let-go") }
