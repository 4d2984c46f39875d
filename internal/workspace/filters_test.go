package workspace_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
				d.Git("config", "filter.rot."+key, program)
			}
			d.Write("edited.big", "Edited\n")
			d.Write("dir/:(top)x.big", "Edited\n")
			d.Write("new.big", "New\n")
			d.Remove("gone.big")
			d.Write("a", "2\n")
			d.Write("b", "2\n")
			private := d.Private()
			r := d.Open(nil)
			s, err := r.Once(ctx, "base")
			d.Must(err)
			delete(before, "gone.big")
			before["a"], before["b"] = "100644 2\n", "100644 2\n"
			if diff := cmp.Diff(before, d.Tree(s.Commit.Tree)); diff != "" {
				t.Errorf("snapshot, -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(private, d.Private()); diff != "" {
				t.Errorf("the user's part of the repository changed:\n%s", diff)
			}
			problems := strings.Join(s.Problems, "\n")
			for _, file := range []string{"edited.big", "dir/:(top)x.big", "new.big"} {
				if !strings.Contains(problems, `"`+file+`", because the filter "rot" fails`) {
					t.Errorf("nothing is said of %s: %q", file, problems)
				}
			}
			filter(d)
			if missing["process"] != "" {
				d.Git("config", "--unset", "filter.rot.process")
			}
			s, err = r.Again(ctx, "end")
			d.Must(err)
			if tree := d.Tree(s.Commit.Tree); len(s.Problems) > 0 || tree["edited.big"] != "100644 Rqvgrq\n" ||
				tree["new.big"] != "100644 Arj\n" {
				t.Errorf("the filter is back: %q, %v", s.Problems, tree)
			}
		})
	}
}
