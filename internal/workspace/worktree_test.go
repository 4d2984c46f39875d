package workspace_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
)

// operate opens the repository args[0] and the manager's directory args[1].
func operate(
	f func(m *workspace.Worktrees, kind workspace.WorktreeKind) error,
) func(step func(string), args []string) error {
	return func(step func(string), args []string) error {
		r, err := workspace.Open(ctx, gittest.Options(args[0], step))
		if err != nil {
			return err
		}
		m, err := workspace.OpenWorktrees(r, args[1])
		if err != nil {
			return err
		}
		return f(m, workspace.WorktreeKind(args[2]))
	}
}

var worktreeOperations = gittest.Operations{
	"create": operate(func(m *workspace.Worktrees, kind workspace.WorktreeKind) error {
		_, err := m.Create(ctx, spec(1, kind))
		return err
	}),
	"remove": operate(func(m *workspace.Worktrees, _ workspace.WorktreeKind) error {
		w, _, err := m.Find(1)
		if err == nil {
			_, err = m.Remove(ctx, w, false)
		}
		return err
	}),
	"read": operate(func(m *workspace.Worktrees, _ workspace.WorktreeKind) error {
		_, err := m.Reader(ctx, "trunk")
		return err
	}),
}

func spec(orchestrator int, kind workspace.WorktreeKind) workspace.WorktreeSpec {
	return workspace.WorktreeSpec{Orchestrator: orchestrator, Generation: 1, Kind: kind, From: "trunk"}
}

var kinds = []workspace.WorktreeKind{workspace.WorktreeLinked, workspace.WorktreeClone}

func manager(d gittest.Dir) (*workspace.Worktrees, *workspace.Repo) {
	d.Helper()
	r := d.Open(nil)
	m := testkit.Must(workspace.OpenWorktrees(r, filepath.Join(gittest.Temp(d), "work")))(d)
	return m, r
}

var project = map[string]string{
	"a": "1\n", "dir/b": "2\n", ".gitignore": ".env\nnode_modules/\n*.local\nbuild/\n",
	".worktreeinclude": "# what an agent needs\n.env\n*.local\n!big.local\n/dir/build/\ntracked\n",
}

func TestCreate(t *testing.T) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			d := gittest.New(t, project)
			d.Write("a", "not committed\n", ".env", "SECRET=1\n")
			d.Chmod(".env", 0o600)
			d.Link("dir/x.local", "../.env")
			d.Write("big.local", "1\n", "dir/build/out", "1\n", "node_modules/x/.env", "1\n", "untracked", "1\n")
			private, files := d.Private(), d.Files()
			m, r := manager(d)
			got := testkit.Must(m.Create(ctx, spec(3, kind)))(d)
			base := d.Git("rev-parse", "trunk")
			want := workspace.Worktree{Orchestrator: 3, Kind: kind, Branch: "arbiter/" + gittest.RUN8 + "/orch-3.1", Base: base,
				Dir: got.Dir, Work: got.Dir, Included: 4}
			testkit.Same(t, "", want, got)
			there := gittest.Dir{TB: t, Path: got.Dir}
			wantFiles := map[string]string{
				"a": "-rw-r--r-- 1\n", "dir/b": "-rw-r--r-- 2\n", ".env": "-rw------- SECRET=1\n", "dir/x.local": "-> ../.env",
				"dir/build/out": "-rw-r--r-- 1\n", "node_modules/x/.env": "-rw-r--r-- 1\n",
				".gitignore": files[".gitignore"], ".worktreeinclude": files[".worktreeinclude"],
			}
			testkit.Same(t, "files", wantFiles, there.Files())
			branch := there.Git("symbolic-ref", "--short", "HEAD")
			testkit.Check(t, branch == want.Branch && there.Git("status", "--porcelain") == "", "on %s with %s", branch,
				there.Git("status", "--porcelain"))
			testkit.Check(t, there.Git("remote") == "" && d.Git("config", "--get-regexp", "^core.bare") != "",
				"remotes: %s", there.Git("remote"))
			testkit.Same(t, "the user's part of the repository changed", private, d.Private())
			testkit.Same(t, "files changed", files, d.Files())
			there.Write("a", "work\n")
			second, err := m.Create(ctx,
				workspace.WorktreeSpec{Orchestrator: 3, Generation: 2, Kind: kind, From: "trunk"})
			d.Must(err)
			if diff := cmp.Diff(got, second); diff != "" || there.Files()["a"] != "-rw-r--r-- work\n" {
				t.Errorf("the next generation has another directory: %s", diff)
			}
			all, err := m.List()
			testkit.Check(t, err == nil && len(all) == 1 && all[0] == got, "list: %v, %v", all, err)
			head, err := m.Head(ctx, got)
			testkit.Check(t, err == nil && head == base, "head %s, %v", head, err)
			_ = r
		})
	}
}

