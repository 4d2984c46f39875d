package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// worked is a repository in the state in which the supervisor leaves it after a run.
type worked struct {
	gittest.Dir
	state string
	repo  *workspaces.Repo
}

func newWorked(t *testing.T) worked {
	t.Helper()
	for name, value := range map[string]string{"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "C",
		"GIT_COMMITTER_EMAIL": "c@example.com"} {
		t.Setenv(name, value)
	}
	w := worked{Dir: gittest.New(t, map[string]string{"a": "1\n", "gone": "1\n", "mine": "1\n"}), state: t.TempDir()}
	store, err := journal.OpenStore(w.state)
	w.Must(err)
	run, err := store.Create(journal.Meta{Run: gittest.Run, CWD: w.Path, Began: time.Now()}, journal.Options{})
	w.Must(err)
	w.Must(run.Close(), store.Close())
	t.Chdir(w.Path)
	w.repo = w.Open(nil)
	return w
}

// snapshot records the workspace under a name.
func (w worked) snapshot(name string) {
	w.Helper()
	_, err := w.repo.Again(context.Background(), name)
	w.Must(err)
}

// arbiter runs a command, checks its exit code, and returns its output.
func (w worked) arbiter(code contract.Exit, args ...string) (stdout, stderr string) {
	w.Helper()
	var out, errs bytes.Buffer
	line := append([]string{"arbiter", args[0], "--state-dir", w.state}, args[1:]...)
	if got := run(line, strings.NewReader(""), &out, &errs); got != int(code) {
		w.Errorf("%v: exit code %d, want %d\n%s%s", args, got, code, out.String(), errs.String())
	}
	return out.String(), errs.String()
}

func (w worked) prints(want string, code contract.Exit, args ...string) {
	w.Helper()
	out, errs := w.arbiter(code, args...)
	if code != contract.ExitComplete {
		out = errs
	}
	if code == contract.ExitComplete && out != want || code != contract.ExitComplete && !strings.Contains(out, want) {
		w.Errorf("%v: %s", args, cmp.Diff(want, out))
	}
}

func TestWorkInTheWorkspace(t *testing.T) {
	w := newWorked(t)
	w.prints("has no snapshot in "+w.Path, contract.ExitFailed, "diff")
	w.prints("there is nothing to land", contract.ExitFailed, "land")
	w.snapshot(workspaces.Base)
	w.Write("a", "2\n")
	w.Remove("gone")
	w.Write("mine", "2\n")
	w.Write("new\x1b[31m", "x\ny\n")
	w.snapshot(workspaces.End)
	w.Write("mine", "3\n")
	if text, _ := w.arbiter(contract.ExitComplete, "diff"); strings.Count(text, "diff --git") != 4 ||
		!strings.Contains(text, "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n") || strings.Contains(text, "\x1b") {
		t.Errorf("diff: %s", text)
	}
	w.prints("a\ngone\nmine\nnew\n", contract.ExitComplete, "diff", gittest.RUN8, "--name-only")
	w.prints("modified +1 -1 a\ndeleted  +0 -1 gone\nmodified +1 -1 mine\nadded    +2 -0 new\n4 files, +4 -3\n",
		contract.ExitComplete, "diff", "--stat")
	w.prints("orch-1 had no directory of its own", contract.ExitUsage, "diff", "orch-1")
	w.prints("there is no agent \"frob\"", contract.ExitUsage, "diff", gittest.RUN8, "frob")
	w.prints("there is no run \"frob\"", contract.ExitUsage, "diff", "frob")
	w.prints("exclude each other", contract.ExitUsage, "diff", "--stat", "--name-only")

	before := w.Files()
	kept := "kept mine: it was modified since\n"
	w.prints("would revert a\nwould restore gone\nwould remove new\n"+kept, contract.ExitComplete, "undo", "--dry-run")
	testkit.Same(t, "", before, w.Files())
	w.prints("reverted a\nrestored gone\nremoved new\n"+kept, contract.ExitComplete, "undo")
	want := map[string]string{"a": "-rw-r--r-- 1\n", "gone": "-rw-r--r-- 1\n", "mine": "-rw-r--r-- 3\n"}
	testkit.Same(t, "", want, w.Files())
	w.prints("give at most one RUN", contract.ExitUsage, "undo", "a", "b")
}

