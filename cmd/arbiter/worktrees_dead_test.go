package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// cutShort is a play in which an Orchestrator is at work when arbiter is killed.
const cutShort = `
name: cut-short
title: A thread is cut
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Weave}}]
    otherwise:
      verdict: {decision: CONTINUE, message: Patience., reason: It is at work.}
  - name: weaver
    match: {role: orchestrator}
    steps:
      - use: [{tool: Bash, input: {command: "git commit -q --allow-empty -m begun; echo half > half.txt", description: Begin}}]
      - use: [{tool: Bash, input: {command: "sleep 600", description: Wait}}]
`

// TestWorktreesOfADeadRun: doctor finds the worktrees of a killed run, and removing the run first saves the
// work in them. Another run that starts leaves them alone.
func TestWorktreesOfADeadRun(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, isolation := range []string{"worktree", "clone"} {
		t.Run(isolation, func(t *testing.T) {
			t.Parallel()
			repo := gittest.New(t, map[string]string{"old.txt": "old\n"})
			p := players(t)[0]
			s, _ := hiredIn(t, p, cutShort, repo.Path, "--isolation", isolation, "--allow", "Bash", "--task", "Weave")
			w := await[contract.Workspace](s, "the worktree", nil)
			s.see("the second tool", func(l contract.Line) bool {
				use, ok := l.Body.(contract.ToolUse)
				return ok && strings.Contains(string(use.Input), "sleep 600")
			})
			s.mustSignal(syscall.SIGKILL)
			<-s.ended
			_ = s.cmd.Wait()
			run := strings.Split(w.Branch, "/")[1]
			command := func(args ...string) (string, error) {
				cmd := exec.Command("arbiter", args...)
				cmd.Env, cmd.Dir = s.cmd.Env, repo.Path
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			out, _ := command("doctor", "--json")
			if !strings.Contains(out, "sessions rm "+run) {
				t.Errorf("doctor says %s", out)
			}
			if _, err := os.Stat(filepath.Join(w.Dir, "half.txt")); err != nil {
				t.Fatal(err)
			}
			out, err := command("sessions", "rm", run)
			if err != nil || !strings.Contains(out, "uncommitted work of orch-1 is saved in refs/arbiter/"+run+"/orch-1/wip") {
				t.Errorf("sessions rm: %v, %s", err, out)
			}
			if text := repo.Git("show", "refs/arbiter/"+run+"/orch-1/wip:half.txt"); text != "half" {
				t.Errorf("saved %q", text)
			}
			if log := repo.Git("log", "-1", "--format=%s", w.Branch); log != "begun" {
				t.Errorf("its branch is at %q", log)
			}
			if _, err := os.Stat(w.Dir); !os.IsNotExist(err) || strings.Contains(repo.Git("worktree", "list"), w.Dir) {
				t.Errorf("the worktree is left: %v, %s", err, repo.Git("worktree", "list"))
			}
			out, _ = command("sessions", "--json")
			var list []json.RawMessage
			if json.Unmarshal([]byte(out), &list) == nil && len(list) != 0 {
				t.Errorf("the run is left: %s", out)
			}
		})
	}
}