// TestCloneWritesNothing: with the user's Git directory read-only, an agent can commit in its clone.
func TestCloneWritesNothing(t *testing.T) {
	d := gittest.New(t, project)
	d.Git("config", "user.name", "Local")
	d.Git("config", "core.autocrlf", "input")
	m, r := manager(d)
	w, err := m.Create(ctx, spec(1, workspace.WorktreeClone))
	testkit.OK(d, err)
	before := d.Git("count-objects", "-v") + d.Git("for-each-ref")
	there := gittest.Dir{TB: t, Path: w.Dir}
	there.Write("new", "1\n")
	commit := there.Commit("work")
	testkit.Same(t, "the user's repository changed", before, d.Git("count-objects", "-v")+d.Git("for-each-ref"))
	testkit.Check(t, there.Git("config", "user.name") == "Local" && there.Git("config", "core.autocrlf") == "input",
		"settings are missing")
	there.Git("tag", "v1")
	there.Git("update-ref", "refs/heads/trunk", commit)
	head, err := m.Head(ctx, w)
	testkit.OK(d, err)
	testkit.Check(t, head == commit && d.Git("rev-parse", "refs/heads/"+w.Branch) == commit && d.Git("tag") == "",
		"fetched %s, want %s; tags %q", head, commit, d.Git("tag"))
	testkit.Check(t, d.Git("rev-parse", "trunk") != commit, "the clone moved a branch of the user's")
	// Rewritten history is fetched, too.
	there.Git("commit", "-q", "--amend", "-m", "better")
	head, err = m.Head(ctx, w)
	testkit.Check(t, err == nil && head == there.Git("rev-parse", "HEAD") &&
		d.Git("rev-parse", "refs/heads/"+w.Branch) == head, "amended: %s, %v", head, err)
	_ = r
}

// TestHostileClone: programs that a clone configures do not run, and harmful objects are refused.
func TestHostileClone(t *testing.T) {
	d := gittest.New(t, map[string]string{"a": "1\n", ".gitattributes": "* filter=evil\n"})
	m, _ := manager(d)
	w := testkit.Must(m.Create(ctx, spec(1, workspace.WorktreeClone)))(d)
	there := gittest.Dir{TB: t, Path: w.Dir}
	ran := filepath.Join(gittest.Temp(t), "ran")
	evil := "touch '" + ran + "'; cat"
	there.Write("b", "2\n")
	there.Commit("work")
	for key, value := range map[string]string{
		"filter.evil.clean": evil, "filter.evil.smudge": evil, "core.fsmonitor": evil, "core.alternateRefsCommand": evil,
		"uploadpack.packObjectsHook": evil, "core.pager": evil, "core.sshCommand": evil, "diff.external": evil,
	} {
		there.Git("config", key, value)
	}
	for _, hook := range []string{"post-index-change", "reference-transaction", "pre-auto-gc", "post-checkout"} {
		there.Write(".git/hooks/"+hook, "#!/bin/sh\n"+evil+"\n")
		there.Chmod(".git/hooks/"+hook, 0o755)
	}
	there.Write("c", "3\n")
	testkit.Same(t, "saved", "100644 3\n", d.Tree(testkit.Must(m.Save(ctx, w))(d).Commit)["c"])
	testkit.Fails(t, "a program of the clone ran", testkit.Err(os.Lstat(ran)))

	there.Remove(".git/hooks")
	plain := []string{"-c", "core.fsmonitor=false", "-c", "filter.evil.clean=cat"}
	blob := there.Git(append(plain, "hash-object", "-w", "a")...)
	cmd := there.Command(append(plain, "mktree")...)
	cmd.Stdin = strings.NewReader("100644 blob " + blob + "\t.git\n")
	tree := testkit.Must(cmd.Output())(d)
	commit := there.Git("commit-tree", strings.TrimSpace(string(tree)), "-p", "HEAD", "-m", "evil")
	there.Git("update-ref", "refs/heads/"+w.Branch, commit)
	head, err := m.Head(ctx, w)
	testkit.Check(t, err != nil, "fetched a tree with .git in it: %s", head)
}

