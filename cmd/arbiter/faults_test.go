package main

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/crashpoint"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

func (s *script) oneError(want bridge.Category) {
	s.t.Helper()
	e := collect[contract.Error](s)
	testkit.Check(s.t, len(e) == 1 && e[0].Category == want && e[0].Message != "", "errors %+v, want one of %s", e, want)
}

// faultScenario is a play in which the API has a fault for each request of the Arbiter.
func faultScenario(t *testing.T, fault object) string {
	t.Helper()
	return scenarioFile(t, playOf(arbiter([]object{{"fault": fault, "repeat": "forever"}}),
		orchestrator("worker", "", []object{handsOff("done", "It is done.", []string{"the end"})})))
}

// TestCLIKilledInMidTurn kills the real process (and the stand-in's) while a tool runs: another process resumes
// the session, is notified, and completes the work.
func TestCLIKilledInMidTurn(t *testing.T) {
	path := scenarioFile(t, spin("if [ -e up.txt ]; then echo again; exit; fi; echo up > up.txt; "+
		"python3 -c 'import time; time.sleep(600)' || tail -f /dev/null"))
	eachPlayerLong(t, func(t *testing.T, p player) {
		s := p.plays(t, path, "Weave")
		await(s, "the tool", func(_ string, u contract.ToolUse) bool { return u.Tool == "Bash" })
		run := collect[contract.Session](s)[0].Session
		awaitFile(t, filepath.Join(collect[contract.Session](s)[0].CWD, "up.txt"))
		pid := agentPID(t, run, "orch-1.1")
		testkit.OK(t, syscall.Kill(pid, syscall.SIGKILL))
		testkit.Same(t, "crashes", 1, s.finish(contract.ExitComplete).Crashes)
		s.restartedOnce("orch-1")
	})
}

// awaitFile waits until a file exists whose path matches the pattern.
func awaitFile(t *testing.T, path string) { t.Helper(); awaitText(t, path, "") }

// awaitText waits for a file that contains a text; path is a pattern.
func awaitText(t *testing.T, path, text string) {
	t.Helper()
	testkit.Await(t, path+" with "+strconv.Quote(text), func() bool {
		found, _ := filepath.Glob(path)
		return slices.ContainsFunc(found, func(name string) bool {
			raw, _ := os.ReadFile(name) // it may be a directory
			return text == "" || strings.Contains(string(raw), text)
		})
	})
}

// restartedOnce checks that an agent's process was restarted exactly once, on its own session, and that this
// was reported.
func (s *script) restartedOnce(agent string) {
	s.t.Helper()
	var spawns []contract.Spawn
	restarts, reported := 0, 0
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lines {
		switch b := l.Body.(type) {
		case contract.Spawn:
			if l.ID == agent {
				spawns = append(spawns, b)
			}
		case contract.Restart:
			restarts++
		case contract.Message:
			if b.To == agent && b.Kind == "retry" {
				reported++
			}
		case contract.Error:
			s.t.Errorf("error %+v", b)
		}
	}
	testkit.Check(s.t, restarts == 1 && reported <= 1 && len(spawns) == 2 && spawns[1].Generation == 2 &&
		spawns[1].Resumed && spawns[0].SessionID == spawns[1].SessionID, "%d restarts, told %d times, spawned %+v",
		restarts, reported, spawns)
}

// agentPID finds the CLI's process among those of an agent: the leader of the process group.
func agentPID(t *testing.T, run, agent string) int {
	t.Helper()
	for _, p := range processes(func(p process) bool {
		return strings.Contains(p.environment, "ARBITER_RUN="+run) &&
			strings.Contains(p.environment, "ARBITER_AGENT="+agent) && strings.Contains(p.command, "--input-format")
	}) {
		if group, err := syscall.Getpgid(p.pid); err == nil && group == p.pid {
			return p.pid
		}
	}
	t.Fatalf("no process of %s", agent)
	return 0
}

