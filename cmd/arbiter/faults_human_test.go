package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// TestImpatientSignals: one Ctrl-C ends the run in order, a second one ends it fast, and ten do no more
// harm than two. Whenever they arrive, no process is left and the run can be resumed.
func TestImpatientSignals(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, c := range []struct {
		name    string
		signals int
		asked   []input.Signal
	}{
		{"once", 1, []input.Signal{{Signal: "INT"}}},
		{"twice", 2, []input.Signal{{Signal: "INT"}, {Signal: "INT", Fast: true}}},
		{"ten times", 10, nil}, // the third ends the process without asking the run
	} {
		t.Run(c.name, func(t *testing.T) {
			onlyLinux(t)
			t.Parallel()
			s := perform(t, spin("echo spun"), sick{"orch-1.1": "ignore-term,hang"})
			s.at("orch-1")
			for range c.signals {
				if s.cmd.Process.Signal(syscall.SIGINT) != nil {
					break // it has ended
				}
				await[contract.State](s, "the first one's effect", func(_ string, b contract.State) bool {
					return b.To == "cancelled"
				})
			}
			<-s.ended
			if c.signals < 3 {
				s.finish(contract.ExitInterrupted)
				testkit.Same(t, "the run was asked to end", c.asked, signalled(t, s.stateDir(), s.run()))
			} else {
				s.gone()
				testkit.Same(t, "exit code", int(contract.ExitInterrupted), s.cmd.ProcessState.ExitCode())
			}
			awaitGone(t, s.run())
			n := s.again("--json", "--resume")
			n.finishes("spun")
		})
	}
}

// signalled lists the signals by which a run was asked to end, from its audit.
func signalled(t *testing.T, state, run string) []input.Signal {
	t.Helper()
	log := testkit.Must(journal.OpenLog(filepath.Join(state, "runs", run, journal.LogName)))(t)
	defer log.Close()
	var list []input.Signal
	testkit.OK(t, supervisor.AuditOf(t.Context(), log, run, false, func(l supervisor.AuditLine) error {
		if l.Entry.What == "signal" {
			name, _ := l.Entry.Detail["signal"].(string)
			fast, _ := l.Entry.Detail["fast"].(bool)
			list = append(list, input.Signal{Signal: name, Fast: fast})
		}
		return nil
	}))
	return list
}

// TestQuit: under nohup, or when a script ignores them, the signals that a terminal sends to all of its processes end
// nothing. Arbiter that was stopped from the keyboard and is continued handles what came meanwhile, and declares no
// agent dead. SIGQUIT asks for the stacks and an immediate end: the bridge ends the agents, and the run can be resumed.
func TestQuit(t *testing.T) {
	onlyLinux(t)
	t.Parallel()
	s := prepare(t, nil, "--stand-in", "--json", "--watch-every", "1s", "--scenario", "dialogue", "--task", "Name it")
	s.cmd.Args = append([]string{"sh", "-c", `trap "" HUP INT; exec "$@"`, "sh", s.cmd.Path}, s.cmd.Args[1:]...)
	s.cmd.Path = "/bin/sh"
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a process of an orphaned group would not be stopped
	s.launch()
	await[contract.Question](s, "a question", nil)
	for range 3 {
		s.mustSignal(syscall.SIGHUP)
		s.mustSignal(syscall.SIGINT)
	}
	s.send(contract.Configure{Allow: "Bash(ls)"})
	s.acceptedTimes(1)
	s.mustSignal(syscall.SIGTSTP)
	awaitProcess(t, s.cmd.Process.Pid, "T")
	s.send(contract.Configure{Allow: "Bash(pwd)"})
	s.mustSignal(syscall.SIGCONT)
	s.acceptedTimes(2)
	testkit.Empty(t, "restarts", s.reasons())
	s.mustSignal(syscall.SIGQUIT)
	s.gone()
	awaitGone(t, s.run())
	testkit.Includes(t, "no stacks", s.stderr.String(), "goroutine ")
	s.resumed()
}

// resumed resumes the dialogue, and answers its question.
func (s *script) resumed(args ...string) *script {
	s.t.Helper()
	n := s.again(append([]string{"--json", "--resume"}, args...)...)
	n.named()
	return n
}

// TestTerminalGone: the terminal is closed, and with it all three streams and the session. The run ends in
// order and can be resumed.
func TestTerminalGone(t *testing.T) {
	onlyLinux(t)
	t.Parallel()
	s := prepare(t, nil, "--stand-in", "--json", "--scenario", "dialogue", "--task", "Name it")
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stderr, theirs, err := os.Pipe()
	testkit.OK(t, err)
	s.cmd.Stderr = theirs
	s.launch()
	_ = theirs.Close()
	await[contract.Question](s, "a question", nil)
	_ = stderr.Close()
	s.closeOutput()
	s.mustSignal(syscall.SIGHUP) // before stdin is closed, which would answer the question
	s.gone()
	if got := s.cmd.ProcessState.ExitCode(); got != int(contract.ExitTerminated) && got != int(contract.ExitFailed) {
		t.Errorf("ended with %v", s.cmd.ProcessState)
	}
	awaitGone(t, s.run())
	s.cmd.Stderr = nil
	s.resumed()
}