func TestSaveAndRemove(t *testing.T) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			d := gittest.New(t, project)
			m, r := manager(d)
			w := testkit.Must(m.Create(ctx, spec(1, kind)))(d)
			there := gittest.Dir{TB: t, Path: w.Dir}
			s, err := m.Save(ctx, w)
			testkit.Check(t, err == nil && s.Ref == "", "nothing to save: %+v, %v", s, err)
			there.Write("a", "committed\n")
			there.Commit("work")
			if s, err := m.Save(ctx, w); err != nil || s.Ref != "" {
				t.Errorf("all is committed: %+v, %v", s, err)
			}
			there.Write("a", "wip 1\n", "new", "n\n", ".env", "ignored\n")
			first := testkit.Must(m.Save(ctx, w))(d)
			again := testkit.Must(m.Save(ctx, w))(d)
			testkit.Check(t, first.Commit != "" && again.Commit == first.Commit && first.Ref == r.Ref("orch-1/wip"),
				"saved %+v, then %+v", first, again)
			tree := d.Tree(first.Commit)
			testkit.Check(t, tree["a"] == "100644 wip 1\n" && tree["new"] == "100644 n\n" && tree[".env"] == "",
				"saved %v", tree)
			there.Git("checkout", "-q", "-f", "--detach")
			there.Write("a", "detached\n")
			detached := there.Commit("on no branch")
			removed := testkit.Must(m.Remove(ctx, w, false))(d)
			for _, commit := range []string{first.Commit, detached} {
				d.Git("merge-base", "--is-ancestor", commit, removed.Commit)
			}
			testkit.Fails(t, "the directory is still there", testkit.Err(os.Lstat(w.Dir)))
			list := d.Git("worktree", "list")
			testkit.Check(t, strings.Count(list, "\n") == 0, "worktrees: %s", list)
			_, ok, err := m.Find(1)
			testkit.Check(t, !ok && err == nil, "still recorded: %v", err)
			again, err = m.Remove(ctx, w, false)
			testkit.Check(t, err == nil && again.Ref == "", "removed twice: %+v, %v", again, err)
			// The next worktree with that name continues with the branch.
			w = testkit.Must(m.Create(ctx, spec(1, kind)))(d)
			testkit.Same(t, "a is", "-rw-r--r-- committed\n", there.Files()["a"])
			_ = w
		})
	}
}

func TestUnsaved(t *testing.T) {
	for _, kind := range kinds {
		d := gittest.New(t, project)
		m, _ := manager(d)
		w := testkit.Must(m.Create(ctx, spec(1, kind)))(d)
		nested := gittest.Dir{TB: t, Path: filepath.Join(w.Dir, "lib")}
		d.Must(os.Mkdir(nested.Path, 0o755))
		nested.Git("init", "-q")
		nested.Write("x", "1\n")
		nested.Commit("precious")
		var unsaved *workspace.UnsavedError
		_, err := m.Remove(ctx, w, false)
		testkit.Check(t, errors.As(err, &unsaved) && cmp.Equal(unsaved.What, []string{"lib"}), "%s: %v", kind, err)
		d.Must(os.MkdirAll(filepath.Join(w.Dir, "cache/ro"), 0o755))
		nested.Must(os.Chmod(filepath.Join(w.Dir, "cache/ro"), 0o555))
		testkit.Works(t, fmt.Sprintf("%s, by force", kind), testkit.Err(m.Remove(ctx, w, true)))
		testkit.Fails(t, fmt.Sprintf("%s: still there", kind), testkit.Err(os.Lstat(w.Dir)))
	}
}

