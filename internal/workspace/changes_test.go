package workspace_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
)

func TestChanges(t *testing.T) {
	long := strings.Repeat("a line that stays\n", 20)
	d := gittest.New(t, map[string]string{
		"same": "1\n", "edit": "1\n2\n3\n", "gone": "1\n2\n", "old name": long, "bin": "\x00\x01", "run": "1\n",
		"kind": "1\n", "tab\tname": "1\n",
	})
	r := d.Open(nil)
	base := testkit.Must(r.Once(ctx, "base"))(d)
	d.Write("edit", "1\nzwei\n3\n4\n")
	d.Remove("gone")
	d.Remove("old name")
	d.Write("new\nname", long+"one more\n", "bin", "\x00\x02")
	d.Chmod("run", 0o755)
	d.Link("kind", "same")
	d.Write("tab\tname", "2\n", "\xffbytes", "other\n")
	end := testkit.Must(r.Again(ctx, "end"))(d)
	got := testkit.Must(r.Changes(ctx, base.Commit.ID, end.Commit.ID))(d)
	want := []workspace.Change{
		{Path: "bin", Status: workspace.Modified, Binary: true},
		{Path: "edit", Status: workspace.Modified, Added: 2, Deleted: 1},
		{Path: "gone", Status: workspace.Deleted, Deleted: 2},
		{Path: "kind", Status: workspace.Retyped, Added: 1, Deleted: 1},
		{Path: "new\nname", Old: "old name", Status: workspace.Renamed, Added: 1},
		{Path: "run", Status: workspace.Modified},
		{Path: "tab\tname", Status: workspace.Modified, Added: 1, Deleted: 1},
		{Path: "\xffbytes", Status: workspace.Added, Added: 1},
	}
	testkit.Same(t, "", want, got, cmpopts.IgnoreFields(workspace.Change{}, "From", "To"))
	none, err := r.Changes(ctx, end.Commit.ID, end.Commit.ID)
	testkit.Check(t, err == nil && len(none) == 0, "of the same: %v, %v", none, err)
	delta := testkit.Must(r.Delta(ctx, base.Commit.ID, end.Commit.ID))(d)
	if len(delta) != len(want)+1 { // a rename is two
		t.Errorf("%d paths: %v", len(delta), delta)
	}
}

func TestDiff(t *testing.T) {
	d := gittest.New(t, map[string]string{"a": "1\n2\n3\n", "b": "1\n", "*": "1\n", "dir/c": "1\n"})
	d.Git("config", "diff.external", "touch '"+d.Path+"/ran'")
	d.Git("config", "diff.noprefix", "true")
	d.Git("config", "diff.x.textconv", "touch '"+d.Path+"/ran'")
	d.Write(".gitattributes", "* diff=x\n")
	r := d.Open(nil)
	base := testkit.Must(r.Once(ctx, "base"))(d)
	d.Write("a", "1\nzwei\n3\n", "b", strings.Repeat("a long line\n", 1000), "*", "2\n", "dir/c", "2\n")
	end := testkit.Must(r.Again(ctx, "end"))(d)
	diff := func(o workspace.DiffOptions) (string, bool) {
		text, cut, err := r.Diff(ctx, base.Commit.ID, end.Commit.ID, o)
		d.Must(err)
		return string(text), cut
	}
	text, cut := diff(workspace.DiffOptions{Paths: []string{"a"}, Context: -1})
	testkit.Check(t, !cut && strings.Contains(text, "--- a/a\n+++ b/a\n@@ -2 +2 @@\n-2\n+zwei\n") &&
		!strings.Contains(text, "a/b"), "one file: %q, %v", text, cut)
	if text, _ := diff(workspace.DiffOptions{Paths: []string{"*"}}); strings.Count(text, "diff --git") != 1 {
		t.Errorf("the file *: %q", text)
	}
	if text, _ := diff(workspace.DiffOptions{Paths: []string{"dir"}}); !strings.Contains(text, "b/dir/c") {
		t.Errorf("a directory: %q", text)
	}
	text, cut = diff(workspace.DiffOptions{Max: 1000})
	testkit.Check(t, cut && len(text) <= 1000 && strings.HasSuffix(text, "\n"),
		"limited: %d bytes, cut %v", len(text), cut)
	all, cut := diff(workspace.DiffOptions{})
	testkit.Check(t, !cut && strings.Count(all, "diff --git") == 4, "all: %v %q", cut, all)
	_, ran := d.Files()["ran"]
	testkit.Check(t, !ran, "a program of the configuration ran")
}

