package workspace_test

import (
	"errors"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
)

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