func TestDirectoryBelow(t *testing.T) {
	d := gittest.New(t, project)
	r := testkit.Must(workspace.Open(ctx, gittest.Options(filepath.Join(d.Path, "dir"), nil)))(d)
	m := testkit.Must(workspace.OpenWorktrees(r, filepath.Join(gittest.Temp(t), "work")))(d)
	w, err := m.Create(ctx, spec(1, workspace.WorktreeLinked))
	testkit.Check(t, err == nil && w.Work == filepath.Join(w.Dir, "dir"), "%+v, %v", w, err)
}

func TestUsersWorktreesAreKept(t *testing.T) {
	d := gittest.New(t, project)
	m, _ := manager(d)
	theirs := filepath.Join(gittest.Temp(t), "theirs")
	d.Git("worktree", "add", "-q", "-b", "their-branch", theirs)
	w := testkit.Must(m.Create(ctx, spec(1, workspace.WorktreeLinked)))(d)
	d.Must(os.RemoveAll(theirs), os.RemoveAll(w.Dir))
	// A deleted directory is created again.
	again, err := m.Create(ctx, spec(1, workspace.WorktreeLinked))
	testkit.Check(t, err == nil && again.Branch == w.Branch, "%+v, %v", again, err)
	d.Must(os.Remove(filepath.Join(w.Dir, ".git")), os.WriteFile(filepath.Join(w.Dir, "new"), nil, 0o644))
	_, err = m.Create(ctx, spec(1, workspace.WorktreeLinked))
	testkit.Check(t, err != nil && strings.Contains(err.Error(), w.Dir), "only its .git is gone: %v", err)
	testkit.Works(t, "uncommitted work", testkit.Err(os.Lstat(filepath.Join(w.Dir, "new"))))
	testkit.Includes(t, "a worktree of the user's was forgotten", d.Git("worktree", "list"), theirs)
	_, err = m.Remove(ctx, workspace.Worktree{Orchestrator: 1, Dir: d.Path}, true)
	testkit.Check(t, err != nil, "removed a directory that is not the manager's")
}

func TestReader(t *testing.T) {
	d := gittest.New(t, project)
	m, _ := manager(d)
	dir, err := m.Reader(ctx, "trunk")
	testkit.OK(d, err)
	there := gittest.Dir{TB: t, Path: dir}
	there.Write("a", "scribbled\n")
	d.Write("a", "2\n")
	d.Commit("second")
	there.Write("../arbiter/dir/b", "scribbled\n")
	for range 2 {
		if dir, err = m.Reader(ctx, "trunk"); err != nil || there.Files()["a"] != "-rw-r--r-- 2\n" ||
			there.Git("status", "--porcelain") != "" {
			t.Errorf("%s: %v, %v", dir, there.Files(), err)
		}
		there.Git("read-tree", "--empty") // a broken index
		d.Must(os.WriteFile(filepath.Join(there.Git("rev-parse", "--absolute-git-dir"), "index.lock"), nil, 0o644))
	}
	d.Must(m.RemoveRest(ctx), m.RemoveRest(ctx))
	if _, err := os.Lstat(dir); err == nil || strings.Contains(d.Git("worktree", "list"), "\n") {
		t.Errorf("%s is left: %s", dir, d.Git("worktree", "list"))
	}
}

// TestManyAtOnce: several processes that do not know each other create worktrees at the same time.
func TestManyAtOnce(t *testing.T) {
	d := gittest.New(t, project)
	root := filepath.Join(gittest.Temp(t), "work")
	var wait sync.WaitGroup
	for n := range 6 {
		wait.Go(func() {
			m, err := workspace.OpenWorktrees(d.Open(nil), root)
			if err == nil {
				_, err = m.Create(ctx, spec(n, kinds[n%2]))
			}
			testkit.Check(t, err == nil, "%v", err)
		})
	}
	wait.Wait()
	m := testkit.Must(workspace.OpenWorktrees(d.Open(nil), root))(d)
	all, err := m.List()
	testkit.Check(t, err == nil && len(all) == 6, "%v, %v", all, err)
}

