package workspace_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
)

// seen returns the object of a file as the run left it.
func seen(t *testing.T, r *workspace.Repo, path string) string {
	t.Helper()
	all, err := r.Changes(ctx, r.Ref("base"), r.Ref("end"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if c.Path == path {
			return c.To.ID
		}
	}
	return ""
}

// TestRevert reverts one file or one hunk, and leaves everything else as the run and the human left it.
func TestRevert(t *testing.T) {
	const ten = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	for name, c := range map[string]struct {
		before  map[string]string
		run     func(d gittest.Dir)
		human   func(d gittest.Dir)
		path    string
		hunk    string
		stale   bool // the user saw another version of the file
		refused string
		want    map[string]string // files that differ from those after the run; "-" means none
	}{
		"a file": {before: map[string]string{"a": "1\n", "b": "2\n"},
			run:  func(d gittest.Dir) { d.Write("a", "x\n"); d.Write("b", "x\n") },
			path: "a", want: map[string]string{"a": "1\n"}},
		"a new file": {run: func(d gittest.Dir) { d.Write("deep/a", "x\n"); d.Write("b", "x\n") },
			path: "deep/a", want: map[string]string{"deep/a": "-"}},
		"a deleted file": {before: map[string]string{"a": "1\n"}, run: func(d gittest.Dir) { d.Remove("a") },
			path: "a", want: map[string]string{"a": "1\n"}},
		"a renamed file": {before: map[string]string{"a": ten},
			run:  func(d gittest.Dir) { d.Remove("a"); d.Write("b", ten+"11\n") },
			path: "b", want: map[string]string{"a": ten, "b": "-"}},
		"a hunk": {before: map[string]string{"a": ten},
			run:  func(d gittest.Dir) { d.Write("a", "1\nx\ny\n3\n4\n5\n6\n7\n8\n10\n11\n") },
			path: "a", hunk: "-2,1 +2,2", want: map[string]string{"a": "1\n2\n3\n4\n5\n6\n7\n8\n10\n11\n"}},
		"a hunk that only adds, with context": {before: map[string]string{"a": ten},
			run:  func(d gittest.Dir) { d.Write("a", ten+"11\n") },
			path: "a", hunk: "@@ -8,3 +8,4 @@", want: map[string]string{"a": ten}},
		"a hunk that only removes": {before: map[string]string{"a": ten},
			run:  func(d gittest.Dir) { d.Write("a", "2\n3\n4\n5\n6\n7\n8\n9\n10\n") },
			path: "a", hunk: "-1 +0,0", want: map[string]string{"a": ten}},
		"no newline at the end": {before: map[string]string{"a": "1\n2"},
			run:  func(d gittest.Dir) { d.Write("a", "0\n1\n2\n3") },
			path: "a", hunk: "-2 +3,2", want: map[string]string{"a": "0\n1\n2"}},
		"all hunks of a new file": {run: func(d gittest.Dir) { d.Write("a", "1\n2\n") },
			path: "a", hunk: "-0,0 +1,2", want: map[string]string{"a": "-"}},
		"modified since": {before: map[string]string{"a": "1\n"}, run: func(d gittest.Dir) { d.Write("a", "2\n") },
			human: func(d gittest.Dir) { d.Write("a", "mine\n") }, path: "a", refused: workspace.ApplyModified},
		"a hunk of a file that was modified since": {before: map[string]string{"a": ten},
			run:   func(d gittest.Dir) { d.Write("a", ten+"11\n") },
			human: func(d gittest.Dir) { d.Write("a", "mine\n"+ten+"11\n") },
			path:  "a", hunk: "-10,0 +11,1", refused: workspace.ApplyModified},
		"seen before": {before: map[string]string{"a": "1\n"}, run: func(d gittest.Dir) { d.Write("a", "2\n") },
			path: "a", stale: true, refused: workspace.OtherSince},
		"not changed": {before: map[string]string{"a": "1\n"}, run: func(gittest.Dir) {},
			path: "a", refused: workspace.NotChanged},
		"no such lines": {before: map[string]string{"a": "1\n"}, run: func(d gittest.Dir) { d.Write("a", "2\n") },
			path: "a", hunk: "-7,1 +7,1", refused: workspace.NoHunk},
		"a hunk of a binary file": {before: map[string]string{"a": "\x00\x01\n"},
			run:  func(d gittest.Dir) { d.Write("a", "\x00\x02\n") },
			path: "a", hunk: "-1 +1", refused: workspace.NotText},
	} {
		t.Run(name, func(t *testing.T) {
			d := gittest.New(t, c.before)
			r := played(d, func() { c.run(d) })
			if c.human != nil {
				c.human(d)
			}
			want := d.Files()
			for path, text := range c.want {
				if want[path] = "-rw-r--r-- " + text; text == "-" {
					delete(want, path)
				}
			}
			p := workspace.UndoPart{Path: c.path, Seen: seen(t, r, c.path)}
			if c.stale {
				p.Seen = "0123"
			}
			if c.hunk != "" {
				hunk, err := workspace.ParseHunk(c.hunk)
				d.Must(err)
				p.Hunk = hunk
			}
			err := workspace.Revert(ctx, r, r.Ref("base"), r.Ref("end"), p)
			var refused *workspace.RefusedError
			switch {
			case errors.As(err, &refused):
				if refused.Reason != c.refused {
					t.Fatalf("refused: %v", err)
				}
			case err != nil || c.refused != "":
				t.Fatalf("error %v, want %q", err, c.refused)
			}
			if diff := cmp.Diff(want, d.Files()); diff != "" {
				t.Errorf("files, -want +got:\n%s", diff)
			}
			if c.refused == "" { // a call after a crash that happened before the undo was recorded
				d.Must(workspace.Revert(ctx, r, r.Ref("base"), r.Ref("end"), p))
			}
		})
	}
}

func TestParseHunk(t *testing.T) {
	for text, want := range map[string]string{
		"-12,3 +12,5": "-12,3 +12,5", "@@ -1 +2 @@ func f()": "-1,1 +2,1", "-0,0 +1,2": "-0,0 +1,2",
		"-5,0 +6": "-5,0 +6,1", "": "", "12,3 12,5": "", "-a +b": "", "-1,-1 +1": "", "-0,3 +1": "", "-1": "",
	} {
		h, err := workspace.ParseHunk(text)
		if (err == nil) != (want != "") || err == nil && written(*h) != want {
			t.Errorf("%q is read as %v, %v", text, h, err)
		}
	}
}

// written returns a hunk in the form that [workspace.ParseHunk] reads.
func written(h workspace.UndoHunk) string {
	side := func(from, n int) string {
		if n > 0 {
			from++
		}
		return fmt.Sprintf("%d,%d", from, n)
	}
	return "-" + side(h.Before, h.BeforeLines) + " +" + side(h.After, h.AfterLines)
}