// TestKilledBridge: another bridge replaces a killed one, ends the processes that it left, and restarts the
// agents on their sessions.
func TestKilledBridge(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, p player) {
		s := p.asksName(t)
		pid := s.bridge()
		testkit.OK(t, syscall.Kill(pid, syscall.SIGKILL))
		testkit.Same(t, "crashes", 1, s.finish(contract.ExitComplete).Crashes)
		s.restartedOnce(contract.Arbiter)
	})
}

// TestReaderGoesAway: when the reader of stdout goes away, the run ends and says so.
func TestReaderGoesAway(t *testing.T) {
	s := dialogue(t)
	run := collect[contract.Session](s)[0].Session
	s.closeOutput()
	s.send(contract.Say{Text: "call it dawn"})
	<-s.ended
	_ = s.cmd.Wait()
	testkit.Same(t, "exit code", int(contract.ExitFailed), s.cmd.ProcessState.ExitCode())
	testkit.Includes(t, "stderr", s.stderr.String(), "can no longer be written")
	awaitGone(t, run)
}

func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here")
	}
	full := testkit.Must(os.OpenFile("/dev/full", os.O_WRONLY, 0))(t)
	defer full.Close()
	s := prepare(t, nil, "--stand-in", "--json", "--scenario", "dialogue", "--task", "Name it")
	s.cmd.Stdout = full
	err := s.cmd.Run()
	testkit.Check(t, err != nil && s.cmd.ProcessState.ExitCode() == int(contract.ExitFailed), "%v", err)
	testkit.Includes(t, "stderr", s.stderr.String(), "no space left")
}

// TestOutputOfACommand: a command whose output is lost on a full disk says so and fails. One whose reader goes away
// ends without a word.
func TestOutputOfACommand(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here")
	}
	s := dialogue(t)
	s.named()
	full := testkit.Must(os.OpenFile("/dev/full", os.O_WRONLY, 0))(t)
	defer full.Close()
	unread, closed, err := os.Pipe()
	testkit.OK(t, err)
	testkit.OK(t, unread.Close())
	defer closed.Close()
	for _, args := range []string{"logs", "logs --audit", "sessions show", "version", "scenarios", "--help", "replay",
		"trust --show", "trust --show --json"} {
		var problem bytes.Buffer
		to := func(out *os.File) *os.ProcessState {
			cmd := exec.Command("arbiter", strings.Fields(args)...)
			problem.Reset()
			cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = s.cmd.Env, s.cmd.Dir, out, &problem
			_ = cmd.Run() // its state has the exit code
			return cmd.ProcessState
		}
		testkit.Same(t, args+": exit code at a full disk", int(contract.ExitEnvironment), to(full).ExitCode())
		testkit.Same(t, args+": reports of a full disk", 1, strings.Count(problem.String(), "no space left"))
		testkit.Same(t, args+" without a reader", "signal: broken pipe", to(closed).String())
		testkit.Empty(t, args+": stderr without a reader", problem.String())
	}
}

// TestOtherSessionIsNotRouted: a process that reports another session's id is ended, and arbiter
// routes none of its output.
func TestOtherSessionIsNotRouted(t *testing.T) {
	t.Parallel()
	s := perform(t, spin("echo spun"), sick{"orch-1.1": "other-session"})
	s.finishes("spun")
	// If it was ended before its session had a history, the session is not found, and a new one is begun.
	sp := s.spawns("orch-1")
	testkit.Check(t, len(sp) >= 2 && len(sp) <= 3 && len(s.reasons()) == len(sp)-1 && (len(sp) != 3 || !sp[2].Resumed),
		"spawned %+v, restarts %q", sp, s.reasons())
	s.oneError(bridge.CatProtocol)
	s.mu.Lock()
	defer s.mu.Unlock()
	first := true // incarnation
	for _, l := range s.lines {
		switch l.Body.(type) {
		case contract.Done:
			first = first && l.ID != "orch-1"
		case contract.ToolUse, contract.Assistant, contract.Handoff:
			testkit.Check(t, l.ID != "orch-1" || !first, "routed: %+v", l.Body)
		}
	}
}

