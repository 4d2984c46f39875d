package workspace_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
)

const main = "refs/heads/arbiter/" + gittest.RUN8 + "/main"

var landOperations = gittest.Operations{
	"land": func(step func(string), args []string) error {
		r, err := workspace.Open(ctx, gittest.Options(args[0], step))
		if err == nil {
			q := workspace.LandRequest{Commit: main, Squash: args[1] == "squash"}
			if args[1] == "here" {
				q = here(r)
			}
			_, err = workspace.Land(ctx, r, q)
		}
		return err
	},
}

// workedLand makes a repository with branch trunk checked out, and a run's work on its branch.
func workedLand(t testing.TB, diverged bool) gittest.Dir {
	d := gittest.New(t, map[string]string{
		"edit": "1\n2\n3\n4\n5\n6\n7\n", "gone": "1\n", "dir/x": "1\n", "kind": "1\n", "run": "1\n",
		".gitignore": "*.log\n", "other": "1\n",
	})
	d.Git("checkout", "-q", "-b", "arbiter/"+gittest.RUN8+"/main")
	d.Write("edit", "1\n2\n3\n4\n5\n6\nseven\n")
	d.Remove("gone")
	d.Remove("dir")
	d.Write("dir", "a file now\n")
	d.Link("kind", "edit")
	d.Chmod("run", 0o755)
	d.Write("new/file", "n\n")
	d.Commit("work")
	d.Git("checkout", "-q", "trunk")
	if diverged {
		d.Write("edit", "one\n2\n3\n4\n5\n6\n7\n")
		d.Commit("meanwhile")
	}
	return d
}

func check(t *testing.T, d gittest.Dir, want map[string]string, status string) {
	t.Helper()
	testkit.Same(t, "HEAD", want, d.Tree("HEAD"))
	testkit.Same(t, "status", status, d.Git("status", "--porcelain"))
	testkit.Same(t, "left", "", d.Git("for-each-ref", "refs/arbiter"))
	testkit.Same(t, "on", "refs/heads/trunk", d.Git("symbolic-ref", "HEAD"))
}

var landed = map[string]string{
	"edit": "100644 1\n2\n3\n4\n5\n6\nseven\n", "dir": "100644 a file now\n", "kind": "120000 edit",
	"run": "100755 1\n", "new/file": "100644 n\n", ".gitignore": "100644 *.log\n", "other": "100644 1\n",
}

func merged() map[string]string {
	want := map[string]string{}
	for name, text := range landed {
		want[name] = text
	}
	want["edit"] = "100644 one\n2\n3\n4\n5\n6\nseven\n"
	return want
}

// TestLandWritesNoLogElsewhere: a link that an agent has put in place of a log of references is reported, and git
// appends nothing to what it leads to.
func TestLandWritesNoLogElsewhere(t *testing.T) {
	for _, name := range []string{"", "HEAD", "refs/heads", "refs/heads/trunk", "refs/heads/pipe"} {
		t.Run(name, func(t *testing.T) {
			d := workedLand(t, false)
			before := d.Git("rev-parse", "HEAD")
			elsewhere := filepath.Join(t.TempDir(), "trunk")
			testkit.OK(t, os.WriteFile(elsewhere, nil, 0o600))
			log := filepath.Join(d.Path, ".git/logs", name)
			testkit.OK(t, os.RemoveAll(log))
			switch filepath.Base(name) {
			case "pipe":
				testkit.OK(t, syscall.Mkfifo(log, 0o600))
			case "HEAD", "trunk":
				testkit.OK(t, os.Symlink(elsewhere, log))
			default:
				testkit.OK(t, os.Symlink(filepath.Dir(elsewhere), log))
			}
			_, err := workspace.Land(ctx, d.Open(nil), workspace.LandRequest{Commit: main})
			testkit.Fails(t, "landing", err, "is neither a file nor a directory")
			testkit.Same(t, "elsewhere", "", string(testkit.Must(os.ReadFile(elsewhere))(t)))
			testkit.Same(t, "HEAD", before, d.Git("rev-parse", "HEAD"))
		})
	}
}

