package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/rehearsal"
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

// workedOnABranch is a run with a commit on its branch.
func workedOnABranch(t *testing.T) (w worked, commit string) {
	t.Helper()
	w = newWorked(t)
	w.snapshot(workspaces.Base)
	w.Git("checkout", "-q", "-b", "arbiter/"+gittest.RUN8+"/main")
	w.Write("a", "2\n")
	return w, w.Commit("one")
}

// arbiter runs a command, checks its exit code, and returns its output.
func (w worked) arbiter(code contract.Exit, args ...string) (stdout, stderr string) {
	w.Helper()
	c := inProcess("", append([]string{args[0], "--state-dir", w.state}, args[1:]...)...).ended(w, args, code)
	return c.out, c.errs
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
	w.Write("mine", "2\n", "new\x1b[31m", "x\ny\n")
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
	w, one := workedOnABranch(t)
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
	w.prints("--include is empty", contract.ExitUsage, "land", "--include", "")
	w.prints("--file is empty", contract.ExitUsage, "undo", "--file", "")
	out, _ := w.arbiter(contract.ExitComplete, "land", "--squash", "--message", "All of it")
	testkit.Check(t, out == "trunk is now "+command.ShortID(w.Git("rev-parse", "trunk"))+"\n" &&
		w.Git("log", "-1", "--format=%s %an", "trunk") == "All of it A", "%q; %s", out, w.Git("log", "-1", "trunk"))
	w.Git("checkout", "-q", "--detach")
	w.prints("HEAD is detached", contract.ExitFailed, "land")
	w.Git("checkout", "-q", "trunk")
	w.prints("would revert a\nwould remove new\n", contract.ExitComplete, "undo", "--dry-run", gittest.RUN8)
}

func TestWorkWithoutGit(t *testing.T) {
	w := newWorked(t)
	w.Must(os.RemoveAll(filepath.Join(w.Path, ".git")))
	w.prints("there is no Git work tree here: run `git init` to have diffs, undo and merges; what run "+gittest.RUN8+
		" changed is not recorded", contract.ExitEnvironment, "diff")
	const scratch = "eeee1111-rehearsal"
	store := testkit.Must(journal.OpenStore(w.state))(t)
	run := testkit.Must(store.Create(journal.Meta{Run: scratch, CWD: t.TempDir(), Workspace: w.Path, Rehearsal: true},
		journal.Options{}))(t)
	w.Must(run.Close(), store.Close())
	w.prints("run eeee1111 is a rehearsal without Git: what it wrote is in "+w.Path+"\n", contract.ExitEnvironment, "land",
		scratch)
	t.Chdir(t.TempDir())
	w.prints("no run has worked in", contract.ExitUsage, "undo")
	w.Must(os.RemoveAll(w.Path))
	w.prints("the directory of run "+gittest.RUN8, contract.ExitEnvironment, "land", gittest.RUN8)
}

// TestLandAfterARevert: work that was landed and reverted can be landed again.
func TestLandAfterARevert(t *testing.T) {
	w, _ := workedOnABranch(t)
	w.Git("checkout", "-q", "trunk")
	for range 2 {
		w.arbiter(contract.ExitComplete, "land")
		testkit.Same(t, "landed", "2", w.Git("show", "HEAD:a"))
		w.prints("trunk has all that run "+gittest.RUN8+" has merged\n", contract.ExitComplete, "land")
		w.Git("revert", "--no-edit", "HEAD")
	}
}

// TestLandKeepsCommits: --keep-commits joins the commits of the run by a merge, and undo names the revert of a merge.
func TestLandKeepsCommits(t *testing.T) {
	w, _ := workedOnABranch(t)
	w.Write("new", "1\n")
	two := w.Commit("two")
	w.Write("built", "1\n")
	w.Commit("Work of orch-1")
	w.Git("checkout", "-q", "trunk")
	w.prints("exclude each other", contract.ExitUsage, "land", "--squash", "--keep-commits")
	testkit.Includes(t, "land", stderrOf(w.arbiter(contract.ExitComplete, "land", "--keep-commits")), "left out",
		": built\n")
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
	testkit.Check(t, w.Git("rev-parse", "HEAD^{tree}") == w.Git("rev-parse", head+"^1^{tree}"), "it is not reverted")
	testkit.Excludes(t, "after the revert", stderrOf(w.arbiter(contract.ExitComplete, "undo", "--dry-run")), "was landed")
}