// TestUsageLimit: a limit with a reset time is waited for once. At one whose reset is too far away, the run ends, says
// so, and can be resumed later. Neither is a crash.
func TestUsageLimit(t *testing.T) {
	t.Parallel()
	s := perform(t, spin("echo spun"), sick{"arbiter.1": "limit:2@1,limit:777600@2"}, "--max-wait", "4s")
	testkit.Same(t, "crashes", 0, s.finish(contract.ExitLimit).Crashes)
	list := collect[contract.Retry](s)
	testkit.Check(t, len(list) == 1 && strings.Contains(list[0].Reason, "resets at") && list[0].DelayMS <= 4000,
		"retries %+v", list)
	s.oneError(bridge.CatUsageLimit)
	testkit.Same(t, "starts", 1, len(s.spawns(contract.Arbiter)))
	s.again("--json", "--resume").finishes("spun")
}

// TestCutStream: an answer that breaks off in mid-stream looks like a finished turn (observed with CLI 2.1.329:
// its result says success). Arbiter asks again for the missing verdict, and does not treat the turn as the end
// of the work: the rules continue the task up to its limit.
func TestCutStream(t *testing.T) {
	t.Parallel()
	eachPlayerLong(t, func(t *testing.T, p player) {
		p.env = []string{"CLAUDE_CODE_MAX_RETRIES=0"}
		s := p.plays(t, faultScenario(t, object{"cut_after": 4}), "Speak", "--no-input", "--max-iterations", "1")
		s.finish(contract.ExitLimit)
		for _, e := range collect[contract.Error](s) {
			testkit.Check(t, e.Category == bridge.CatVerdict, "error %+v", e)
		}
		if d := collect[contract.Decision](s); len(d) == 0 ||
			slices.ContainsFunc(d, func(d contract.Decision) bool { return d.Source != "fallback" }) {
			t.Errorf("decisions %+v", d)
		}
	})
}

// These tests mostly wait for processes: unless -parallel is given, more of them run at once than there are
// CPUs.
func init() {
	testing.Init()
	_ = flag.Set("test.parallel", "8")
}

// talk is a play of the Arbiter alone. It asks a question after every message.
var talk = playOf(arbiter(nil, on("it is enough", complete("said")), asksHuman("And then?")))

// spin is a play of one Orchestrator, whose first step runs a command. The Arbiter has a decision for
// each fault that the tests cause.
func spin(command string) string {
	return allowing([]string{"Bash(*)"},
		arbiter(summons("Spin it."), on("COMPLETE while", releases), on("Released: ", complete("spun")),
			on("gives no sign of life", rules("RETRY", "Again.", "to", "orch-1")),
			on("was interrupted", tells("orch-1", "Go on.")), on("It is spun", complete("spun")),
			on("is gone", complete("without it")), patience),
		orchestrator("orchestrator", "", []object{bash(command)}, done("It is spun.")))
}