// TestCommit: all that Git does not ignore is committed, in the user's name and without hooks, and the agent's index
// agrees. Nothing is committed while the agent is in the middle of a merge.
func TestCommit(t *testing.T) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			d := gittest.New(t, project)
			d.Write("hooks/reference-transaction", "#!/bin/sh\nexit 1\n")
			d.Chmod("hooks/reference-transaction", 0o755)
			d.Git("config", "core.hooksPath", filepath.Join(d.Path, "hooks"))
			m, r := manager(d)
			w := testkit.Must(m.Create(ctx, spec(1, kind)))(d)
			there := gittest.Dir{TB: t, Path: w.Dir}
			there.Write("new", "1\n", "a", "changed\n", "x.local", "ignored\n")
			there.Remove("dir/b")
			for range 2 { // the second call finds nothing to do
				found := testkit.Must(m.Commit(ctx, w, "work of Orchestrator 1"))(d)
				testkit.Same(t, "status", "", there.Git("status", "--porcelain"))
				head := there.Git("rev-parse", "HEAD")
				testkit.Check(t, head == found.Head, "head %s, found %+v", head, found)
				show := d.Git("show", "--no-renames", "--format=%an %s", "--name-status", found.Head)
				want := "A work of Orchestrator 1\n\nM\ta\nD\tdir/b\nA\tnew"
				testkit.Check(t, show == want, "committed %q", show)
				tip, err := r.Commit(ctx, "refs/heads/"+w.Branch)
				testkit.Check(t, err == nil && tip.ID == found.Head && tip.Tree == found.Tree,
					"the branch is at %+v, found %+v, %v", tip, found, err)
			}
			d.Git("config", "--unset", "core.hooksPath")
			other := d.Git("commit-tree", "-p", "trunk", "-m", "other", d.Git("rev-parse", "trunk^{tree}"))
			cmd := there.Command("merge", "--no-commit", "--no-ff", other)
			out, err := cmd.CombinedOutput()
			testkit.Need(t, err == nil, "%v: %s", err, out)
			var unfinished *workspace.UnfinishedError
			if _, err := m.Commit(ctx, w, "never"); !errors.As(err, &unfinished) || unfinished.Operation != "merge" {
				t.Errorf("in the middle of a merge: %v", err)
			}
		})
	}
}

// TestCommitPastLocks: a git that is killed leaves the lock file of a reference or of the index in a worktree: the
// Arbiter's own git, if the machine fails, or an agent's. The work is committed all the same.
func TestCommitPastLocks(t *testing.T) {
	for _, kind := range kinds {
		for _, lock := range []string{"HEAD", "index", "branch"} {
			t.Run(string(kind)+" "+lock, func(t *testing.T) {
				t.Parallel()
				d := gittest.New(t, project)
				m, _ := manager(d)
				w := testkit.Must(m.Create(ctx, spec(1, kind)))(d)
				there := gittest.Dir{TB: t, Path: w.Dir}
				there.Write("new", "1\n")
				name := lock
				if lock == "branch" {
					name = "refs/heads/" + w.Branch
				}
				path := there.Git("rev-parse", "--path-format=absolute", "--git-path", name) + ".lock"
				d.Must(os.WriteFile(path, nil, 0o644))
				nearly := time.Now().Add(-9900 * time.Millisecond)
				d.Must(os.Chtimes(path, nearly, nearly))
				found := testkit.Must(m.Commit(ctx, w, "work of Orchestrator 1"))(d)
				testkit.Same(t, "new holds", "1", d.Git("show", found.Head+":new"))
				testkit.Same(t, "status", "", there.Git("status", "--porcelain"))
			})
		}
	}
}