// TestContent: a changed file is read in its old and its new version; long content is cut.
func TestContent(t *testing.T) {
	d := gittest.New(t, map[string]string{"a": "one\n"})
	r := d.Open(nil)
	base := testkit.Must(r.Once(ctx, "base"))(d)
	d.Write("a", "one\ntwo\n")
	end := testkit.Must(r.Again(ctx, "end"))(d)
	changes, err := r.Changes(ctx, base.Commit.ID, end.Commit.ID)
	testkit.Need(t, err == nil && len(changes) == 1, "%+v, %v", changes, err)
	for _, x := range []struct {
		entry workspace.Entry
		most  int
		want  string
		cut   bool
	}{
		{changes[0].From, 100, "one\n", false}, {changes[0].To, 100, "one\ntwo\n", false},
		{changes[0].To, 5, "one\nt", true}, {workspace.Entry{}, 100, "", false},
	} {
		text, cut, err := r.Content(t.Context(), x.entry, x.most)
		testkit.Check(t, string(text) == x.want && cut == x.cut && err == nil,
			"%+v, %d bytes: %q, %v, %v", x.entry, x.most, text, cut, err)
	}
}

func TestWork(t *testing.T) {
	d := gittest.New(t, map[string]string{"a": "1\n"})
	r := d.Open(nil)
	s, err := r.Work(ctx)
	testkit.Check(t, errors.Is(err, workspace.ErrNoSnapshot), "%v, %v", s, err)
	base := testkit.Must(r.Once(ctx, workspace.Base))(d)
	paths := func() string {
		t.Helper()
		s := testkit.Must(r.Work(ctx))(d)
		changes := testkit.Must(r.Changes(ctx, s.From, s.To))(d)
		names := ""
		for _, c := range changes {
			names += c.Path + " "
		}
		return names
	}
	d.Write("now", "1\n")
	testkit.Same(t, "before the first turn ends", "now ", paths())
	tree := d.Git("mktree", "--missing")
	branch := d.Git("commit-tree", tree, "-p", base.Head, "-m", "work")
	d.Git("update-ref", r.Branch(workspace.Main), branch)
	testkit.Same(t, "of the run branch", "a ", paths())
	testkit.OK(d, testkit.Err(r.Again(ctx, workspace.End)))
	d.Write("later", "1\n")
	testkit.Same(t, "of the work tree", "now ", paths())
}

func TestWorkOf(t *testing.T) {
	d := gittest.New(t, map[string]string{"a": "1\n"})
	r := d.Open(nil)
	s, ok, err := r.WorkOf(ctx, 1)
	testkit.Check(t, !ok && err == nil, "%v, %v", s, err)
	first := d.Git("rev-parse", "HEAD")
	d.Git("update-ref", r.Ref("orch-1/base"), first)
	for _, name := range []string{"orch-1.9", "orch-1.10", "orch-11.99"} {
		d.Git("update-ref", r.Branch(name), d.Commit(name))
	}
	head := d.Git("rev-parse", r.Branch("orch-1.10"))
	s, ok, err = r.WorkOf(ctx, 1)
	testkit.Check(t, ok && err == nil && s == (workspace.Span{From: first, To: head}), "%v, %v, %v", s, ok, err)
	wip := d.Git("commit-tree", "HEAD^{tree}", "-p", head, "-m", "wip")
	d.Git("update-ref", r.Ref("orch-1/wip"), wip)
	s, ok, err = r.WorkOf(ctx, 1)
	testkit.Check(t, ok && err == nil && s.To == wip, "with saved work: %v, %v, %v", s, ok, err)
	d.Git("update-ref", r.Ref("orch-1/wip"), d.Git("commit-tree", "HEAD^{tree}", "-p", first, "-m", "old wip"))
	s, _, err = r.WorkOf(ctx, 1)
	testkit.Check(t, err == nil && s.To == head, "with work saved before: %v, %v", s, err)
}

func TestOrphanBranch(t *testing.T) {
	d := gittest.New(t, map[string]string{"a": "1\n"})
	r := d.Open(nil)
	d.Git("checkout", "-q", "--orphan", "empty")
	s := testkit.Must(r.Once(ctx, workspace.Base))(d)
	testkit.Check(t, s.Head == "" && d.Tree(s.Commit.ID)["a"] == "100644 1\n", "%+v", s)
}
