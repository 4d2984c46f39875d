package workspace_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
)

var undoOperations = gittest.Operations{
	"undo": func(step func(string), args []string) error {
		r, err := workspace.Open(ctx, gittest.Options(args[0], step))
		if err == nil {
			_, err = workspace.Undo(ctx, r, r.Ref("base"), r.Ref("end"), false)
		}
		return err
	},
}

// played records a run: its start, its work, its end.
func played(d gittest.Dir, run func()) *workspace.Repo {
	r := d.Open(nil)
	testkit.OK(d, testkit.Err(r.Once(ctx, "base")))
	run()
	testkit.OK(d, testkit.Err(r.Again(ctx, "end")))
	return r
}

func run(t testing.TB, r *workspace.Repo, dry bool) workspace.Undone {
	t.Helper()
	return testkit.Must(workspace.Undo(ctx, r, r.Ref("base"), r.Ref("end"), dry))(t)
}

func TestUndo(t *testing.T) {
	for name, c := range map[string]struct {
		before   map[string]string // committed
		setUp    func(d gittest.Dir)
		run      func(d gittest.Dir)
		human    func(d gittest.Dir)
		kept     []workspace.Blocked
		differs  []string // files that are not as before the run
		reverted int
	}{
		"edits, additions, deletions": {
			before: map[string]string{"a": "1\n", "b": "2\n", "dir/c": "3\n"},
			setUp:  func(d gittest.Dir) { d.Write("untracked", "mine\n"); d.Write("b", "not committed\n") },
			run: func(d gittest.Dir) {
				d.Write("a", "x\n", "b", "x\n")
				d.Remove("dir")
				d.Write("untracked", "x\n", "deep/down/new", "x\n")
			},
			reverted: 5,
		},
		"the run commits and stages": {
			before: map[string]string{"a": "1\n"},
			run: func(d gittest.Dir) {
				d.Write("a", "2\n")
				d.Commit("agent")
				d.Write("b", "3\n")
				d.Git("add", "b")
			},
			reverted: 2,
		},
		"links and modes": {
			before: map[string]string{"run": "1\n", "private": "1\n", "file": "1\n", "dir/x": "1\n"},
			setUp: func(d gittest.Dir) {
				d.Chmod("run", 0o750)
				d.Chmod("private", 0o600)
				d.Link("link", "file")
			},
			run: func(d gittest.Dir) {
				d.Chmod("run", 0o640)
				d.Write("private", "2\n")
				d.Link("link", "dir")
				d.Link("file", "/etc/passwd")
				d.Remove("dir")
				d.Link("dir", "/tmp")
			},
			reverted: 6,
		},
		"directories and files change places": {
			before: map[string]string{"a": "1\n", "b/x/y": "2\n", "b/z": "3\n"},
			run: func(d gittest.Dir) {
				d.Remove("a")
				d.Write("a/in/it", "1\n")
				d.Remove("b")
				d.Write("b", "1\n")
			},
			reverted: 5,
		},
		"a human goes on": {
			before: map[string]string{"a": "1\n", "b": "2\n", "c": "3\n"},
			run: func(d gittest.Dir) {
				d.Write("a", "x\n", "b", "x\n")
				d.Remove("c")
				d.Write("d", "x\n", "e", "x\n")
			},
			human: func(d gittest.Dir) {
				d.Write("a", "x\nand more\n", "c", "anew\n")
				d.Chmod("d", 0o755)
				d.Write("unrelated", "1\n")
				d.Remove("e")
			},
			kept: []workspace.Blocked{
				{Path: "a", Reason: workspace.ApplyModified}, {Path: "c", Reason: workspace.ApplyModified},
				{Path: "d", Reason: workspace.ApplyModified},
			},
			differs: []string{"a", "c", "d", "unrelated"}, reverted: 1,
		},
		"the way leads through a link now": {
			before: map[string]string{"dir/a": "1\n", "other/a": "2\n"},
			run:    func(d gittest.Dir) { d.Write("dir/a", "x\n"); d.Write("dir/b", "x\n"); d.Remove("dir/a") },
			human:  func(d gittest.Dir) { d.Remove("dir"); d.Link("dir", "other") },
			kept:   []workspace.Blocked{{Path: "dir/a", Reason: workspace.InTheWay}}, differs: []string{"dir", "dir/a"},
		},
		"ignored files": {
			before: map[string]string{".gitignore": "secret\n*.log\n"},
			setUp: func(d gittest.Dir) {
				d.Write("secret", "mine\n", "plain", "1\n", "x/y.log", "1\n")
			},
			run: func(d gittest.Dir) {
				d.Write(".gitignore", "plain\n")
				d.Remove("plain")
				d.Write("added", "1\n")
			},
			human: func(d gittest.Dir) { d.Write("plain", "human\n") },
			kept: []workspace.Blocked{
				{Path: "plain", Reason: workspace.ApplyIgnored},
				{Path: "secret", Reason: workspace.IgnoredBefore}, {Path: "x/y.log", Reason: workspace.IgnoredBefore},
			},
			differs: []string{"plain"}, reverted: 2,
		},
		"an ignored file in a directory of the run's": {
			before:  map[string]string{".gitignore": "*.log\n", "a": "1\n"},
			run:     func(d gittest.Dir) { d.Remove("a"); d.Write("a/new", "1\n"); d.Write("a/x.log", "1\n") },
			kept:    []workspace.Blocked{{Path: "a", Reason: workspace.InTheWay}},
			differs: []string{"a", "a/x.log"}, reverted: 1,
		},
		"line ends": {
			before: map[string]string{".gitattributes": "*.txt text eol=crlf\n", "a.txt": "1\r\n2\r\n",
				"b.bin": "1\n2\r\n"},
			run: func(d gittest.Dir) {
				d.Write("a.txt", "x\n", "b.bin", "x", ".gitattributes", "")
			},
			reverted: 3,
		},
		"hostile names": {
			before: map[string]string{"a\nb": "1\n", ":(top)": "1\n", "-rf": "1\n", "\xff": "1\n"},
			run: func(d gittest.Dir) {
				d.Write("a\nb", "x\n", ":(top)", "x\n")
				d.Remove("-rf")
				d.Remove("\xff")
			},
			reverted: 4,
		},
		"a nested repository": {
			before: map[string]string{"a": "1\n"},
			run: func(d gittest.Dir) {
				d.Write("vendor/lib/x", "1\n")
				n := gittest.Dir{TB: d.TB, Path: filepath.Join(d.Path, "vendor/lib")}
				n.Git("init", "-q")
				n.Commit("nested")
				d.Write("a", "2\n")
			},
			kept:    []workspace.Blocked{{Path: "vendor/lib", Reason: workspace.ApplyModule}},
			differs: []string{"vendor/lib/x"}, reverted: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := gittest.New(t, c.before)
			if c.setUp != nil {
				c.setUp(d)
			}
			before := d.Files()
			r := played(d, func() { c.run(d) })
			if c.human != nil {
				c.human(d)
			}
			private, files := d.Private(), d.Files()
			plan := run(t, r, true)
			testkit.Same(t, "a dry run changed files", files, d.Files())
			result := run(t, r, false)
			testkit.Same(t, "the plan and what was done", plan, result)
			testkit.Same(t, "kept", c.kept, result.Kept)
			testkit.Same(t, fmt.Sprintf("how many of %v", result.Reverted), c.reverted, len(result.Reverted))
			testkit.Same(t, "differs from before the run", c.differs, differing(before, d.Files()))
			testkit.Same(t, "the user's part of the repository changed", private, d.Private())
			again := run(t, r, false)
			testkit.Check(t, len(again.Reverted) == 0 && len(again.Kept) == len(result.Kept), "the second time: %+v", again)
		})
	}
}