// sharedFile is a play in which two Orchestrators work in one directory, and both edit one file.
var sharedFile = playOf(
	arbiter(slices.Concat(summons("Weave the warp", "Weave the weft"),
		[]object{on("is woven", patience), on("is woven", complete("The cloth is woven."))}), patience),
	orchestrator("warp", "Weave the warp", []object{writes("cloth.txt", "warp\n")}, done("The cloth is woven.")),
	orchestrator("weft", "Weave the weft", []object{
		bash("until grep -q warp cloth.txt; do sleep 0.1; done; rm old.txt"), reads("cloth.txt"),
		edits("cloth.txt", "warp", "warp\nweft")}, done("The cloth is woven.")))

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
			testkit.Check(t, w.Dir == repo.Path && w.Isolation == "shared" &&
				w.Base == repo.Git("rev-parse", "refs/arbiter/"+result.Session[:8]+"/base"), "an agent works in %+v", w)
		}
		files := map[string][]string{} // the agents of each file, from the last event
		for _, e := range collect[contract.Changes](s) {
			for _, f := range e.Files {
				files[f.Path] = f.Agents
			}
		}
		testkit.Check(t, slices.Equal(files["cloth.txt"], []string{"orch-1", "orch-2"}) && files["old.txt"] != nil &&
			files["mine.txt"] == nil, "changes are %v", files)
		want := []contract.Overlap{{Path: "cloth.txt", Agents: []string{"orch-1", "orch-2"}}}
		testkit.Same(t, "overlaps", want, collect[contract.Overlap](s))
		testkit.Same(t, "the user's own part of the repository", private, repo.Private())
	})
}

// halfDone is a play in which the first COMPLETE comes too early.
var halfDone = playOf(
	arbiter(nil, on("COMPLETE did not take effect", selects("developer", "Weave the weft.")),
		on("is woven", complete("The cloth is woven.")),
		on("(?is)acceptance criteria.*grep -q weft weft.txt", selects("developer", "Weave the warp.")), patience),
	orchestrator("warp", "Weave the warp", []object{writes("warp.txt", "warp\n")}, done("The cloth is woven.")),
	orchestrator("weft", "Weave the weft", []object{writes("weft.txt", "weft\n")}, done("The cloth is woven.")))

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
		judged := testkit.Each(collect[contract.Acceptance](s), func(a contract.Acceptance) string { return a.Status })
		testkit.Need(t, slices.Equal(judged, []string{"failed", "passed"}) && len(result.Acceptance) == 1,
			"judged %v, result %+v", judged, result.Acceptance)
		a := result.Acceptance[0]
		testkit.Check(t, a.Command == "grep -q weft weft.txt" && a.By == "human" && a.Status == "passed" &&
			a.SHA256 != "" && a.Tree == repo.Git("rev-parse", result.Changes.Head+"^{tree}"),
			"the result's criterion is %+v, the changes %+v", a, result.Changes)
	})
}

// overwriting is a play in which one agent proves its work and another breaks it. When the Arbiter is notified
// that the check fails now, it has the work repaired.
func overwriting(cat string) string {
	return allowing([]string{"Write", "Bash(*)"},
		arbiter(nil, on("COMPLETE did not take effect", selects("developer", "Mend the weft.")),
			on("The weft is mended|The dye is on", complete("The cloth is dyed.")),
			on("The weft is laid", selects("developer", "Dye it.")),
			on("kind: task", selects("developer", "Lay the weft.")), patience),
		orchestrator("weaver", "Lay the weft", []object{bash(`printf 'weft\n' > cloth.txt`)},
			done("The weft is laid.", check(cat, `"weft"`))),
		orchestrator("dyer", "Dye it", []object{bash(`printf 'blue\n' > cloth.txt`)},
			done("The dye is on.", check("grep -c blue cloth.txt", `"1"`))),
		orchestrator("mender", "Mend the weft", []object{bash(`printf 'weft\n' >> cloth.txt`)},
			done("The weft is mended.")))
}

// TestAuthorsOfFilesOfFailedCheck: the Arbiter, events and the report name the agent that changed the
// files of a broken check, with each kind of isolation.
func TestAuthorsOfFilesOfFailedCheck(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, p := range players(t) {
		for _, isolation := range []string{"shared", "worktree", "clone"} {
			t.Run(p.name+" "+isolation, func(t *testing.T) {
				if isolation != "worktree" {
					testkit.Long(t)
				}
				p.long(t)
				t.Parallel()
				repo := gittest.New(t, map[string]string{"old.txt": "old\n"})
				cat := "cat cloth.txt"
				if isolation == "shared" { // or the second agent may start before the first one's work is recorded
					cat = "until git for-each-ref refs/arbiter | grep -q handoff; do sleep 0.1; done; cat cloth.txt"
				}
				s, model := hiredIn(t, p, overwriting(cat), repo.Path, "--no-input", "--isolation", isolation, "--allow", "Bash",
					"--task", "Weave")
				s.finish(contract.ExitComplete)
				const named = "orch-2 was the last to change its files (cloth.txt)"
				told := func(n contract.Notice) bool { return strings.Contains(n.Text, named) }
				testkit.Check(t, slices.ContainsFunc(collect[contract.Notice](s), told),
					"no message says who changed the file last")
				asked := slices.ContainsFunc(model.Requests(), func(r rehearsal.Request) bool {
					return r.Actor == "arbiter" && strings.Contains(string(r.Messages), named)
				})
				testkit.Check(t, asked, "the Arbiter is not told who changed the file last")
				failed := func(c contract.Check) bool {
					return c.Again && c.Receipt.Result == "failed" && slices.Equal(c.Agents, []string{"orch-2"})
				}
				testkit.Check(t, slices.ContainsFunc(collect[contract.Check](s), failed), "the event does not name it")
				s.replaysExactly()
			})
		}
	}
}