func TestWorkOnABranch(t *testing.T) {
	w := newWorked(t)
	w.snapshot(workspaces.Base)
	w.Git("checkout", "-q", "-b", "arbiter/"+gittest.RUN8+"/main")
	w.Write("a", "2\n")
	one := w.Commit("one")
	w.Git("update-ref", w.repo.Ref("orch-1/base"), one)
	w.Write("new", "1\n")
	w.Git("update-ref", w.repo.Branch("orch-1.1"), w.Commit("two"))
	w.Git("checkout", "-q", "trunk")
	w.prints("a\nnew\n", contract.ExitComplete, "diff", "--name-only")
	w.prints("new\n", contract.ExitComplete, "diff", "orch-1", "--name-only")
	w.Write("a", "uncommitted\n")
	w.prints("uncommitted changes would be overwritten in \"a\"", contract.ExitFailed, "land")
	w.Git("checkout", "-q", "a")
	w.prints("--message is empty", contract.ExitUsage, "land", "--message", " ")
	out, _ := w.arbiter(contract.ExitComplete, "land", "--squash", "--message", "All of it")
	if out != "trunk is now "+command.ShortID(w.Git("rev-parse", "trunk"))+"\n" ||
		w.Git("log", "-1", "--format=%s %an", "trunk") != "All of it A" {
		t.Errorf("%q; %s", out, w.Git("log", "-1", "trunk"))
	}
	w.Git("checkout", "-q", "--detach")
	w.prints("HEAD is detached", contract.ExitFailed, "land")
	w.Git("checkout", "-q", "trunk")
	w.prints("would revert a\nwould remove new\n", contract.ExitComplete, "undo", "--dry-run", gittest.RUN8)
}

func TestWorkWithoutGit(t *testing.T) {
	w := newWorked(t)
	w.Must(os.RemoveAll(filepath.Join(w.Path, ".git")))
	w.prints("there is no Git work tree here", contract.ExitEnvironment, "diff")
	t.Chdir(t.TempDir())
	w.prints("no run has worked in", contract.ExitUsage, "undo")
	w.Must(os.RemoveAll(w.Path))
	w.prints("the directory of run "+gittest.RUN8, contract.ExitEnvironment, "land", gittest.RUN8)
}

// TestLandKeepsCommits: --keep-commits joins the commits of the run by a merge, and undo names the revert of a merge.
func TestLandKeepsCommits(t *testing.T) {
	w := newWorked(t)
	w.snapshot(workspaces.Base)
	w.Git("checkout", "-q", "-b", "arbiter/"+gittest.RUN8+"/main")
	w.Write("a", "2\n")
	w.Commit("one")
	w.Write("new", "1\n")
	two := w.Commit("two")
	w.Write("built", "1\n")
	w.Commit("Work of orch-1")
	w.Git("checkout", "-q", "trunk")
	w.prints("exclude each other", contract.ExitUsage, "land", "--squash", "--keep-commits")
	if _, said := w.arbiter(contract.ExitComplete, "land", "--keep-commits"); !strings.Contains(said, "left out") ||
		!strings.Contains(said, ": built\n") {
		t.Errorf("land: %s", said)
	}
	head := w.Git("rev-parse", "trunk")
	if w.Git("merge-base", "--is-ancestor", two, head); w.Git("ls-tree", "--name-only", head) != "a\ngone\nmine\nnew" {
		t.Errorf("landed %s", w.Git("log", "--graph", "--stat", head))
	}
	_, said := w.arbiter(contract.ExitComplete, "undo", "--dry-run")
	_, revert, _ := strings.Cut(said, "To revert it: git ")
	if revert = strings.TrimSpace(strings.Split(revert, "\n")[0]); revert != "revert -m 1 "+head {
		t.Fatalf("undo says %s", said)
	}
	w.Git(append(strings.Fields(revert), "--no-edit")...)
	if w.Git("rev-parse", "HEAD^{tree}") != w.Git("rev-parse", head+"^1^{tree}") {
		t.Error("it is not reverted")
	}
	if _, said := w.arbiter(contract.ExitComplete, "undo", "--dry-run"); strings.Contains(said, "was landed") {
		t.Errorf("after the revert: %s", said)
	}
}
