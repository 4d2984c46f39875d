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
