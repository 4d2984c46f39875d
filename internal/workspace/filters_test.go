package workspace_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
)

// TestFilterIsMissing: a required filter whose program is not installed prevents git from adding anything.
// Other files are still recorded, and those of the filter stay as in the index.
func TestFilterIsMissing(t *testing.T) {
	for name, missing := range map[string]map[string]string{
		"clean and smudge": {"clean": "no-such-program clean", "smudge": "no-such-program smudge"},
		"process":          {"process": "no-such-program filter-process"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := gittest.Dir{TB: t, Path: gittest.Temp(t)}
			d.Git("init", "-q", "-b", "trunk")
			filter(d)
			d.Write(".gitattributes", "*.big filter=rot\n")
			for _, file := range []string{"same.big", "edited.big", "gone.big", "a", "dir/:(top)x.big"} {
				d.Write(file, "Hello\n")
			}
			d.Commit("first")
			before := d.Tree("HEAD")
			for key, program := range missing {
				d.UserConfig("filter.rot."+key, program)
			}
			d.Write("edited.big", "Edited\n", "dir/:(top)x.big", "Edited\n", "new.big", "New\n")
			d.Remove("gone.big")
			d.Write("a", "2\n", "b", "2\n")
			private := d.Private()
			r := d.Open(nil)
			s := testkit.Must(r.Once(ctx, "base"))(d)
			delete(before, "gone.big")
			before["a"], before["b"] = "100644 2\n", "100644 2\n"
			testkit.Same(t, "snapshot", before, d.Tree(s.Commit.Tree))
			testkit.Same(t, "the user's part of the repository changed", private, d.Private())
			problems := strings.Join(s.Problems, "\n")
			for _, file := range []string{"edited.big", "dir/:(top)x.big", "new.big"} {
				testkit.Includes(t, fmt.Sprintf("nothing is said of %s", file), problems,
					`"`+file+`", because the filter "rot" fails`)
			}
			filter(d)
			if missing["process"] != "" {
				d.Git("config", "--file", d.Path+".gitconfig", "--unset", "filter.rot.process")
			}
			s = testkit.Must(r.Again(ctx, "end"))(d)
			tree := d.Tree(s.Commit.Tree)
			testkit.Check(t, len(s.Problems) <= 0 && tree["edited.big"] == "100644 Rqvgrq\n" &&
				tree["new.big"] == "100644 Arj\n", "the filter is back: %q, %v", s.Problems, tree)
		})
	}
}

// TestOwnFilter: a filter that the repository's own configuration defines does not run. Snapshots have its files as
// they are, so that only what has changed differs; in an agent's directory they are left out, and named.
func TestOwnFilter(t *testing.T) {
	d := gittest.New(t, map[string]string{".gitattributes": "*.big filter=own\n", "a": "1\n"})
	d.Git("config", "filter.own.clean", "tr a-z A-Z")
	d.Git("config", "filter.own.smudge", "tr A-Z a-z")
	for _, file := range []string{"same.big", "edited.big", "touched.big", "gone.big"} {
		d.Write(file, "text\n")
	}
	d.Commit("second")
	r := d.Open(nil)
	testkit.Check(t, slices.Equal(r.Skipped, []string{"own"}) && strings.Contains(r.Notice(), `filter "own"`),
		"skipped: %q, %s", r.Skipped, r.Notice())
	base := testkit.Must(r.Once(ctx, "base"))(d)
	d.Write("edited.big", "other\n", "touched.big", "text\n", "new.big", "new\n")
	d.Remove("gone.big")
	d.Git("add", "touched.big") // as an agent may do
	end := testkit.Must(r.Again(ctx, "end"))(d)
	changes := testkit.Must(r.Changes(ctx, base.Commit.ID, end.Commit.ID))(d)
	var got []string
	for _, c := range changes {
		got = append(got, string(c.Status)+" "+c.Path)
	}
	testkit.Same(t, "", []string{"modified edited.big", "deleted gone.big", "added new.big"}, got)
	if tree := d.Tree(end.Commit.Tree); tree["edited.big"] != "100644 other\n" || len(end.Problems) > 0 {
		t.Errorf("recorded %v, %q", tree, end.Problems)
	}
	d.Git("-c", "filter.own.smudge=", "worktree", "add", "-q", "--detach", d.Path+"-agent", "HEAD") // as Arbiter does
	there := testkit.Must(r.At(ctx, d.Path+"-agent"))(d)
	agent := gittest.Dir{TB: t, Path: there.Root}
	agent.Write("edited.big", "other\n", "a", "2\n")
	tree, problems, err := there.Tree(ctx)
	d.Must(err)
	files := d.Tree(tree)
	if files["edited.big"] != "100644 TEXT\n" || files["a"] != "100644 2\n" || len(problems) != 1 ||
		!strings.Contains(problems[0], `"edited.big", because its filter "own" is of the repository's own configuration`) {
		t.Errorf("recorded %v, %q", files, problems)
	}
	// The same filter of the user's runs.
	d.UserConfig("filter.own.clean", "tr a-z A-Z")
	r = d.Open(nil)
	s := testkit.Must(r.Once(ctx, "filtered"))(d)
	if tree := d.Tree(s.Commit.Tree); len(r.Skipped) > 0 || tree["edited.big"] != "100644 OTHER\n" {
		t.Errorf("with a filter of the user's: skipped %q, %v", r.Skipped, tree)
	}
}
