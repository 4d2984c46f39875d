package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// These tests mostly wait for processes: unless -parallel is given, more of them run at once than there are
// CPUs.
func init() {
	testing.Init()
	_ = flag.Set("test.parallel", "8")
}

// thread is a play of one Orchestrator, whose first step runs a command. The Arbiter has a decision for each
// fault that the tests cause.
const thread = `name: thread
title: A thread that is cut
allow: ["Bash(*)"]
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Spin it.}}]
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
    otherwise:
      - expect: COMPLETE while
        use: [{tool: mcp__arbiter__release_orchestrator, input: {id: all, reason: enough}}]
      - {expect: "Released: ", verdict: &done {decision: COMPLETE, message: It is done., summary: spun, reason: r}}
      - {expect: gives no sign of life, verdict: {decision: RETRY, to: orch-1, message: Again., reason: r}}
      - {expect: was interrupted, verdict: {decision: ADDRESS_ORCHESTRATOR, to: orch-1, message: Go on., reason: r}}
      - {expect: It is spun, verdict: *done}
      - {expect: is gone, verdict: {decision: COMPLETE, message: It is done., summary: without it, reason: r}}
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
  - name: orchestrator
    match: {role: orchestrator}
    steps:
      - use: [{tool: Bash, input: {command: COMMAND, description: Spin}}]
    otherwise:
      verdict:
        expects_response: true
        kind: done
        message: It is spun.
        handoff: {accomplished: [spun], remaining: [], key_context: none, decisions: [], constraints: [], files: [], checks: [], open_questions: [], claims: []}
`

// talk is a play of the Arbiter alone. It asks a question after every message.
const talk = `name: talk
title: Talk
actors:
  - name: arbiter
    match: {role: arbiter}
    otherwise:
      - {expect: it is enough, verdict: {decision: COMPLETE, message: It is done., summary: said, reason: r}}
      - verdict: {decision: ADDRESS_HUMAN, message: "And then?", reason: r}
`

// spin is thread with a command.
func spin(command string) string {
	return strings.Replace(thread, "COMMAND", fmt.Sprintf("%q", command), 1)
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

// perform starts a rehearsal with a sick claude.
func perform(t *testing.T, scenario string, ills sick, args ...string) *script {
	t.Helper()
	return start(t, nil,
		append([]string{"--rehearse", "--claude", sickClaude(t, ills), "--json", "--scenario",
			scenarioFile(t, scenario), "--task", "Weave"}, args...)...)
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
	for pid := range survivors(run) {
		env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		_, agent, _ := strings.Cut(string(env), "ARBITER_AGENT=")
		agent, _, _ = strings.Cut(agent, "\x00")
		alive[agent] = append(alive[agent], pid)
	}
	return alive
}

// awaitProcess waits until /proc shows a process in a state.
func awaitProcess(t *testing.T, pid int, state string) {
	t.Helper()
	until(t, fmt.Sprintf("process %d that is %s", pid, state), func() bool {
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

// mustSignal sends a signal to arbiter.
func (s *script) mustSignal(sig syscall.Signal) {
	s.t.Helper()
	testkit.OK(s.t, s.cmd.Process.Signal(sig))
}

const emptyDocument = `{accomplished: [begun], remaining: [the end], key_context: k, decisions: [], constraints: [], files: [], checks: [], open_questions: [], claims: []}`

// finishesAtLimit waits until the human is asked about a cost limit, and ends the run there.
func (s *script) finishesAtLimit() {
	s.t.Helper()
	await(s, "the question about a limit", func(_ string, b contract.Question) bool {
		return b.Question == supervisor.LimitQuestion && slices.Contains(b.Options, "finish")
	})
	s.send(contract.Choose{Option: "finish"})
}