// TestGitKilled: git itself is killed during a command, as by a system that is out of memory. The next call
// of the same operation continues, and nothing is lost.
func TestGitKilled(t *testing.T) {
	timeout, err := exec.LookPath("timeout")
	if !testkit.AtNight() || err != nil {
		t.Skip("takes long, and needs timeout")
	}
	files := map[string]string{}
	for n := range 300 {
		files[fmt.Sprintf("d%d/f%d", n%20, n)] = fmt.Sprintln(n)
	}
	template := gittest.New(t, files)
	random := rand.New(rand.NewPCG(1, 1))
	killed := 0
	for round := range 30 {
		kind := kinds[round%2]
		d := template.Copy()
		program := filepath.Join(gittest.Temp(t), "git")
		script := fmt.Sprintf("#!/bin/sh\nexec %s -s KILL %f git \"$@\"\n", timeout, 0.002+random.Float64()*0.02)
		d.Must(os.WriteFile(program, []byte(script), 0o755))
		root := filepath.Join(gittest.Temp(t), "work")
		o := gittest.Options(d.Path, nil)
		var sound, weak *workspace.Worktrees
		r := testkit.Must(workspace.Open(ctx, o))(d)
		sound = testkit.Must(workspace.OpenWorktrees(r, root))(d)
		mortal := *r
		mortal.Git.Program = program
		weak = testkit.Must(workspace.OpenWorktrees(&mortal, root))(d)

		if _, err := weak.Create(ctx, spec(1, kind)); err != nil {
			killed++
		}
		w, err := sound.Create(ctx, spec(1, kind))
		testkit.Need(t, err == nil, "round %d, %s: %v", round, kind, err)
		there := gittest.Dir{TB: t, Path: w.Dir}
		status := there.Git("status", "--porcelain")
		testkit.Need(t, status == "", "round %d, %s: %s", round, kind, status)
		there.Write("d1/f1", "wip\n", "new", "wip\n")
		if _, err := weak.Remove(ctx, w, false); err != nil {
			killed++
		}
		_, err = sound.Remove(ctx, w, false)
		testkit.Need(t, err == nil, "round %d, %s: %v", round, kind, err)
		want := template.Tree("trunk")
		want["d1/f1"], want["new"] = "100644 wip\n", "100644 wip\n"
		diff := cmp.Diff(want, d.Tree(r.Ref("orch-1/wip")))
		testkit.Need(t, diff == "", "round %d, %s: saved (-want +got):\n%s", round, kind, diff)
	}
	testkit.Check(t, killed >= 10, "only %d operations were interrupted", killed)
}

func TestCreateKilled(t *testing.T) {
	for _, kind := range kinds {
		d := gittest.New(t, project)
		d.Write(".env", "1\n")
		for n := 1; ; n++ {
			c := d.Copy()
			root := filepath.Join(filepath.Dir(c.Path), "work")
			if !gittest.Killed(t, "create", n, c.Path, root, string(kind)) {
				testkit.Check(t, n >= 3, "%s: only %d steps", kind, n-1)
				break
			}
			m := testkit.Must(workspace.OpenWorktrees(c.Open(nil), root))(c)
			w, err := m.Create(ctx, spec(1, kind))
			if err != nil {
				t.Errorf("%s, killed after step %d: %v", kind, n, err)
				continue
			}
			there := gittest.Dir{TB: t, Path: w.Dir}
			status := there.Git("status", "--porcelain")
			testkit.Check(t, status == "" && w.Included == 1 && there.Files()[".env"] != "",
				"%s, killed after step %d: %q, %+v", kind, n, status, w)
		}
	}
}

