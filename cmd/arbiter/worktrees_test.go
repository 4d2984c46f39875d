package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// fourHands is a play in which four Orchestrators work at the same time; two of them change the same line.
const fourHands = `
name: four-hands
title: Four at one cloth
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use:
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Weave part one}}
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Weave part two}}
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Weave part three}}
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Weave part four}}
      - verdict: {decision: CONTINUE, message: Weave., reason: All are summoned.}
      - expect: "(?s)part .* is woven.*The work is merged"
        verdict: &patience {decision: CONTINUE, message: Patience., reason: Others are at work.}
      - {expect: "(?s)part .* is woven.*The work is merged", verdict: *patience}
      - {expect: "(?s)part .* is woven.*The work is merged", verdict: *patience}
      - expect: "(?s)part .* is woven.*The work is merged"
        use: [{tool: Read, input: {file_path: "{{.cwd}}/shared.txt"}}]
      - expect: "(?s)one.*two|two.*one"
        verdict: {decision: COMPLETE, message: It is done., summary: The cloth is woven., reason: All are done.}
    otherwise:
      verdict: *patience
  - name: one
    match: {role: orchestrator, contains: Weave part one}
    steps:
      - use:
          - tool: Bash
            input: {command: "touch MEET/one; until test -e MEET/two; do sleep 0.1; done", description: Wait}
      - use: [{tool: Read, input: {file_path: "{{.cwd}}/shared.txt"}}]
      - use: [{tool: Edit, input: {file_path: "{{.cwd}}/shared.txt", old_string: first, new_string: "first\none"}}]
      - use: [{tool: Bash, input: {command: "git commit -qam one; touch MEET/written", description: Commit}}]
      - &done
        verdict: &woven
          expects_response: true
          kind: done
          message: A part of the cloth is woven.
          handoff:
            accomplished: [a part]
            remaining: []
            key_context: In the files.
            checks: [{command: grep -q last shared.txt, expect: exit 0}]
    otherwise: &otherwise
      - expect: "git merge (?P<commit>[0-9a-f]{40})"
        use:
          - tool: Bash
            input:
              command: "git merge -q {{.commit}}; printf 'first\\none\\ntwo\\nlast\\n' > shared.txt; git add -A; git commit -qm both"
              description: Merge
      - verdict: *woven
  - name: two
    match: {role: orchestrator, contains: Weave part two}
    steps:
      - use:
          - tool: Bash
            input: {command: "touch MEET/two; until test -e MEET/written; do sleep 0.1; done", description: Wait}
      - use: [{tool: Read, input: {file_path: "{{.cwd}}/shared.txt"}}]
      - use: [{tool: Edit, input: {file_path: "{{.cwd}}/shared.txt", old_string: first, new_string: "first\ntwo"}}]
      - use: [{tool: Bash, input: {command: "git commit -qam two", description: Commit}}]
      - *done
    otherwise: *otherwise
  - name: three
    match: {role: orchestrator, contains: Weave part three}
    steps:
      - use: [{tool: Write, input: {file_path: "{{.cwd}}/three.txt", content: "three\n"}}]
      - *done
    otherwise: *otherwise
  - name: four
    match: {role: orchestrator, contains: Weave part four}
    steps:
      - use: [{tool: Bash, input: {command: "mkdir dir && mv old.txt dir/four.txt", description: Weave}}]
      - *done
    otherwise: *otherwise
`