// scenarioFile writes a scenario.
func scenarioFile(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "play.yaml")
	testkit.OK(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// sick maps incarnations of the stand-in to faults. The keys are shell patterns: "orch-1.1", "arbiter.*". A
// value that begins with "sh:" is a shell command to run instead; in it, $standin is the stand-in's command.
type sick map[string]string

// sickClaude writes a claude of which some incarnations have faults.
func sickClaude(t *testing.T, ills sick) string {
	t.Helper()
	self := agentProgram(t)
	var b strings.Builder
	fmt.Fprintf(&b, "standin='%s stand-in'\ncase \"$ARBITER_AGENT\" in\n", self)
	for _, p := range slices.Sorted(maps.Keys(ills)) {
		if command, ok := strings.CutPrefix(ills[p], "sh:"); ok {
			fmt.Fprintf(&b, "%s) %s ;;\n", p, command)
		} else {
			fmt.Fprintf(&b, "%s) export ARBITER_STANDIN_FAULT='%s' ;;\n", p, ills[p])
		}
	}
	b.WriteString("esac\nexec $standin \"$@\"\n")
	return program(t, "claude", b.String())
}

// perform starts a rehearsal with a sick claude.
func perform(t *testing.T, scenario string, ills sick, args ...string) *script {
	t.Helper()
	own := player{name: "own", args: []string{"--rehearse", "--claude", sickClaude(t, ills)}}
	return own.plays(t, scenarioFile(t, scenario), "Weave", args...)
}

// awaitNotice waits for a notice that contains a text.
func (s *script) awaitNotice(text string) contract.Notice {
	s.t.Helper()
	return await[contract.Notice](s, "a notice of "+text, func(_ string, b contract.Notice) bool {
		return strings.Contains(b.Text, text)
	})
}

// aliveAs lists the pids of a run's processes by the incarnation they belong to.
func aliveAs(run string) map[string][]int {
	alive := map[string][]int{}
	for _, p := range processes(func(p process) bool { return strings.Contains(p.environment, "ARBITER_RUN="+run) }) {
		_, agent, _ := strings.Cut(p.environment, "ARBITER_AGENT=")
		agent, _, _ = strings.Cut(agent, "\x00")
		alive[agent] = append(alive[agent], p.pid)
	}
	return alive
}

// awaitProcess waits until /proc shows a process in a state.
func awaitProcess(t *testing.T, pid int, state string) {
	t.Helper()
	testkit.Await(t, fmt.Sprintf("process %d that is %s", pid, state), func() bool {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, rest, ok := strings.Cut(string(stat), ") ")
		return ok && strings.HasPrefix(rest, state)
	})
}

func onlyLinux(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("no /proc here")
	}
}

// reasons lists why processes were started again.
func (s *script) reasons() []string {
	return testkit.Each(collect[contract.Restart](s), func(r contract.Restart) string { return r.Reason })
}

// said waits for a message with this text.
func (s *script) said(text string) contract.Message {
	s.t.Helper()
	return await(s, "the message "+text, func(_ string, b contract.Message) bool { return b.Text == text })
}

// delivered waits until a message was delivered.
func (s *script) delivered(m contract.Message) {
	s.t.Helper()
	await(s, "the delivery of "+m.Text, func(_ string, b contract.Delivered) bool { return b.MessageID == m.MessageID })
}

// acceptedTimes waits until so many commands were accepted.
func (s *script) acceptedTimes(n int) {
	s.t.Helper()
	seen := 0
	await(s, fmt.Sprint(n, " answers"), func(string, contract.Accepted) bool { seen++; return seen >= n })
}

// interrupted waits for the end of a turn that was interrupted.
func (s *script) interrupted(agent string) {
	s.t.Helper()
	await(s, "the end of the turn", func(id string, b contract.Turn) bool {
		return id == agent && b.Outcome == bridge.TurnInterrupted
	})
}

// agentEnds waits until an agent has ended.
func (s *script) agentEnds(agent string) {
	s.t.Helper()
	await(s, "the end of "+agent, func(id string, _ contract.Done) bool { return id == agent })
}

// mustSignal sends a signal to arbiter.
func (s *script) mustSignal(sig syscall.Signal) {
	s.t.Helper()
	testkit.OK(s.t, s.cmd.Process.Signal(sig))
}

// finishesAtLimit waits until the human is asked about a cost limit, and ends the run there.
func (s *script) finishesAtLimit() {
	s.t.Helper()
	await(s, "the question about a limit", func(_ string, b contract.Question) bool {
		return b.Question == supervisor.LimitQuestion && slices.Contains(b.Options, "finish")
	})
	s.send(contract.Choose{Option: "finish"})
}

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