// TestUnfinishedIsRemoved: nothing remains of a Create that was killed at any step.
func TestUnfinishedIsRemoved(t *testing.T) {
	for i, kind := range kinds {
		for n := 1 + i%gittest.Stride(3); ; n += gittest.Stride(3) { // by day every third step, of each kind others
			d := gittest.New(t, map[string]string{"a": "1\n"})
			root := filepath.Join(gittest.Temp(t), "work")
			if !gittest.Killed(t, "create", n, d.Path, root, string(kind)) {
				break
			}
			m, err := workspace.OpenWorktrees(d.Open(nil), root)
			record := os.WriteFile(filepath.Join(root, ".arbiter-x.tmp"), nil, 0o600) // see statedir.WriteWhole
			d.Must(err, record, m.RemoveRest(ctx))
			left, err := os.ReadDir(root)
			all, listErr := m.List()
			d.Must(err, listErr)
			if len(all) == 0 && len(left) > 0 || len(all) == 0 && strings.Contains(d.Git("worktree", "list"), "\n") {
				t.Errorf("%s, killed after step %d: left %v; %s", kind, n, left, d.Git("worktree", "list"))
			}
		}
	}
}

func TestRemoveKilled(t *testing.T) {
	for i, kind := range kinds {
		for n := 1 + i%gittest.Stride(3); ; n += gittest.Stride(3) { // by day every third step, of each kind others
			d := gittest.New(t, map[string]string{"a": "1\n"})
			m, r := manager(d)
			w := testkit.Must(m.Create(ctx, spec(1, kind)))(d)
			there := gittest.Dir{TB: t, Path: w.Dir}
			there.Write("a", "wip\n", "b", "wip\n")
			killed := gittest.Killed(t, "remove", n, d.Path, filepath.Dir(w.Dir), string(kind))
			testkit.Works(t, fmt.Sprintf("%s, killed after step %d", kind, n), testkit.Err(m.Remove(ctx, w, false)))
			want := map[string]string{"a": "100644 wip\n", "b": "100644 wip\n"}
			testkit.Same(t, fmt.Sprintf("%s, killed after step %d", kind, n), want, d.Tree(r.Ref("orch-1/wip")))
			left, err := os.ReadDir(filepath.Dir(w.Dir))
			list := d.Git("worktree", "list")
			testkit.Check(t, err == nil && len(left) == 0 && !strings.Contains(list, "\n"),
				"%s, killed after step %d: left %v, %v; %s", kind, n, left, err, list)
			if !killed {
				testkit.Check(t, n >= 5, "%s: only %d steps", kind, n-1)
				break
			}
		}
	}
}

func TestReaderKilled(t *testing.T) {
	d := gittest.New(t, project)
	for n := 1; ; n++ {
		c := d.Copy()
		root := filepath.Join(filepath.Dir(c.Path), "work")
		if !gittest.Killed(t, "read", n, c.Path, root, "") {
			break
		}
		m := testkit.Must(workspace.OpenWorktrees(c.Open(nil), root))(c)
		dir, err := m.Reader(ctx, "trunk")
		testkit.Check(t, err == nil && (gittest.Dir{TB: t, Path: dir}).Git("status", "--porcelain") == "",
			"killed after step %d: %v", n, err)
	}
}

// play is a run with several Orchestrators. Each line that an Orchestrator writes is unique, and stays.
type play struct {
	*rand.Rand
	gittest.Dir
	repo     *workspace.Repo
	manager  *workspace.Worktrees
	trees    []workspace.Worktree
	lines    map[int][]string // written, by Orchestrator
	reported map[int][]string // files in the last conflict, by Orchestrator; nil if the last merge went well
	count    int

	conflicts int
}

var files = []string{"a", "dir/c", "fresh"}

// write inserts a line somewhere.
func (p *play) write(w workspace.Worktree) {
	path := filepath.Join(w.Dir, files[p.IntN(len(files))])
	text, _ := os.ReadFile(path)
	lines := strings.SplitAfter(string(text), "\n")
	p.count++
	line := fmt.Sprintf("line %d of %d\n", p.count, w.Orchestrator)
	lines = slices.Insert(lines, p.IntN(len(lines)), line)
	p.Must(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(strings.Join(lines, "")), 0o644))
	p.lines[w.Orchestrator] = append(p.lines[w.Orchestrator], line)
}

