package main

import (
	"slices"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// sharedFile is a play in which two Orchestrators work in one directory, and both edit one file.
const sharedFile = `
name: shared-file
title: Two at one cloth
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use:
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Weave the warp}}
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Weave the weft}}
      - verdict: {decision: CONTINUE, message: Weave., reason: Both are summoned.}
      - expect: is woven
        verdict: {decision: CONTINUE, message: Patience., reason: The other is at work.}
      - expect: is woven
        verdict: {decision: COMPLETE, message: It is done., summary: The cloth is woven., reason: Both are done.}
    otherwise:
      verdict: {decision: CONTINUE, message: Patience., reason: The thread continues.}
  - name: warp
    match: {role: orchestrator, contains: Weave the warp}
    steps:
      - use: [{tool: Write, input: {file_path: "{{.cwd}}/cloth.txt", content: "warp\n"}}]
    otherwise:
      verdict: &woven
        expects_response: true
        kind: done
        message: The cloth is woven.
        handoff: {accomplished: [the cloth], remaining: [], key_context: In cloth.txt.}
  - name: weft
    match: {role: orchestrator, contains: Weave the weft}
    steps:
      - use: [{tool: Bash, input: {command: "until grep -q warp cloth.txt; do sleep 0.1; done; rm old.txt", description: Wait}}]
      - use: [{tool: Read, input: {file_path: "{{.cwd}}/cloth.txt"}}]
      - use: [{tool: Edit, input: {file_path: "{{.cwd}}/cloth.txt", old_string: warp, new_string: "warp\nweft"}}]
    otherwise:
      verdict: *woven
`

// TestARunRecordsItsChanges: a run records which agent changed which files, where two agents changed the same
// one, and the total, which `diff` shows and `undo` reverts. The user's index, branch and stash stay unchanged.
func TestARunRecordsItsChanges(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	eachPlayerLong(t, func(t *testing.T, p player) { // TestIsolatedOrchestrators records changes too
		repo := gittest.New(t, map[string]string{"old.txt": "old\n", "mine.txt": "mine\n"})
		repo.Write("mine.txt", "mine, changed before the run\n")
		private := repo.Private()
		s, _ := hiredIn(t, p, sharedFile, repo.Path, "--allow", "Bash", "--allow", "Write", "--allow", "Edit",
			"--task", "Weave")
		result := s.completes()
		if c := result.Changes; c == nil || c.Files != 2 || c.Added != 2 || c.Deleted != 1 || c.Head == "" {
			t.Errorf("the result's changes are %+v", c)
		}
		for _, w := range collect[contract.Workspace](s) {
			if w.Dir != repo.Path || w.Isolation != "shared" ||
				w.Base != repo.Git("rev-parse", "refs/arbiter/"+result.Session[:8]+"/base") {
				t.Errorf("an agent works in %+v", w)
			}
		}
		files := map[string][]string{} // the agents of each file, from the last event
		for _, e := range collect[contract.Changes](s) {
			for _, f := range e.Files {
				files[f.Path] = f.Agents
			}
		}
		if !slices.Equal(files["cloth.txt"], []string{"orch-1", "orch-2"}) || files["old.txt"] == nil ||
			files["mine.txt"] != nil {
			t.Errorf("changes are %v", files)
		}
		want := []contract.Overlap{{Path: "cloth.txt", Agents: []string{"orch-1", "orch-2"}}}
		testkit.Same(t, "overlaps", want, collect[contract.Overlap](s))
		if diff := cmp.Diff(private, repo.Private()); diff != "" {
			t.Errorf("the user's own part of the repository, -before +after:\n%s", diff)
		}
	})
}

// halfDone is a play in which the first COMPLETE comes too early.
const halfDone = `
name: half-done
title: Too early
actors:
  - name: arbiter
    match: {role: arbiter}
    otherwise:
      - expect: COMPLETE did not take effect
        verdict: {decision: SELECT_MODE, mode: developer, message: Weave the weft., reason: It is missing.}
      - expect: is woven
        verdict: {decision: COMPLETE, message: It is done., summary: The cloth is woven., reason: It was said.}
      - expect: (?is)acceptance criteria.*grep -q weft weft.txt
        verdict: {decision: SELECT_MODE, mode: developer, message: Weave the warp., reason: It is first.}
      - verdict: {decision: CONTINUE, message: Patience., reason: The thread continues.}
  - name: warp
    match: {role: orchestrator, contains: Weave the warp}
    steps:
      - use: [{tool: Write, input: {file_path: "{{.cwd}}/warp.txt", content: "warp\n"}}]
    otherwise:
      verdict: &woven
        expects_response: true
        kind: done
        message: The cloth is woven.
        handoff: {accomplished: [the cloth], remaining: [], key_context: In cloth.txt.}
  - name: weft
    match: {role: orchestrator, contains: Weave the weft}
    steps:
      - use: [{tool: Write, input: {file_path: "{{.cwd}}/weft.txt", content: "weft\n"}}]
    otherwise:
      verdict: *woven
`

// TestACriterionRejectsComplete: a task is not complete before the criterion's command passes on the delivered files.
// Arbiter runs the human's own command without a permission request.
func TestACriterionRejectsComplete(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	eachPlayerLong(t, func(t *testing.T, p player) {
		repo := gittest.New(t, map[string]string{"old.txt": "old\n"})
		s, _ := hiredIn(t, p, halfDone, repo.Path, "--no-input", "--allow", "Write", "--accept",
			"grep -q weft weft.txt", "--task", "Weave")
		result := s.completes()
		var judged []string
		for _, a := range collect[contract.Acceptance](s) {
			judged = append(judged, a.Status)
		}
		if !slices.Equal(judged, []string{"failed", "passed"}) || len(result.Acceptance) != 1 {
			t.Fatalf("judged %v, result %+v", judged, result.Acceptance)
		}
		a := result.Acceptance[0]
		if a.Command != "grep -q weft weft.txt" || a.By != "human" || a.Status != "passed" || a.SHA256 == "" ||
			a.Tree != repo.Git("rev-parse", result.Changes.Head+"^{tree}") {
			t.Errorf("the result's criterion is %+v, the changes %+v", a, result.Changes)
		}
	})
}