// TestMessagesToUnavailableAgents: a message to an agent that is starting waits for it. A message to an agent
// that is ending, ended, parked or unknown is refused at once.
func TestMessagesToUnavailableAgents(t *testing.T) {
	t.Parallel()
	refused := func(s *script, to, why string) {
		s.t.Helper()
		before := len(collect[contract.Rejected](s))
		s.send(contract.Say{Text: "Hear me.", To: to})
		n := 0
		b := await[contract.Rejected](s, "a refusal", func(string, contract.Rejected) bool { n++; return n > before })
		testkit.Includes(s.t, "refused with", b.Message, why)
	}
	t.Run("starting", func(t *testing.T) {
		t.Parallel()
		gate := filepath.Join(t.TempDir(), "gate")
		testkit.OK(t, syscall.Mkfifo(gate, 0o600))
		play := allowing([]string{"Bash(*)"},
			arbiter(summons("Spin it."), on("COMPLETE while", patience), on("I heard", complete("spun")), patience),
			orchestrator("orchestrator", "", []object{bash("echo spun"), on("Hear me", done("I heard."))}, done("It is spun.")))
		s := perform(t, play, sick{"orch-1.1": "sh:read -r _ < '" + gate + "'"})
		await[contract.Spawn](s, "the spawn", func(id string, _ contract.Spawn) bool { return id == "orch-1" })
		s.send(contract.Say{Text: "Hear me.", To: "orch-1"})
		await[contract.Accepted](s, "accepted", nil)
		message := s.said("Hear me.")
		testkit.OK(t, os.WriteFile(gate, []byte("go\n"), 0o600))
		s.delivered(message)
		s.finish(contract.ExitComplete)
	})
	t.Run("leaving, gone, and nobody", func(t *testing.T) {
		t.Parallel()
		s := perform(t, spin("echo spun"), sick{"orch-1.1": "ignore-term,hang"})
		s.at("orch-1")
		s.send(contract.Kill{ID: "orch-1"})
		await[contract.Accepted](s, "accepted", nil)
		refused(s, "orch-1", `no living agent "orch-1"`)
		s.agentEnds("orch-1")
		refused(s, "orch-1", `no living agent "orch-1"`)
		refused(s, "orch-7", `no living agent "orch-7"`)
		refused(s, "human", `no living agent "human"`)
		s.offScript = true
		s.cancels()
	})
	t.Run("parked", func(t *testing.T) {
		t.Parallel()
		s := perform(t, spin(untilLetGo), sick{"arbiter.[1-5]": "die-mid-turn"})
		s.awaitNotice("The Arbiter can no longer rule: it is parked")
		refused(s, contract.Arbiter, `no living agent "arbiter"`)
		testkit.Same(t, "starts before it was parked", 5, len(s.spawns(contract.Arbiter)))
		s.oneError(bridge.CatCrash)
		s.send(contract.RetryLast{})
		s.awaitNotice("The Arbiter rules again.")
		s.letGo()
		testkit.Same(t, "crashes", 5, s.finish(contract.ExitComplete).Crashes)
		testkit.Same(t, "starts", 6, len(s.spawns(contract.Arbiter)))
	})
}

// TestCommandsAreNotTalk: pause, continue and interrupt act at once, even in mid-turn, and no agent reads them.
// Messages sent during a pause wait.
func TestCommandsAreNotTalk(t *testing.T) {
	t.Parallel()
	s := perform(t, spin("test -e up.txt || { touch up.txt; exec tail -f /dev/null; }"), nil)
	s.at("orch-1")
	awaitFile(t, filepath.Join(collect[contract.Session](s)[0].CWD, "up.txt"))
	await[contract.Decision](s, "the Arbiter's ruling", nil)
	s.send(contract.Pause{})
	s.acceptedTimes(1)
	s.send(contract.Say{Text: "Patience, all."})
	s.acceptedTimes(2)
	s.send(contract.Interrupt{ID: "orch-1"})
	s.acceptedTimes(3)
	s.interrupted("orch-1")
	message := s.said("Patience, all.")
	testkit.Check(t, !slices.Contains(collect[contract.Delivered](s), contract.Delivered{MessageID: message.MessageID}),
		"delivered under the pause")
	s.send(contract.Continue{})
	s.delivered(message)
	s.finish(contract.ExitComplete)
	for _, m := range collect[contract.Message](s) {
		testkit.Check(t, m.From != contract.Human || m.Kind == "task" || m.Text == "Patience, all.",
			"a command became a message: %+v", m)
	}
}

// TestNoHumanAtStdin: stdin may be closed, empty, or not a file at all. The run still ends as documented, and
// uses no CPU in a busy loop.
func TestNoHumanAtStdin(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, c := range []struct {
		stdin string // empty: closed
		task  bool
	}{{os.DevNull, true}, {os.DevNull, false}, {".", true}, {".", false}, {"", true}, {"", false}} {
		t.Run(fmt.Sprintf("%q, a task %t", c.stdin, c.task), func(t *testing.T) {
			t.Parallel()
			args, exit := []string{"--stand-in", "--json", "--scenario", "parallel"}, contract.ExitUsage
			if c.task {
				args, exit = append(args, "--task", "Two threads"), contract.ExitComplete
			}
			s := prepare(t, nil, args...)
			if c.stdin == "" {
				s.cmd.Args = append([]string{"sh", "-c", `exec "$0" "$@" <&-`, s.cmd.Path}, args...)
				s.cmd.Path = testkit.Must(exec.LookPath("sh"))(t)
			} else {
				stdin := testkit.Must(os.Open(c.stdin))(t)
				defer stdin.Close()
				s.cmd.Stdin = stdin
			}
			out, _ := s.cmd.Output() // its exit code is checked
			testkit.Same(t, "exit code", int(exit), s.cmd.ProcessState.ExitCode())
			testkit.Must(contractLines(string(out)))(t)
		})
	}
}