func TestLand(t *testing.T) {
	for name, c := range map[string]struct {
		diverged bool
		request  workspace.LandRequest
		want     map[string]string
		status   workspace.MergeStatus
		parents  int
		subject  string
	}{
		"keep the commits": {false, workspace.LandRequest{}, landed, workspace.MergeMade, 2,
			"Land the work of Arbiter's run 0123abcd"},
		"with message": {false, workspace.LandRequest{Message: "All of it"}, landed, workspace.MergeMade, 2, "All of it"},
		"squash":       {false, workspace.LandRequest{Squash: true, Message: "One"}, landed, workspace.MergeMade, 1, "One"},
		"merge": {true, workspace.LandRequest{}, merged(), workspace.MergeMade, 2,
			"Land the work of Arbiter's run 0123abcd"},
		"squash merge": {true, workspace.LandRequest{Squash: true}, merged(), workspace.MergeMade, 1,
			"Land the work of Arbiter's run 0123abcd"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := workedLand(t, c.diverged)
			before := d.Git("rev-parse", "HEAD")
			// The user's uncommitted changes in other files stay.
			d.Write("other", "staged\n")
			d.Git("add", "other")
			d.Write("other", "changed\n", "untracked", "mine\n", "x.log", "mine\n")
			c.request.Commit = main
			r := d.Open(nil)
			got := testkit.Must(workspace.Land(ctx, r, c.request))(d)
			want := workspace.Landed{Branch: "refs/heads/trunk", Before: before, Head: d.Git("rev-parse", "HEAD"),
				Status: c.status, Tree: d.Git("rev-parse", "HEAD^{tree}"), Work: d.Git("rev-parse", main)}
			testkit.Same(t, "", want, got)
			check(t, d, c.want, "MM other\n?? untracked")
			parents := strings.Fields(d.Git("log", "-1", "--format=%P"))
			subject := d.Git("log", "-1", "--format=%s")
			testkit.Check(t, subject == c.subject && len(parents) == c.parents, "%q with parents %v", subject, parents)
			for _, log := range []string{"HEAD", "trunk"} {
				testkit.Same(t, "reflog", "arbiter: land run "+gittest.RUN8, d.Git("reflog", "-1", "--format=%gs", log))
			}
			again, err := workspace.Land(ctx, r, c.request)
			testkit.Check(t, err == nil && again.Status == workspace.MergeNothing && again.Head == got.Head,
				"again: %+v, %v", again, err)
		})
	}
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		do    func(d gittest.Dir)
		check func(err error) bool
	}{
		"edited": {func(d gittest.Dir) { d.Write("edit", "mine\n") }, dirty("edit")},
		"staged": {func(d gittest.Dir) {
			d.Write("edit", "mine\n")
			d.Git("add", "edit")
			d.Write("edit", "1\n2\n3\n4\n5\n6\n7\n")
		}, dirty("edit")},
		"deleted, and edited there": {func(d gittest.Dir) { d.Remove("edit") }, dirty("edit")},
		"edited, and deleted there": {func(d gittest.Dir) { d.Write("gone", "mine\n") }, dirty("gone")},
		"executable":                {func(d gittest.Dir) { d.Chmod("kind", 0o755) }, dirty("kind")},
		"untracked in the way":      {func(d gittest.Dir) { d.Write("new/file", "mine\n") }, dirty("new/file")},
		"untracked file, directory": {func(d gittest.Dir) { d.Write("new", "mine\n") }, dirty("new/file")},
		"ignored in a directory":    {func(d gittest.Dir) { d.Write("dir/x.log", "mine\n") }, dirty("dir")},
		"untracked in a directory":  {func(d gittest.Dir) { d.Write("dir/mine", "mine\n") }, dirty("dir")},
		"directory that is a link":  {func(d gittest.Dir) { d.Link("new", ".git") }, dirty("new/file")},
		"detached": {func(d gittest.Dir) { d.Git("checkout", "-q", "--detach") },
			refused("HEAD is detached")},
		"conflicts without a merge": {unmerged, busy("resolution of conflicts")},
		"merge":                     {func(d gittest.Dir) { diverge(d, "merge") }, busy("merge")},
		"rebase":                    {func(d gittest.Dir) { diverge(d, "rebase") }, busy("rebase")},
		"nothing to land": {func(d gittest.Dir) { d.Git("update-ref", "-d", main) }, func(err error) bool {
			return err != nil
		}},
		"conflict": {func(d gittest.Dir) { d.Write("edit", "mine\n"); d.Commit("mine") },
			refused(`the same lines in "edit": nothing`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := workedLand(t, false)
			c.do(d)
			files, private := d.Files(), d.Private()
			_, err := workspace.Land(ctx, d.Open(nil), workspace.LandRequest{Commit: main})
			testkit.Check(t, c.check(err), "error %v", err)
			testkit.Same(t, "files changed", files, d.Files())
			testkit.Same(t, "the repository changed", private, d.Private())
			testkit.Same(t, "left", "", d.Git("for-each-ref", "refs/arbiter"))
		})
	}
}