// merge merges the work into the run branch. After a conflict the Orchestrator may merge in its own
// worktree.
func (p *play) merge(w workspace.Worktree) {
	head := testkit.Must(p.manager.Head(ctx, w))(p)
	result := testkit.Must(workspace.MergeInto(ctx, p.repo, p.repo.Branch("main"), head, "merge "+w.Branch))(p)
	p.reported[w.Orchestrator] = result.Files
	if result.Status == workspace.MergeConflict {
		p.conflicts++
	}
	if result.Status != workspace.MergeConflict || p.IntN(2) == 0 {
		return
	}
	there := gittest.Dir{TB: p.TB, Path: w.Dir}
	there.Commit("before merging")
	if w.Kind == workspace.WorktreeClone {
		there.Git("fetch", "-q", p.Path, p.repo.Branch("main"))
	} else {
		there.Git("fetch", "-q", ".", p.repo.Branch("main"))
	}
	if there.Command("merge", "-q", "FETCH_HEAD").Run() != nil {
		for name := range there.Files() {
			path := filepath.Join(w.Dir, name)
			text := testkit.Must(os.ReadFile(path))(p)
			both := slices.DeleteFunc(strings.SplitAfter(string(text), "\n"), func(l string) bool {
				return strings.HasPrefix(l, "<<<<<<<") || strings.HasPrefix(l, "=======") ||
					strings.HasPrefix(l, ">>>>>>>")
			})
			p.Must(os.WriteFile(path, []byte(strings.Join(both, "")), 0o644))
		}
		there.Commit("resolved")
	}
	p.merge(w)
}

// TestNoWorkIsLost: several Orchestrators work at random, commit or do not, are merged or conflict, and
// are removed. Every line is in the run branch, or on the branch of a reported conflict, or in the saved
// changes.
func TestNoWorkIsLost(t *testing.T) {
	rounds, conflicts, saved := 2, 0, 0
	if testkit.AtNight() {
		rounds = 60
	}
	for seed := range rounds {
		d := gittest.New(t, map[string]string{"a": "1\n2\n3\n4\n5\n", "b": "1\n2\n3\n", "dir/c": "1\n"})
		p := &play{Rand: rand.New(rand.NewPCG(uint64(seed), 5)), Dir: d, lines: map[int][]string{},
			reported: map[int][]string{}}
		p.manager, p.repo = manager(d)
		testkit.OK(d, testkit.Err(workspace.MergeInto(ctx, p.repo, p.repo.Branch("main"), "trunk", "start")))
		for n := range 2 + p.IntN(3) {
			w, err := p.manager.Create(
				ctx,
				workspace.WorktreeSpec{Orchestrator: n, Generation: 1, Kind: kinds[p.IntN(2)],
					From: p.repo.Branch("main")},
			)
			d.Must(err)
			p.trees = append(p.trees, w)
		}
		for range 20 {
			w := p.trees[p.IntN(len(p.trees))]
			switch p.IntN(5) {
			case 0:
				p.merge(w)
			case 1, 2:
				(gittest.Dir{TB: t, Path: w.Dir}).Commit("work")
			default:
				p.write(w)
			}
		}
		for _, w := range p.trees {
			p.merge(w)
		}
		conflicts += p.conflicts
		for _, w := range p.trees {
			s := testkit.Must(p.manager.Remove(ctx, w, false))(d)
			places := []string{all(d, p.repo.Branch("main"))}
			if s.Commit != "" {
				saved++
				places = append(places, all(d, s.Commit))
			}
			if len(p.reported[w.Orchestrator]) > 0 {
				places = append(places, all(d, w.Branch))
			}
			for _, line := range p.lines[w.Orchestrator] {
				testkit.Check(t, slices.ContainsFunc(places, func(text string) bool { return strings.Contains(text, line) }),
					"seed %d: %q of %s (%s) is lost", seed, line, w.Branch, w.Kind)
			}
		}
	}
	testkit.Check(t, conflicts != 0 && saved != 0,
		"%d conflicts, %d times something was saved: the test shows nothing", conflicts, saved)
}

func all(d gittest.Dir, commit string) string {
	var text strings.Builder
	for _, content := range d.Tree(commit) {
		text.WriteString(content)
	}
	return text.String()
}