// differing lists the paths in which two sets of files differ.
func differing(a, b map[string]string) []string {
	var paths []string
	for p, text := range a {
		if other, ok := b[p]; !ok || other != text {
			paths = append(paths, p)
		}
	}
	for p := range b {
		if _, ok := a[p]; !ok {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths
}

func TestUndoRunsFilters(t *testing.T) {
	d := gittest.Dir{TB: t, Path: gittest.Temp(t)}
	d.Git("init", "-q")
	d.UserConfig("filter.rot.clean", "tr A-Za-z N-ZA-Mn-za-m")
	d.UserConfig("filter.rot.smudge", "tr A-Za-z N-ZA-Mn-za-m")
	d.Write(".gitattributes", "*.big filter=rot\n", "x.big", "Hello\n")
	d.Commit("first")
	before := d.Files()
	r := played(d, func() { d.Write("x.big", "Other\n"); d.Write(".gitattributes", "") })
	run(t, r, false)
	testkit.Same(t, "", before, d.Files())
	// A filter that fails leaves everything as it is.
	d.Write("x.big", "Other\n", "y", "1\n")
	testkit.Must(r.Again(ctx, "end"))(t)
	d.UserConfig("filter.rot.smudge", "false")
	d.UserConfig("filter.rot.required", "true")
	files := d.Files()
	result, err := workspace.Undo(ctx, r, r.Ref("base"), r.Ref("end"), false)
	testkit.Check(t, err != nil, "%+v", result)
	testkit.Same(t, "", files, d.Files())
}

// TestUndoStaysInside: undo does not write through a directory that leads out of the workspace.
func TestUndoStaysInside(t *testing.T) {
	outside := gittest.Temp(t)
	d := gittest.New(t, map[string]string{"dir/a": "1\n", "dir/b": "1\n"})
	r := played(d, func() { d.Write("dir/a", "x\n"); d.Remove("dir/b") })
	d.Remove("dir")
	d.Link("dir", outside)
	d.Must(os.WriteFile(filepath.Join(outside, "a"), []byte("x\n"), 0o644))
	result := run(t, r, false)
	testkit.Check(t, len(result.Reverted) == 0 && len(result.Kept) == 2, "%+v", result)
	b, _ := os.ReadFile(filepath.Join(outside, "a"))
	testkit.Check(t, string(b) == "x\n", "outside: %q", b)
	testkit.Fails(t, "written outside", testkit.Err(os.Lstat(filepath.Join(outside, "b"))))
}

// world makes random edits of files, links and modes.
type world struct {
	*rand.Rand
	gittest.Dir
}

func (w world) edit() {
	names := []string{"a", "b", "c", "d/a", "d/b", "d/e/f", "g", "g/h", "x y", "l\nl"}
	name := names[w.IntN(len(names))]
	path := filepath.Join(w.Path, name)
	for dir := filepath.Dir(path); dir != w.Path; dir = filepath.Dir(dir) {
		if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
			w.Must(os.Remove(dir))
		}
	}
	switch w.IntN(8) {
	case 0, 1:
		w.Must(os.RemoveAll(path))
	case 2:
		w.Link(name, names[w.IntN(len(names))])
	case 3:
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			w.Chmod(name, []os.FileMode{0o644, 0o755}[w.IntN(2)])
		}
	default:
		w.Must(os.RemoveAll(path))
		w.Write(name, fmt.Sprintln(w.IntN(6)))
	}
}