func refused(why string) func(error) bool {
	return func(err error) bool {
		var e *workspace.LandError
		return errors.As(err, &e) && strings.Contains(e.Reason, why)
	}
}

func dirty(path string) func(error) bool {
	return refused(fmt.Sprintf("overwritten in %q: commit them", path))
}

func busy(operation string) func(error) bool { return refused("a " + operation + " is under way") }

// diverge leaves an unfinished operation that stopped at a conflict.
func diverge(d gittest.Dir, operation string) {
	d.Git("checkout", "-q", "-b", "side")
	d.Write("other", "side\n")
	d.Commit("side")
	d.Git("checkout", "-q", "trunk")
	d.Write("other", "trunk\n")
	d.Commit("trunk")
	testkit.Need(d, d.Command(operation, "side").Run() != nil, "%s: no conflict", operation)
}

func unmerged(d gittest.Dir) {
	d.Write("other", "stashed\n")
	d.Git("stash", "-q")
	d.Write("other", "trunk\n")
	d.Commit("trunk")
	testkit.Need(d, d.Command("stash", "pop").Run() != nil, "no conflict")
}

// TestAlreadyThere: files that already have their new content are not an obstacle.
func TestAlreadyThere(t *testing.T) {
	d := workedLand(t, false)
	d.Write("edit", "1\n2\n3\n4\n5\n6\nseven\n")
	d.Git("add", "edit")
	d.Write("new/file", "n\n")
	d.Remove("gone")
	testkit.OK(d, testkit.Err(workspace.Land(ctx, d.Open(nil), workspace.LandRequest{Commit: main})))
	check(t, d, landed, "")
}

func TestSparse(t *testing.T) {
	d := workedLand(t, false)
	d.Git("checkout", "-q", "-b", "wide", main)
	d.Write("out/a", "2\n", "new/file", "more\n")
	d.Commit("more")
	d.Git("update-ref", main, "wide")
	d.Git("checkout", "-q", "trunk")
	d.Git("sparse-checkout", "set", "--cone", "new")
	testkit.OK(d, testkit.Err(workspace.Land(ctx, d.Open(nil), workspace.LandRequest{Commit: main})))
	want := d.Tree("wide")
	check(t, d, want, "")
}

func TestLandKilled(t *testing.T) {
	stride := map[string]int{"merge": gittest.Stride(13), "squash": gittest.Stride(17)}
	for kind, request := range map[string]workspace.LandRequest{"merge": {Commit: main},
		"squash": {Commit: main, Squash: true}} {
		d := workedLand(t, true)
		d.Write("other", "mine\n")
		for n, c := range d.EachKill("land", stride[kind], 12, kind) {
			testkit.OK(c, testkit.Err(workspace.Land(ctx, c.Open(nil), request)))
			check(t, c, merged(), "M other")
			testkit.Same(t, fmt.Sprintf("%s, killed after step %d", kind, n), "3",
				c.Git("rev-list", "--count", "--first-parent", "HEAD"))
		}
	}
}

