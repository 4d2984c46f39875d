package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestWorkspaceBelongsToOneRun: the workspace's lock also keeps out a run with another state directory, which
// does not know the first run.
func TestWorkspaceBelongsToOneRun(t *testing.T) {
	claude := standInProgram(t)
	s := start(t, nil, "--json", "--claude", claude)
	await[contract.Session](s, "the session", nil)
	other := []string{"--json", "--no-input", "--claude", claude, "--task", "Another", "--state-dir",
		filepath.Join(t.TempDir(), "other")}
	if _, stderr := s.output(2, other...); !strings.Contains(stderr, "of another state directory") {
		t.Errorf("a run of another state directory: %s", stderr)
	}
	s.send(contract.Cancel{})
	s.finish(contract.ExitFailed)
	n := s.again("--json", "--claude", claude, "--state-dir", filepath.Join(t.TempDir(), "third"))
	await[contract.Session](n, "the session", nil)
	n.send(contract.Cancel{})
	n.finish(contract.ExitFailed)
}

// TestCopiedStateDirectory: while a run is live, it cannot be resumed from a copy of its state directory, and
// no command on the copy ends the run's agents.
func TestCopiedStateDirectory(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, who player) {
		s := start(t, nil, append(who.args, "--json", "--scenario", "dialogue", "--task", "Name it")...)
		await[contract.Question](s, "a question", nil)
		copied := filepath.Join(t.TempDir(), "copy")
		testkit.OK(t, os.CopyFS(copied, os.DirFS(filepath.Join(s.cmd.Dir, ".local/state/arbiter"))))
		for _, dir := range []string{copied, filepath.Join(copied, "runs"),
			filepath.Join(copied, "runs", s.run())} {
			testkit.OK(t, os.Chmod(dir, 0o700))
		}
		if _, stderr := s.output(2, "--json", "--resume", "--session", s.run(), "--state-dir",
			copied); !strings.Contains(stderr, "of another state directory") {
			t.Errorf("resumed from the copy: %s", stderr)
		}
		s.output(0, "sessions", "rm", s.run(), "--state-dir", copied)
		s.send(contract.Say{Text: "Call it nameless."})
		s.finish(contract.ExitComplete)
		if list := collect[contract.Restart](s); len(list) != 0 {
			t.Errorf("its agents were ended: %+v", list)
		}
	})
}