// TestUndoProperty: a run and then a human edit at random. What only the run changed is restored; what the
// human changed later, or what the run did not change, is as the human left it.
func TestUndoProperty(t *testing.T) {
	rounds := 8
	if testkit.AtNight() {
		rounds = 500
	}
	for seed := range rounds {
		d := gittest.New(t, map[string]string{"a": "0\n", "d/a": "0\n"})
		w := world{rand.New(rand.NewPCG(uint64(seed), 7)), d}
		for range 8 {
			w.edit()
		}
		base := d.Files()
		r := played(d, func() {
			for range 8 {
				w.edit()
			}
		})
		end := d.Files()
		for range w.IntN(5) {
			w.edit()
		}
		now := d.Files()
		result := run(t, r, false)
		after := d.Files()
		kept := map[string]bool{}
		for _, k := range result.Kept {
			kept[k.Path] = true
		}
		paths := map[string]bool{}
		for _, files := range []map[string]string{base, end, now, after} {
			for p := range files {
				paths[p] = true
			}
		}
		for _, p := range slices.Sorted(maps.Keys(paths)) {
			want, why := now[p], "the run did not change it, or the human changed it since"
			if base[p] != end[p] && end[p] == now[p] && !kept[p] {
				want, why = base[p], "only the run changed it"
			}
			testkit.Check(t, after[p] == want, "seed %d: %q is %q, want %q: %s\nbase %q, end %q, now %q", seed, p,
				after[p], want, why, base[p], end[p], now[p])
			testkit.Check(t, !kept[p] || end[p] != now[p] || blocked(p, base, now),
				"seed %d: %q was kept for no reason", seed, p)
		}
		if t.Failed() {
			return
		}
	}
}

// blocked reports whether a path cannot be restored because of what is above or below it now.
func blocked(p string, base, now map[string]string) bool {
	if _, ok := base[p]; !ok {
		return false
	}
	for other := range now {
		if strings.HasPrefix(other, p+"/") || strings.HasPrefix(p, other+"/") {
			return true
		}
	}
	return false
}

func TestUndoKilled(t *testing.T) {
	d := gittest.New(t, map[string]string{"a": "1\n", "b": "2\n", "dir/c": "3\n", "f": "4\n"})
	before := d.Files()
	played(d, func() {
		d.Write("a", "x\n")
		d.Remove("dir")
		d.Write("dir", "now a file\n")
		d.Remove("f")
		d.Write("f/g", "now a directory\n", "new/file", "x\n")
		d.Link("b", "a")
	})
	for n, c := range d.EachKill("undo", gittest.Stride(7), 10) {
		run(t, c.Open(nil), false)
		testkit.Same(t, fmt.Sprintf("killed after step %d", n), before, c.Files())
	}
}

// seen returns the object of a file as the run left it.
func seen(t *testing.T, r *workspace.Repo, path string) string {
	t.Helper()
	all := testkit.Must(r.Changes(ctx, r.Ref("base"), r.Ref("end")))(t)
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
				hunk := testkit.Must(workspace.ParseHunk(c.hunk))(d)
				p.Hunk = hunk
			}
			err := workspace.Revert(ctx, r, r.Ref("base"), r.Ref("end"), p)
			var refused *workspace.RefusedError
			switch {
			case errors.As(err, &refused):
				testkit.Need(t, refused.Reason == c.refused, "refused: %v", err)
			case err != nil || c.refused != "":
				t.Fatalf("error %v, want %q", err, c.refused)
			}
			testkit.Same(t, "files", want, d.Files())
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
		testkit.Check(t, (err == nil) == (want != "") && (err != nil || written(*h) == want),
			"%q is read as %v, %v", text, h, err)
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
