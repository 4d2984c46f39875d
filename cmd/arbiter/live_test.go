package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// runs runs a command and checks its exit code, and that its output contains a text.
func (s *script) runs(code contract.Exit, want string, args ...string) commandRun {
	s.t.Helper()
	b := s.beside(args...)
	if b.code != code || !strings.Contains(b.out+b.errs, want) {
		s.t.Errorf("arbiter %q: exit code %d, want %d and %q:\n%s%s", args, b.code, code, want, b.out, b.errs)
	}
	return b
}

// besideJSON runs a command that prints a JSON value, and decodes it.
func besideJSON[T any](s *script, args ...string) (v T) {
	s.t.Helper()
	b := s.runs(contract.ExitComplete, "", append(slices.Clone(args), "--json")...)
	if err := json.Unmarshal([]byte(b.out), &v); err != nil {
		s.t.Fatalf("arbiter %q: %v: %s%s", args, err, b.out, b.errs)
	}
	return v
}

// waitingPlay is a play with each kind of request to a human: two Orchestrators ask for permission at the same
// time, then one asks for more, and at last the Arbiter asks a question.
const waitingPlay = `name: answering
title: Answers from a second terminal
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Weave the warp.}}]
      - use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Weave the weft.}}]
      - {verdict: {decision: CONTINUE, message: Patience., reason: r}}
    otherwise:
      - {expect: the red one, verdict: {decision: COMPLETE, message: Red it is., summary: woven in red, reason: r}}
      - {expect: The warp is woven, verdict: {decision: ADDRESS_HUMAN, message: Which <colour> & why?, reason: r}}
      - {verdict: {decision: CONTINUE, message: Patience., reason: r}}
  - name: warp
    match: {role: orchestrator, contains: Weave the warp}
    steps:
      - use: [{tool: Bash, input: {command: touch warp, description: Warp}}]
      - use: [{tool: Bash, input: {command: touch one, description: One}}]
      - use: [{tool: Bash, input: {command: touch two, description: Two}}]
      - use: [{tool: Bash, input: {command: touch three, description: Three}}]
      - use: [{tool: Bash, input: {command: mkdir four, description: Four}}]
      - use: [{tool: Bash, input: {command: rm one, description: Remove}}]
      - {expect: Leave it there, use: [{tool: Bash, input: {command: rm one, description: Remove}}]}
      - expect: Denied
        verdict:
          expects_response: true
          kind: done
          message: The warp is woven.
          handoff: {accomplished: [woven], remaining: [], key_context: none}
  - name: weft
    match: {role: orchestrator}
    steps:
      - use: [{tool: Bash, input: {command: touch weft, description: Weft}}]
      - verdict:
          expects_response: true
          kind: done
          message: The weft is woven.
          handoff: {accomplished: [woven], remaining: [], key_context: none}
`

// waitingRun is a run whose two Orchestrators wait for permission. Its working directory is the workspace.
func waitingRun(t *testing.T, p player, args ...string) (*script, *rehearsal.Server) {
	t.Helper()
	onlyLinux(t)
	work := t.TempDir()
	s, model := hiredIn(t, p, waitingPlay, work, append([]string{"--task", "Weave <it>"}, args...)...)
	s.cmd.Dir = work
	asked := map[string]bool{}
	s.see("two requests", func(l contract.Line) bool {
		if _, ok := l.Body.(contract.PermissionRequest); ok {
			asked[l.ID] = true
		}
		return len(asked) == 2
	})
	return s, model
}

// TestPsAndStatus: ps lists live runs, and status shows what waits for the human, with the command that answers
// it.
func TestPsAndStatus(t *testing.T) {
	t.Parallel()
	s, _ := waitingRun(t, players(t)[0])
	run := collect[contract.Session](s)[0].Session
	list := besideJSON[[]subcommands.LiveReport](s, "ps")
	one := besideJSON[subcommands.LiveReport](s, "status", run[:6])
	for i, r := range append(list, one) {
		if r.Run != run || r.PID != s.cmd.Process.Pid || r.Title != "Weave <it>" || r.Phase != "executing" ||
			r.Paused || r.Seq == 0 || len(r.Agents) != 3 || r.Agents[1].Status != "busy" || len(r.Inbox) != 2 ||
			r.Problem != "" || r.Began.IsZero() || !command.SameDir(r.CWD, s.cmd.Dir) {
			t.Errorf("%d: %+v", i, r)
		}
		for _, w := range r.Inbox {
			if w.Kind != supervisor.InboxPermission || w.Request == nil || w.Request.Tool != "Bash" || w.Since.IsZero() {
				t.Errorf("it waits: %+v", w)
			}
		}
	}
	if len(list) != 1 {
		t.Errorf("%d runs", len(list))
	}
	s.runs(contract.ExitComplete, run[:8], "ps")
	text := s.runs(contract.ExitComplete, "touch weft", "status").out
	for _, want := range []string{run, "Weave <it>", "orch-2", "Answer with: arbiter allow " + run[:8] + " perm-"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	s.send(contract.Cancel{})
	s.finish(contract.ExitFailed)
	s.runs(contract.ExitComplete, "No run is live.", "ps")
	if got := s.beside("ps", "--json"); got.out != "[]\n" {
		t.Errorf("ps --json prints %s", got.out)
	}
	s.runs(contract.ExitUsage, "no run is live in", "status")
	next := "arbiter --resume --session " + command.ShortID(run) + " continues it"
	s.runs(contract.ExitUsage, "is not live (cancelled); "+next, "status", run)
	s.runs(contract.ExitUsage, "there is no run", "status", "zz")
	s.runs(contract.ExitUsage, "takes no argument", "ps", "x")
	s.runs(contract.ExitUsage, "at most one RUN", "status", "a", "b")
}

// TestOfASilentRun: a run that does not answer is listed, and marked as not answering.
func TestOfASilentRun(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := atWork(t, players(t)[0])
	b.mustSignal(syscall.SIGSTOP)
	awaitProcess(t, b.cmd.Process.Pid, "T")
	if list := besideJSON[[]subcommands.LiveReport](b.script, "ps"); len(list) != 1 ||
		list[0].Problem != "does not answer" ||
		list[0].Run != b.run {
		t.Errorf("%+v", list)
	}
	b.runs(contract.ExitComplete, "does not answer", "ps")
	b.runs(contract.ExitEnvironment, "does not answer", "status")
	b.mustSignal(syscall.SIGCONT)
	testkit.OK(t, os.WriteFile(filepath.Join(b.work, "go"), nil, 0o600))
	b.finish(contract.ExitComplete)
}
