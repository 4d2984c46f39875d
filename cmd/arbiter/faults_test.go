package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

func (s *script) oneError(want bridge.Category) {
	s.t.Helper()
	if e := collect[contract.Error](s); len(e) != 1 || e[0].Category != want || e[0].Message == "" {
		s.t.Errorf("errors %+v, want one of %s", e, want)
	}
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
	for _, args := range []string{"logs", "logs --audit", "sessions show", "version", "scenarios", "--help", "replay"} {
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
var talk = talking(nil)

func talking(steps []object) string {
	return playOf(arbiter(steps, on("it is enough", complete("said")), asksHuman("And then?")))
}

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
	fmt.Fprintf(&b, "#!/bin/sh\nstandin='%s stand-in'\ncase \"$ARBITER_AGENT\" in\n", self)
	patterns := make([]string, 0, len(ills))
	for p := range ills {
		patterns = append(patterns, p)
	}
	slices.Sort(patterns)
	for _, p := range patterns {
		if command, ok := strings.CutPrefix(ills[p], "sh:"); ok {
			fmt.Fprintf(&b, "%s) %s ;;\n", p, command)
		} else {
			fmt.Fprintf(&b, "%s) export ARBITER_STANDIN_FAULT='%s' ;;\n", p, ills[p])
		}
	}
	b.WriteString("esac\nexec $standin \"$@\"\n")
	path := filepath.Join(t.TempDir(), "claude")
	testkit.OK(t, os.WriteFile(path, []byte(b.String()), 0o700))
	return path
}

// withClaude is a player with a claude of the test.
func withClaude(claude string) player {
	return player{name: "own", args: []string{"--rehearse", "--claude", claude}}
}

// perform starts a rehearsal with a sick claude.
func perform(t *testing.T, scenario string, ills sick, args ...string) *script {
	t.Helper()
	return withClaude(sickClaude(t, ills)).plays(t, scenarioFile(t, scenario), "Weave", args...)
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
	var list []string
	for _, r := range collect[contract.Restart](s) {
		list = append(list, r.Reason)
	}
	return list
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
