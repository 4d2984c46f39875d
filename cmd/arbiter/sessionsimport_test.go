package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
)

// TestImportKilled kills an import in the middle: no part of the run is visible, and the archive can be
// imported again.
func TestImportKilled(t *testing.T) {
	t.Parallel()
	s, run, archive := asked(t)
	there := s.elsewhere(t.TempDir())
	whole := testkit.Must(os.ReadFile(archive))(t)
	cmd := exec.Command("arbiter", "sessions", "import", "-")
	cmd.Env, cmd.Dir = there.cmd.Env, there.cmd.Dir
	in := testkit.Must(cmd.StdinPipe())(t)
	testkit.OK(t, cmd.Start())
	if _, err := in.Write(whole[:len(whole)-20]); err != nil {
		t.Error(err)
	}
	awaitFile(t, filepath.Join(there.stateDir(), "runs", ".import-*", "journal-*"))
	if out, _ := there.output(0, "sessions", "--json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("seen in the middle of an import: %s", out)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if out, _ := there.output(0, "sessions", "--json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("seen after it was killed: %s", out)
	}
	if out, _ := s.output(0, "sessions", "export", run, "--output", "-"); out != string(whole) {
		t.Errorf("on stdout it is another archive")
	}
	there.output(0, "sessions", "import", archive)
	out, _ := there.output(0, "sessions", "--json")
	left, _ := filepath.Glob(filepath.Join(there.stateDir(), "runs", ".*"))
	if !strings.Contains(out, run) || len(left) > 0 {
		t.Errorf("left %v, runs %s", left, out)
	}
}

// TestImportOfFiles: another clone gets the run's changed files, diffs work there, and no file of the user is
// overwritten.
func TestImportOfFiles(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	repository := gittest.New(t, map[string]string{"kept.txt": "1\n"})
	clone, mine, other := repository.Copy(), repository.Copy(), gittest.New(t, map[string]string{"x": "1\n"})
	_, run, archive := askedIn(t, repository.Path)
	s, _, _ := asked(t) // for its environment
	refused := func(dir, why string) *script {
		t.Helper()
		there := s.elsewhere(dir)
		if _, errs := there.output(1, "sessions", "import", archive); !strings.Contains(errs, why) {
			t.Errorf("%q lacks %q", errs, why)
		}
		if out, _ := there.output(0, "sessions", "--json"); strings.TrimSpace(out) != "[]" {
			t.Errorf("runs: %s", out)
		}
		return there
	}
	mine.Write("names.txt", "mine\n")
	refused(mine.Path, "names.txt (it was modified since)").output(0, "sessions", "import", archive, "--no-files")
	if got := mine.Files()["names.txt"]; !strings.Contains(got, "mine") {
		t.Errorf("names.txt: %q", got)
	}
	refused(other.Path, "has no commit")
	refused(t.TempDir(), "no Git work tree")
	there := s.elsewhere(clone.Path)
	there.output(0, "sessions", "import", archive)
	if out, _ := there.output(0, "diff", run, "--name-only"); strings.TrimSpace(out) != "names.txt" {
		t.Errorf("the run changed %q", out)
	}
	if out := clone.Git("status", "--porcelain"); !strings.Contains(out, "?? names.txt") {
		t.Errorf("status %q", out)
	}
}

// TestImportIsRefused: a refused import changes nothing and says why.
func TestImportIsRefused(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	s, run, archive := asked(t)
	there := s.elsewhere(t.TempDir())
	whole := testkit.Must(os.ReadFile(archive))(t)
	damaged := filepath.Join(t.TempDir(), "damaged.tar.gz")
	refused := func(want int, why string, args ...string) {
		t.Helper()
		_, errs := there.output(want, append([]string{"sessions", "import"}, args...)...)
		if !strings.Contains(errs, why) {
			t.Errorf("%q lacks %q", errs, why)
		}
		if out, _ := there.output(0, "sessions", "--json"); strings.TrimSpace(out) != "[]" {
			t.Errorf("runs: %s", out)
		}
	}
	for _, n := range []int{0, 5, len(whole) / 2, len(whole) - 1} {
		testkit.OK(t, os.WriteFile(damaged, whole[:n], 0o600))
		refused(1, "it is cut off; nothing was imported", damaged)
	}
	refused(2, "cannot read missing.tar.gz", "missing.tar.gz")
	refused(2, "give one FILE", archive, archive)
	refused(2, "--cwd", archive, "--cwd", "missing")
	// A session that has continued elsewhere is not overwritten.
	from := filepath.Join(s.home(), ".claude", "projects")
	found, err := filepath.Glob(filepath.Join(from, "*", "*.jsonl"))
	if err != nil || len(found) != 2 {
		t.Fatalf("%v, %v", found, err)
	}
	at := filepath.Join(there.home(), ".claude", "projects", "-other")
	write(t, "another\n", at, filepath.Base(found[0]))
	refused(1, "continued there", archive)
	if got, err := os.ReadFile(filepath.Join(at, filepath.Base(found[0]))); err != nil || string(got) != "another\n" {
		t.Errorf("%q, %v", got, err)
	}
	testkit.OK(t, os.RemoveAll(at))
	there.output(0, "sessions", "import", archive)
	if _, errs := there.output(1, "sessions", "export", run); !strings.Contains(errs, "use the archive") {
		t.Errorf("exported without its transcripts: %s", errs)
	}
}