// here lands what a run changed in the user's files, without what it built.
func here(r *workspace.Repo) workspace.LandRequest {
	return workspace.LandRequest{Commit: r.Ref(workspace.End), Since: r.Ref(workspace.Base), Here: true, Squash: true,
		Without: []string{"built/a.o"}, Note: []byte("a note\n\n# kept\n")}
}

// TestLandHere: a run worked in the user's files. What was uncommitted before stays uncommitted, also in a file that
// the run changed; files are left alone, and the note is that of the commit. So it is after a kill at each step.
func TestLandHere(t *testing.T) {
	d := gittest.New(t, map[string]string{"both": "1\n2\n3\n4\n5\n", "edit": "1\n", "gone": "1\n", "staged": "1\n"})
	d.Write("both", "mine\n2\n3\n4\n5\n", "staged", "2\n")
	d.Git("add", "staged")
	d.Write("untracked", "mine\n")
	r := d.Open(nil)
	testkit.OK(d, testkit.Err(r.Once(ctx, workspace.Base)))
	d.Write("both", "mine\n2\n3\n4\nrun\n", "edit", "run\n")
	d.Remove("gone")
	d.Write("dir/new", "run\n", "built/a.o", "run\n")
	testkit.OK(d, testkit.Err(r.Again(ctx, workspace.End)))
	d.Write("edit", "later\n")
	q := here(r)
	plan := testkit.Must(workspace.PlanLand(ctx, r, q))(d)
	q.Tree = d.Git("rev-parse", "HEAD^{tree}")
	testkit.Fails(t, "another tree than planned", testkit.Err(workspace.Land(ctx, r, q)), workspace.ErrMoved)
	files := d.Files()
	for n := 1; ; n += gittest.Stride(5) {
		c := d.Copy()
		killed := gittest.Killed(t, "land", n, c.Path, "here")
		testkit.OK(c, testkit.Err(workspace.Land(ctx, c.Open(nil), here(c.Open(nil)))))
		if tree := c.Git("rev-parse", "HEAD^{tree}"); tree != plan.Tree || c.Git("rev-list", "--count", "HEAD") != "2" {
			t.Errorf("killed after step %d: tree %s, want %s\n%s", n, tree, plan.Tree, c.Git("log", "--stat"))
		}
		want := map[string]string{"both": "100644 1\n2\n3\n4\nrun\n", "edit": "100644 run\n", "dir/new": "100644 run\n",
			"staged": "100644 1\n"}
		testkit.Same(t, fmt.Sprintf("killed after step %d: HEAD", n), want, c.Tree("HEAD"))
		testkit.Same(t, fmt.Sprintf("killed after step %d: files changed", n), files, c.Files())
		got := c.Git("status", "--porcelain", "-uall")
		testkit.Check(t, got == "M both\n M edit\nM  staged\n?? built/a.o\n?? untracked",
			"killed after step %d: status %q", n, got)
		note, err := c.Open(nil).Note(ctx, c.Git("rev-parse", "HEAD"), 100)
		testkit.Check(t, err == nil && string(note) == "a note\n\n# kept\n",
			"killed after step %d: note %q, %v", n, note, err)
		if !killed {
			testkit.Check(t, n >= 10, "only %d steps", n-1)
			break
		}
	}
	// A later snapshot is compared with what was landed, and what was left out can follow.
	d.Must(func() error { _, err := workspace.Land(ctx, r, here(r)); return err }())
	d.Write("dir/new", "more\n")
	testkit.OK(d, testkit.Err(r.Again(ctx, workspace.End)))
	q = here(r)
	q.Since, q.Without = plan.Work, nil
	testkit.OK(d, testkit.Err(workspace.Land(ctx, r, q)))
	testkit.Same(t, "landed then", "built/a.o\ndir/new\nedit", d.Git("show", "--format=", "--name-only", "HEAD"))
}

