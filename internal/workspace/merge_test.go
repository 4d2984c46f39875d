package workspace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
)

var mergeOperations = gittest.Operations{
	"merge": func(step func(string), args []string) error {
		r, err := workspace.Open(ctx, gittest.Options(args[0], step))
		if err == nil {
			_, err = workspace.MergeInto(ctx, r, r.Branch("main"), "refs/heads/side", "join")
		}
		return err
	},
}

// branches makes a repository with branch trunk, and a branch side next to it.
func branches(t testing.TB, trunk, side map[string]string) gittest.Dir {
	d := gittest.New(t, map[string]string{"a": "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "b": "1\n"})
	d.Git("branch", "side")
	for name, text := range trunk {
		d.Write(name, text)
	}
	d.Commit("trunk")
	d.Git("checkout", "-q", "side")
	for name, text := range side {
		d.Write(name, text)
	}
	d.Commit("side")
	d.Git("checkout", "-q", "trunk")
	d.Git("branch", "arbiter/"+gittest.RUN8+"/main", "trunk")
	return d
}

func TestInto(t *testing.T) {
	d := branches(t, map[string]string{"a": "one\n2\n3\n4\n5\n6\n7\n8\n9\n"},
		map[string]string{"a": "1\n2\n3\n4\n5\n6\n7\n8\nnine\n", "c": "3\n"})
	d.Write("a", "not committed\n")
	private, files := d.Private(), d.Files()
	r := d.Open(nil)
	ref := r.Branch("main")
	got := testkit.Must(workspace.MergeInto(ctx, r, ref, "side", "join\n\nthe work"))(d)
	testkit.Check(t, got.Status == workspace.MergeMade && got.Head == d.Git("rev-parse", ref) &&
		got.Before == d.Git("rev-parse", "trunk") &&
		d.Git("rev-parse", ref+"^2") == d.Git("rev-parse", "side"), "%+v", got)
	want := map[string]string{"a": "100644 one\n2\n3\n4\n5\n6\n7\n8\nnine\n", "b": "100644 1\n", "c": "100644 3\n"}
	testkit.Same(t, "", want, d.Tree(ref))
	ident := d.Git("log", "-1", "--format=%an %cn %s|%b", ref)
	testkit.Check(t, strings.HasPrefix(ident, "A C join|the work"), "commit by %q", ident)
	again := testkit.Must(workspace.MergeInto(ctx, r, ref, "side", "join"))(d)
	testkit.Check(t, again.Status == workspace.MergeNothing && again.Head == got.Head, "again: %+v", again)
	forward := testkit.Must(workspace.MergeInto(ctx, r, "refs/heads/side", ref, "back"))(d)
	testkit.Check(t, forward.Status == workspace.MergeForward && forward.Head == got.Head &&
		d.Git("rev-parse", "side") == got.Head, "forward: %+v", forward)
	created := testkit.Must(workspace.MergeInto(ctx, r, r.Branch("fresh"), "trunk", "start"))(d)
	testkit.Check(t, created.Status == workspace.MergeForward && created.Before == "" &&
		d.Git("rev-parse", r.Branch("fresh")) == created.Head, "created: %+v", created)
	d.Git("update-ref", "refs/heads/side", "side^2") // back, for the comparison
	testkit.Same(t, "the user's part of the repository changed", private, d.Private(), ignoreSide)
	testkit.Same(t, "files changed", files, d.Files())
	testkit.Fails(t, "merged what does not exist", testkit.Err(workspace.MergeInto(ctx, r, ref, "no-such", "x")))
}

var ignoreSide = cmp.FilterPath(func(p cmp.Path) bool {
	k, ok := p.Index(-1).(cmp.MapIndex)
	return ok && strings.Contains(k.Key().String(), "heads/side")
}, cmp.Ignore())

func TestConflict(t *testing.T) {
	d := branches(t, map[string]string{"a": "x\n", "line\nend": "1\n"},
		map[string]string{"a": "y\n", "line\nend": "2\n", "c": "3\n"})
	r := d.Open(nil)
	before := d.Git("for-each-ref")
	got := testkit.Must(workspace.MergeInto(ctx, r, r.Branch("main"), "side", "join"))(d)
	testkit.Check(t, got.Status == workspace.MergeConflict && got.Head == d.Git("rev-parse", "trunk"), "%+v", got)
	testkit.Same(t, "", []string{"a", "line\nend"}, got.Files)
	testkit.Same(t, "something moved", before, d.Git("for-each-ref"))
}

// TestMovedMeanwhile: the branch moves while the merge is computed. Nothing is lost, and the merge can be
// repeated.
func TestMovedMeanwhile(t *testing.T) {
	d := branches(t, map[string]string{"t": "1\n"}, map[string]string{"s": "1\n"})
	ref := "refs/heads/arbiter/" + gittest.RUN8 + "/main"
	other := d.Git("commit-tree", "trunk^{tree}", "-p", "trunk", "-m", "other")
	r := d.Open(func(step string) {
		if step == "git commit-tree" {
			d.Git("update-ref", ref, other)
		}
	})
	if got, err := workspace.MergeInto(ctx, r, ref, "side", "join"); !errors.Is(err, workspace.ErrMoved) {
		t.Fatalf("%+v, %v", got, err)
	}
	testkit.Same(t, "the other process's commit is lost", other, d.Git("rev-parse", ref))
	got := testkit.Must(workspace.MergeInto(ctx, d.Open(nil), ref, "side", "join"))(d)
	testkit.Check(t, d.Git("rev-parse", got.Head+"^1") == other, "%+v", got)
}

func TestNoIdentity(t *testing.T) {
	d := branches(t, map[string]string{"t": "1\n"}, map[string]string{"s": "1\n"})
	o := gittest.Options(d.Path, nil)
	o.Env = o.Env[:4] // without names
	r := testkit.Must(workspace.Open(ctx, o))(d)
	got := testkit.Must(workspace.MergeInto(ctx, r, r.Branch("main"), "side", "join"))(d)
	testkit.Same(t, "by", "Arbiter <arbiter@localhost> Arbiter", d.Git("log", "-1", "--format=%an <%ae> %cn", got.Head))
	d.Git("config", "user.name", "U")
	d.Git("config", "user.email", "u@example.com")
	d.Git("update-ref", r.Branch("main"), "trunk")
	got = testkit.Must(workspace.MergeInto(ctx, r, r.Branch("main"), "side", "join"))(d)
	testkit.Same(t, "by", "U <u@example.com> U", d.Git("log", "-1", "--format=%an <%ae> %cn", got.Head))
}

func TestMergeKilled(t *testing.T) {
	d := branches(t, map[string]string{"t": "1\n"}, map[string]string{"s": "1\n"})
	for n, c := range d.EachKill("merge", 1, 4) {
		r := c.Open(nil)
		got := testkit.Must(workspace.MergeInto(ctx, r, r.Branch("main"), "side", "join"))(c)
		testkit.Check(t, got.Status != workspace.MergeConflict &&
			c.Git("rev-list", "--count", "trunk.."+r.Branch("main")) == "2", "killed after step %d: %+v", n, got)
	}
}

// workedCarry is a repository in which a run worked, a copy of it from before the run, and the bundle.
func workedCarry(t *testing.T, work func(d gittest.Dir)) (from, to gittest.Dir, base, file string) {
	t.Helper()
	ctx := context.Background()
	from = gittest.New(t, map[string]string{"kept": "1\n", "changed": "1\n", "gone": "1\n", ".gitignore": "ignored\n"})
	to = from.Copy()
	r := from.Open(nil)
	testkit.OK(from, testkit.Err(r.Once(ctx, workspace.Base)))
	from.Write("changed", "2\n", "dir/new", "new\n", "ignored", "1\n")
	from.Remove("gone")
	if work != nil {
		work(from)
	}
	testkit.OK(from, testkit.Err(r.Again(ctx, workspace.End)))
	file = filepath.Join(t.TempDir(), "bundle")
	base = testkit.Must(workspace.PackRun(ctx, r, file))(from)
	return from, to, base, file
}

// TestCarry: the other clone has the files and the snapshots; its index and branch stay.
func TestCarry(t *testing.T) {
	ctx := context.Background()
	from, to, base, file := workedCarry(t, nil)
	before := to.Git("rev-parse", "HEAD", "HEAD^{tree}") + to.Git("ls-files", "--stage")
	for range 2 { // as after a crash
		testkit.Same(t, "head", base, testkit.Must(workspace.UnpackRun(ctx, to.Open(nil), file, base))(to))
	}
	want := from.Files()
	delete(want, "ignored")
	testkit.Same(t, "files", want, to.Files())
	testkit.Same(t, "HEAD and index were", before,
		to.Git("rev-parse", "HEAD", "HEAD^{tree}")+to.Git("ls-files", "--stage"))
	refs := "refs/arbiter/" + gittest.RUN8
	testkit.Same(t, "references", from.Git("for-each-ref", refs), to.Git("for-each-ref", refs))
	span := testkit.Must(to.Open(nil).Work(ctx))(to)
	changes, err := to.Open(nil).Changes(ctx, span.From, span.To)
	testkit.Check(t, err == nil && len(changes) == 3, "%v, %v", changes, err)
}

// TestCarryOfCommits: the run's commits are carried, too, and its head is reported.
func TestCarryOfCommits(t *testing.T) {
	committed := ""
	_, to, base, file := workedCarry(t, func(d gittest.Dir) { committed = d.Commit("of the run") })
	head := testkit.Must(workspace.UnpackRun(context.Background(), to.Open(nil), file, base))(to)
	testkit.Check(t, head != base && head == to.Git("rev-parse", "refs/arbiter/"+gittest.RUN8+"/export^1") &&
		(committed == "" || strings.HasPrefix(head, committed)), "head %s, committed %s", head, committed)
	to.Git("reset", "-q", head)
	testkit.Same(t, "status", "", to.Git("status", "--porcelain"))
}

// TestCarryIsRefused and changes nothing.
func TestCarryIsRefused(t *testing.T) {
	ctx := context.Background()
	_, to, base, file := workedCarry(t, nil)
	unpack := func(d gittest.Dir) error {
		t.Helper()
		files := d.Files()
		_, err := workspace.UnpackRun(ctx, d.Open(nil), file, base)
		diff := cmp.Diff(files, d.Files())
		testkit.Check(t, diff == "" && err != nil, "%v; files (-before +after):\n%s", err, diff)
		return err
	}
	other := gittest.New(t, map[string]string{"another": "1\n"})
	testkit.Fails(t, "another repository", unpack(other), "has no commit "+base)
	mine := to.Copy()
	mine.Write("changed", "mine\n", "dir/new", "mine\n")
	testkit.Fails(t, "other files", unpack(mine), "changed (", ", dir/new (")
	moved := to.Copy()
	moved.Git("update-ref", "refs/arbiter/"+gittest.RUN8+"/end", base)
	testkit.Fails(t, "another snapshot", unpack(moved), "/end is of the same run")
	for _, bad := range []string{"", "HEAD", "--upload-pack=x", base[:39]} {
		_, err := workspace.UnpackRun(ctx, to.Open(nil), file, bad)
		testkit.Check(t, err != nil, "begun with %q", bad)
	}
	text, err := os.ReadFile(file)
	to.Must(err, os.WriteFile(file, text[:len(text)-30], 0o600))
	_ = unpack(to)
	foreign := to.Copy()
	foreign.Git("commit", "-q", "--allow-empty", "-m", "foreign")
	foreign.Git("bundle", "create", "-q", file, "HEAD", "refs/heads/trunk", "^"+base)
	if err := unpack(to); !strings.Contains(err.Error(), "none of the run's") {
		t.Error(err)
	}
	_, err = workspace.PackRun(ctx, to.Open(nil), file)
	testkit.Check(t, errors.Is(err, workspace.ErrNoSnapshot), "packed without a snapshot: %v", err)
}