// TestIsolatedOrchestrators: four Orchestrators work in worktrees or clones; two of them change the same line.
// All of their work ends on the run branch, a conflict goes back to its author, and checks run where the work
// was done and on the merged files. The user's files, branch and index stay unchanged until the run is landed.
func TestIsolatedOrchestrators(t *testing.T) {
	t.Parallel()
	for _, p := range players(t) {
		for _, isolation := range []string{"worktree", "clone"} {
			t.Run(p.name+" "+isolation, func(t *testing.T) {
				if (isolation == "clone") == p.real { // worktrees with the real CLI, and clones, are enough
					testkit.Long(t)
				}
				t.Parallel()
				repo := gittest.New(t, map[string]string{"old.txt": "old\n", "shared.txt": "first\nlast\n"})
				private, files := repo.Private(), repo.Files()
				// Git has no user name here for commits.
				play := strings.ReplaceAll(fourHands, "MEET", t.TempDir()) // where the two wait for each other
				s, model := hiredIn(t, p, play, repo.Path, "--isolation", isolation,
					"--allow", "Bash", "--allow", "Write", "--allow", "Edit",
					"--accept", "test -f three.txt && test -f dir/four.txt",
					"--task", "Weave")
				result := s.completes()
				onScript(t, model)
				branch := "arbiter/" + result.Session[:8] + "/main"
				c := result.Changes
				if c == nil || c.Branch != branch || c.Head != repo.Git("rev-parse", branch) || c.Files != 3 {
					t.Fatalf("the result's changes are %+v", c)
				}
				testkit.Same(t, "shared.txt is", "first\none\ntwo\nlast", repo.Git("show", branch+":shared.txt"))
				names := repo.Git("ls-tree", "-r", "--name-only", branch)
				testkit.Same(t, "the run branch has", "dir/four.txt\nshared.txt\nthree.txt", names)
				own := map[string]bool{}
				for _, w := range collect[contract.Workspace](s) {
					if w.Isolation != isolation || w.Dir == repo.Path || own[w.Dir] || !strings.HasPrefix(w.Branch, "arbiter/") {
						t.Errorf("an agent works in %+v", w)
					}
					own[w.Dir] = true
				}
				merged, conflicts := []string{}, []contract.Merge{}
				s.see("the run's end", func(l contract.Line) bool {
					if m, ok := l.Body.(contract.Merge); ok && m.Status == "merged" {
						merged = append(merged, l.ID)
					} else if ok {
						conflicts = append(conflicts, m)
					}
					_, ended := l.Body.(contract.Result)
					return ended
				})
				slices.Sort(merged)
				if !slices.Equal(merged, []string{"orch-1", "orch-2", "orch-3", "orch-4"}) || len(own) != 4 {
					t.Errorf("merged %v, directories %v", merged, own)
				}
				if len(conflicts) != 1 || !slices.Equal(conflicts[0].Files, []string{"shared.txt"}) {
					t.Errorf("conflicts %+v", conflicts)
				}
				if checks := collect[contract.Check](s); len(checks) < 9+1 { // 2 each, 1 conflict, 1 at the end
					t.Errorf("%d checks: %+v", len(checks), checks)
				}
				if len(collect[contract.Overlap](s)) == 0 {
					t.Error("no overlap was reported")
				}
				for _, w := range collect[contract.Workspace](s) {
					if list := repo.Git("worktree", "list", "--porcelain"); strings.Contains(list, w.Dir) {
						t.Errorf("the worktree is left: %s", list)
					}
				}
				if after := repo.Files(); after["shared.txt"] != files["shared.txt"] || len(after) != len(files) {
					t.Errorf("the user's files are %v", after)
				}
				for name, was := range private {
					if now := repo.Private()[name]; now != was {
						t.Errorf("%s was %q and is %q", name, was, now)
					}
				}
			})
		}
	}
}