// TestDamaged: each object of a commit is compared with its name.
func TestDamaged(t *testing.T) {
	d := gittest.New(t, map[string]string{"a": "1\n", "dir/b": "2\n", "dir/a": "1\n"})
	r := d.Open(nil)
	commit := testkit.Must(r.Commit(ctx, "HEAD"))(d)
	path := func(id string) string { return filepath.Join(d.Path, ".git/objects", id[:2], id[2:]) }
	bad, err := r.Damaged(ctx, commit)
	testkit.Check(t, err == nil && bad == "", "%q, %v", bad, err)
	for _, name := range []string{"HEAD:a", "HEAD:dir/b", "HEAD:dir", "HEAD^{tree}"} {
		id := d.Git("rev-parse", name)
		text := testkit.Must(os.ReadFile(path(id)))(d)
		kind := d.Git("cat-file", "-t", id)
		other := d.Git("rev-parse", map[string]string{"blob": "HEAD:dir/b", "tree": "HEAD:dir"}[kind])
		if other == id {
			other = d.Git("rev-parse", map[string]string{"blob": "HEAD:a", "tree": "HEAD^{tree}"}[kind])
		}
		planted, err := os.ReadFile(path(other))
		d.Must(err, os.Remove(path(id)), os.WriteFile(path(id), planted, 0o444))
		bad, err := r.Damaged(ctx, commit)
		testkit.Check(t, err == nil && bad != "", "%s: another content is not found: %v", name, err)
		d.Must(os.Remove(path(id)))
		bad, err = r.Damaged(ctx, commit)
		testkit.Check(t, err == nil && bad != "", "%s: it is missing, and that is not found: %v", name, err)
		d.Must(os.WriteFile(path(id), text, 0o444))
	}
}

// TestInterrupted: a landing is interrupted, and the user continues before it is finished.
func TestInterrupted(t *testing.T) {
	whole := workedLand(t, true)
	var half gittest.Dir
	for n := 1; half.Path == ""; n++ {
		c := whole.Copy()
		testkit.Need(t, gittest.Killed(t, "land", n, c.Path, "merge"), "never half done")
		if _, err := os.Lstat(filepath.Join(c.Path, "gone")); err != nil {
			half = c
		}
	}
	t.Run("commits", func(t *testing.T) {
		d := gittest.Dir{TB: t, Path: half.Path}.Copy()
		d.Write("mine", "1\n")
		d.Git("add", "mine")
		d.Git("commit", "-q", "-m", "mine")
		got := testkit.Must(workspace.Land(ctx, d.Open(nil), workspace.LandRequest{Commit: main}))(d)
		want := merged()
		want["mine"] = "100644 1\n"
		check(t, d, want, "")
		testkit.Check(t, got.Before == d.Git("rev-parse", "HEAD^"), "%+v", got)
	})
	t.Run("edits", func(t *testing.T) {
		d := gittest.Dir{TB: t, Path: half.Path}.Copy()
		d.Write("edit", "mine\n")
		_, err := workspace.Land(ctx, d.Open(nil), workspace.LandRequest{Commit: main})
		testkit.Need(t, dirty("edit")(err), "%v", err)
		d.Git("checkout", "edit")
		got := testkit.Must(workspace.Land(ctx, d.Open(nil), workspace.LandRequest{Commit: main}))(d)
		check(t, d, merged(), "")
		testkit.Check(t, got.Status == workspace.MergeMade, "%+v", got)
	})
}

// TestLandHereFiltered: a snapshot has the files of a filter that does not run as they are, which no commit must have.
func TestLandHereFiltered(t *testing.T) {
	d := gittest.New(t, map[string]string{"a.secret": "hidden\n", ".gitattributes": "*.secret filter=hide\n"})
	d.Git("config", "filter.hide.clean", "sed s/shown/hidden/")
	d.Git("config", "filter.hide.smudge", "sed s/hidden/shown/")
	r := d.Open(nil)
	testkit.OK(d, testkit.Err(r.Once(ctx, workspace.Base)))
	d.Write("a.secret", "shown again\n")
	testkit.OK(d, testkit.Err(r.Again(ctx, workspace.End)))
	q := here(r)
	q.Without = nil
	_, err := workspace.PlanLand(ctx, r, q)
	filtered := refused("need the filter")
	testkit.Check(t, filtered(err), "planned: %v", err)
	_, err = workspace.Land(ctx, r, q)
	testkit.Check(t, filtered(err) && d.Git("rev-list", "--count", "HEAD") == "1", "landed: %v", err)
}
