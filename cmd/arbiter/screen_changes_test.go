package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// changesPlay has an Orchestrator change a file.
const changesPlay = `name: changes
allow: [Write, Read]
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Spin it.}}]
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
    otherwise:
      - verdict: {decision: ADDRESS_HUMAN, message: Is it well?, reason: r}
  - name: spinner
    match: {role: orchestrator}
    steps:
      - use: [{tool: Read, input: {file_path: "{{.cwd}}/thread.txt"}}]
      - use: [{tool: Write, input: {file_path: "{{.cwd}}/thread.txt", content: "red\nblue\n"}}]
      - verdict: {kind: question, expects_response: true, message: It is spun.}
`

// committed makes the workspace a Git repository with a file in one commit.
func (h *modelHome) committed(name, text string) {
	h.t.Helper()
	h.touch("other.txt")
	testkit.OK(h.t, os.WriteFile(filepath.Join(h.work, name), []byte(text), 0o600))
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"},
		{"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = h.work, h.env
		if out, err := cmd.CombinedOutput(); err != nil {
			h.t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
}

// TestScreenShowsChanges: F5 lists the files that an Orchestrator has changed, with its name, Enter shows both
// versions, e opens the file in the editor at the change, and x reverts it.
func TestScreenShowsChanges(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, who player) {
		h := build(t, who, changesPlay)
		h.committed("thread.txt", "red\ngreen\n")
		given := filepath.Join(t.TempDir(), "given")
		vi := filepath.Join(t.TempDir(), "vi")
		seen := filepath.Join(t.TempDir(), "seen")
		testkit.OK(t, os.WriteFile(vi, []byte("#!/bin/sh\necho \"$@\" >"+given+"\necho an editor\n"+
			"until [ -e "+seen+" ]; do sleep 0.02; done\n"), 0o700))
		h.env = append(h.env, "EDITOR="+vi)
		p := h.openSlowly(h.args...)
		p.await("Is it well?")
		p.press("F5")
		p.await("CHANGES", "1 file ", "thread.txt", "orch-1", "+1 -1")
		p.press("Enter")
		p.await("1 of 1", "@@ -1,2 +1,2 @@", "- green", "+ blue") // the list's preview has no number of places
		p.press("e")
		p.await("an editor") // a key that is pressed before the screen is back is the editor's
		testkit.OK(t, os.WriteFile(seen, nil, 0o600))
		p.await("1 of 1", "+ blue")
		p.press("x")
		p.await("Revert?", "-1,2 +1,2 of thread.txt")
		p.press("y")
		p.await("reverted a part of thread.txt", "is as it was when the run began")
		p.press("Esc")
		p.await("CHANGES", "No file has changed")
		p.press("Esc")
		p.await("Is it well?")
		p.press("Ctrl+C")
		p.await("Leave?")
		p.press("y")
		h.ended(p, contract.ExitInterrupted)
		for file, want := range map[string]string{
			filepath.Join(h.work, "thread.txt"): "red\ngreen\n",
			given:                               "+2 " + filepath.Join(h.work, "thread.txt") + "\n",
		} {
			if got, err := os.ReadFile(file); err != nil || string(got) != want {
				t.Errorf("%s holds %q, %v; want %q", file, got, err, want)
			}
		}
	})
}

// TestPlainShowsChanges: --plain does the same with commands, and lists settings, models and images.
func TestPlainShowsChanges(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	h := build(t, players(t)[0], changesPlay)
	h.committed("thread.txt", "red\ngreen\n")
	aPicture(t, h.work, "loom.png")
	p := h.open(append([]string{"--plain"}, h.args...)...)
	p.await("Is it well?")
	for _, step := range [][]string{
		{"/changes", "thread.txt modified, +1 -1"},
		{"/changes thread.txt", "-green", "+blue", "/revert thread.txt"},
		{"/revert nothing.txt", "nothing.txt"},
		{"/revert thread.txt", "reverted"},
		{"/land", "land"},
		{"/settings", "max-memory: 0 (default)", "no-mouse"},
		{"/model", "claude-opus-5-5: $4 in, $20 out", "from $0.10 in"},
		{"/image other.txt", "not an image"},
		{"/image loom.png", "64×48 png"},
		{"Like this?", "Like this?"},
	} {
		p.Type(step[0] + "\n")
		p.await(step[1:]...)
	}
	p.press("Ctrl+C")
	h.ended(p, contract.ExitInterrupted)
}