// TestTheSameWorkInOneDirectory: the same work without isolation. Nothing is merged, and the run reports that
// two agents changed one file.
func TestTheSameWorkInOneDirectory(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	eachPlayerLong(t, func(t *testing.T, p player) {
		repo := gittest.New(t, map[string]string{"old.txt": "old\n", "shared.txt": "first\nlast\n"})
		play := strings.ReplaceAll(fourHands, "MEET", t.TempDir())
		play = strings.ReplaceAll(play, "is woven.*The work is merged", "is woven")
		s, model := hiredIn(t, p, play, repo.Path, "--allow", "Bash", "--allow", "Write", "--allow", "Edit",
			"--accept", "test -f three.txt && test -f dir/four.txt", "--task", "Weave")
		result := s.completes()
		onScript(t, model)
		if c := result.Changes; c == nil || c.Branch != "" || c.Files != 3 {
			t.Errorf("the result's changes are %+v", c)
		}
		same := func(o contract.Overlap) bool {
			return o.Path == "shared.txt" && slices.Equal(o.Agents, []string{"orch-1", "orch-2"})
		}
		if !slices.ContainsFunc(collect[contract.Overlap](s), same) {
			t.Errorf("overlaps %+v", collect[contract.Overlap](s))
		}
		if merges := collect[contract.Merge](s); len(merges) > 0 {
			t.Errorf("merged %+v", merges)
		}
	})
}

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
			out := s.besideIn(repo.Path, "", "doctor", "--json").out
			if !strings.Contains(out, "sessions rm "+run) {
				t.Errorf("doctor says %s", out)
			}
			testkit.Must(os.Stat(filepath.Join(w.Dir, "half.txt")))(t)
			if c := s.besideIn(repo.Path, "", "sessions", "rm", run); c.code != contract.ExitComplete ||
				!strings.Contains(c.out+c.errs, "uncommitted work of orch-1 is saved in refs/arbiter/"+run+"/orch-1/wip") {
				t.Errorf("sessions rm: %+v", c)
			}
			testkit.Same(t, "saved", "half", repo.Git("show", "refs/arbiter/"+run+"/orch-1/wip:half.txt"))
			testkit.Same(t, "its branch is at", "begun", repo.Git("log", "-1", "--format=%s", w.Branch))
			if _, err := os.Stat(w.Dir); !os.IsNotExist(err) || strings.Contains(repo.Git("worktree", "list"), w.Dir) {
				t.Errorf("the worktree is left: %v, %s", err, repo.Git("worktree", "list"))
			}
			if out := s.besideIn(repo.Path, "", "sessions", "--json").out; strings.TrimSpace(out) != "[]" {
				t.Errorf("the run is left: %s", out)
			}
		})
	}
}

// confined is a play in which a sandboxed Orchestrator commits in its clone, and tries to write elsewhere.
const confined = `
name: confined
title: A hand behind glass
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Weave}}]
      - verdict: {decision: CONTINUE, message: Weave., reason: It is summoned.}
      - expect: "(?s)is woven.*The work is merged"
        verdict: {decision: COMPLETE, message: It is done., summary: It is woven., reason: It was said.}
    otherwise:
      verdict: {decision: CONTINUE, message: Patience., reason: It is at work.}
  - name: weaver
    match: {role: orchestrator}
    steps:
      - use: [{tool: Bash, input: {command: "echo in > in.txt && git add in.txt && git commit -qm in", description: Commit}}]
      - use: [{tool: Bash, input: {command: "git -C REPO commit -q --allow-empty -m out && touch escaped-1; true", description: Try}}]
      - use: [{tool: Bash, input: {command: "touch REPO/x REPO/.git/x REPO/.git/objects/x; true", description: Try}}]
      - use: [{tool: Bash, input: {command: "touch ../arbiter/x && touch escaped-3; true", description: Try}}]
    otherwise:
      verdict:
        expects_response: true
        kind: done
        message: It is woven.
        handoff: {accomplished: [it], remaining: [], key_context: In in.txt., checks: [{command: "cat in.txt", expect: in}]}
`

// TestSandboxedOrchestratorCommitsInItsClone: it can commit in its clone, and write nowhere else.
func TestSandboxedOrchestratorCommitsInItsClone(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	needSandbox(t)
	eachPlayerLong(t, func(t *testing.T, p player) {
		repo := gittest.New(t, map[string]string{"old.txt": "old\n"})
		private, files := repo.Private(), repo.Files()
		s, _ := hiredIn(t, p, strings.ReplaceAll(confined, "REPO", repo.Path), repo.Path,
			"--isolation", "worktree", "--sandbox", "on", "--permissions", "allow-all", "--i-accept-the-risk", "--task",
			"Weave")
		result := s.completes()
		w := collect[contract.Workspace](s)
		if len(w) != 1 || w[0].Isolation != "clone" {
			t.Fatalf("it works in %+v", w)
		}
		if names := repo.Git("ls-tree", "--name-only", result.Changes.Branch); names != "in.txt\nold.txt" {
			t.Errorf("the run branch has %q", names)
		}
		if now := repo.Files(); len(now) != len(files) {
			t.Errorf("the user's files are %v", now)
		}
		for name, was := range private {
			if now := repo.Private()[name]; now != was {
				t.Errorf("%s was %q and is %q", name, was, now)
			}
		}
	})
}
