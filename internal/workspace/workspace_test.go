package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
)

var ctx = context.Background()

func TestMain(m *testing.M) {
	operations := gittest.Operations{
		"snapshot": func(step func(string), args []string) error {
			r, err := workspace.Open(ctx, gittest.Options(args[0], step))
			if err == nil {
				_, err = r.Once(ctx, "base")
			}
			return err
		},
	}
	for _, more := range []gittest.Operations{
		carryOperations, landOperations, mergeOperations, undoOperations, worktreeOperations,
	} {
		maps.Copy(operations, more)
	}
	gittest.Main(m, operations)
}

func TestOpenErrors(t *testing.T) {
	plain := gittest.Temp(t)
	empty := gittest.Dir{TB: t, Path: gittest.Temp(t)}
	empty.Git("init", "-q")
	bare := gittest.Dir{TB: t, Path: gittest.Temp(t)}
	bare.Git("init", "-q", "--bare")
	repo := gittest.New(t, map[string]string{"a": "1"})
	old := filepath.Join(gittest.Temp(t), "git")
	repo.Must(os.WriteFile(old, []byte("#!/bin/sh\necho git version 2.37.1\n"), 0o755))
	for name, c := range map[string]struct {
		options workspace.Options
		want    error
	}{
		"no repository":    {workspace.Options{Dir: plain}, workspace.ErrNoGit},
		"no commit":        {workspace.Options{Dir: empty.Path}, workspace.ErrNoCommit},
		"bare":             {workspace.Options{Dir: bare.Path}, workspace.ErrBare},
		"inside of .git":   {workspace.Options{Dir: filepath.Join(repo.Path, ".git")}, workspace.ErrNoGit},
		"git is missing":   {workspace.Options{Dir: repo.Path, Git: filepath.Join(plain, "git")}, os.ErrNotExist},
		"not on the path":  {workspace.Options{Dir: repo.Path, Git: "no-such-git"}, workspace.ErrNoGit},
		"run ID too short": {workspace.Options{Dir: repo.Path, Run: "123"}, nil},
		"hostile run ID":   {workspace.Options{Dir: repo.Path, Run: "../../..x"}, nil},
	} {
		c.options.Env = gittest.Environ()
		if c.options.Run == "" {
			c.options.Run = gittest.Run
		}
		_, err := workspace.Open(ctx, c.options)
		testkit.Check(t, err != nil && (c.want == nil || errors.Is(err, c.want)), "%s: %v, want %v", name, err, c.want)
	}
	_, err := workspace.Open(ctx, workspace.Options{Dir: repo.Path, Run: gittest.Run, Env: gittest.Environ(), Git: old})
	testkit.Fails(t, "an old git", err, "git 2.37 is too old")
}

// repositories are the kinds that a snapshot has to work with: what is committed, or else how one is made, the changes
// that are not, and the directory that is opened.
var repositories = map[string]struct {
	files  map[string]string
	make   func(t *testing.T) gittest.Dir
	change func(d gittest.Dir)
	below  string
}{
	"plain": {files: map[string]string{"a": "1\n", "dir/b": "2\n", ".gitignore": "*.log\n"},
		change: func(d gittest.Dir) {
			d.Write("a", "changed\n")
			d.Git("add", "a")
			d.Write("a", "changed again\n")
			d.Remove("dir")
			d.Write("new", "n\n", "x.log", "ignored\n")
		}},
	"directory below": {files: map[string]string{"a": "1\n", "dir/sub/b": "2\n"}, change: func(d gittest.Dir) {
		d.Write("above", "1\n", "dir/sub/c", "3\n")
	}, below: "dir/sub"},
	"detached": {files: map[string]string{"a": "1\n"}, change: func(d gittest.Dir) {
		d.Git("checkout", "-q", "--detach")
		d.Write("b", "2\n")
	}},
	"rebase with a conflict": {files: map[string]string{"a": "1\n"}, change: func(d gittest.Dir) {
		d.Git("checkout", "-q", "-b", "side")
		d.Write("a", "side\n")
		d.Commit("side")
		d.Git("checkout", "-q", "trunk")
		d.Write("a", "trunk\n")
		d.Commit("trunk")
		_ = d.Command("rebase", "side").Run() // stops at the conflict
	}},
	"stash": {files: map[string]string{"a": "1\n"}, change: func(d gittest.Dir) {
		d.Write("a", "stashed\n")
		d.Git("stash", "-q")
		d.Write("a", "other\n")
	}},
	"links and modes": {files: map[string]string{"a": "1\n", "run": "#!/bin/sh\n", "d/x": "1\n"},
		change: func(d gittest.Dir) {
			d.Chmod("run", 0o755)
			d.Link("a", "/etc/passwd")
			d.Link("d", "nowhere")
		}},
	"hostile path": {make: func(t *testing.T) gittest.Dir {
		d := gittest.Dir{TB: t, Path: filepath.Join(gittest.Temp(t), "line\nend ")}
		d.Must(os.Mkdir(d.Path, 0o755))
		d.Git("init", "-q", "-b", "trunk")
		d.Write("dir/a", "1\n")
		d.Commit("first")
		return d
	}, change: func(d gittest.Dir) { d.Write("b", "2\n") }, below: "dir"},
	"hostile names": {files: map[string]string{"a b": "1\n", "-n": "1\n", "tab\there": "1\n"},
		change: func(d gittest.Dir) {
			d.Write("line\nend", "2\n", "\x1b[31mred", "2\n", ":(glob)**", "2\n", "\xff\xfe", "2\n")
		}},
	"line ends": {files: map[string]string{".gitattributes": "* text=auto eol=crlf\n", "a": "1\r\n2\r\n"},
		change: func(d gittest.Dir) {
			d.Git("config", "core.autocrlf", "true")
			d.Git("config", "core.safecrlf", "true")
			d.Write("b", "lf only\n", "a", "1\r\n3\r\n")
		}},
	"filters": {files: map[string]string{".gitattributes": "*.big filter=rot\n"}, change: func(d gittest.Dir) {
		filter(d)
		d.Write("x.big", "Hello\n")
		d.Commit("second")
		d.Write("y.big", "World\n")
	}},
	"nested repositories": {files: map[string]string{"a": "1\n"}, change: func(d gittest.Dir) {
		for _, name := range []string{"full", "empty"} {
			d.Write(name+"/x", "1\n")
			n := gittest.Dir{TB: d.TB, Path: filepath.Join(d.Path, name)}
			n.Git("init", "-q")
			if name == "full" {
				n.Commit("nested")
			}
		}
		d.Write("b", "2\n")
	}},
	"submodule": {files: map[string]string{"a": "1\n"}, change: func(d gittest.Dir) {
		d.Git("submodule", "--quiet", "add", gittest.New(d, map[string]string{"m": "1\n"}).Path, "module")
		d.Commit("module")
		d.Write("module/m", "dirty\n", "b", "2\n")
	}},
	"sparse": {files: map[string]string{"in/a": "1\n", "out/b": "2\n", "top": "3\n"}, change: func(d gittest.Dir) {
		d.Git("sparse-checkout", "set", "in")
		d.Write("in/new", "n\n", "out/new", "n\n")
	}},
	"sparse index": {files: map[string]string{"in/a": "1\n", "out/b/c": "2\n", "top": "3\n"},
		change: func(d gittest.Dir) {
			d.Git("sparse-checkout", "set", "--cone", "--sparse-index", "in")
			d.Write("in/new", "n\n")
		}},
	"split index": {files: map[string]string{"a": "1\n", "b": "2\n"}, change: func(d gittest.Dir) {
		d.Git("config", "core.splitIndex", "true")
		d.Git("update-index", "--split-index")
		d.Write("b", "3\n", "c", "4\n")
	}},
	"linked worktree": {make: func(t *testing.T) gittest.Dir {
		there := gittest.Dir{TB: t, Path: filepath.Join(gittest.Temp(t), "linked")}
		gittest.New(t, map[string]string{"a": "1\n"}).Git("worktree", "add", "-q", "-b", "linked", there.Path)
		return there
	}, change: func(d gittest.Dir) { d.Write("b", "2\n") }},
	"sha256": {make: func(t *testing.T) gittest.Dir {
		return gittest.New(t, map[string]string{"a": "1\n"}, "--object-format=sha256")
	}, change: func(d gittest.Dir) { d.Write("b", "2\n") }},
	"hooks and monitors": {files: map[string]string{"a": "1\n"}, change: func(d gittest.Dir) {
		for _, name := range []string{"post-index-change", "reference-transaction", "pre-commit", "post-checkout"} {
			path := ".git/hooks/" + name
			d.Write(path, "#!/bin/sh\ntouch '"+d.Path+"/hook-ran'\nexit 1\n")
			d.Chmod(path, 0o755)
		}
		d.Git("config", "core.fsmonitor", "touch '"+d.Path+"/monitor-ran'; false")
		d.Git("config", "commit.gpgSign", "true")
		d.Git("config", "gpg.program", "/bin/false")
		d.Git("config", "core.logAllRefUpdates", "always")
		d.Must(os.WriteFile(filepath.Join(d.Path, "b"), []byte("2\n"), 0o644))
	}},
	"intent to add": {files: map[string]string{"a": "1\n"}, change: func(d gittest.Dir) {
		d.Write("b", "2\n")
		d.Git("add", "-N", "b")
	}},
}

// filter configures a filter of the user that changes contents, like Git LFS.
func filter(d gittest.Dir) {
	d.UserConfig("filter.rot.clean", "tr A-Za-z N-ZA-Mn-za-m")
	d.UserConfig("filter.rot.smudge", "tr A-Za-z N-ZA-Mn-za-m")
	d.UserConfig("filter.rot.required", "true")
}

// TestSnapshots compares the snapshot of each kind of repository with the result of git add on the same
// files, and checks that the user's part of the repository has not changed.
func TestSnapshots(t *testing.T) {
	for name, kind := range repositories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if kind.make == nil {
				kind.make = func(t *testing.T) gittest.Dir { return gittest.New(t, kind.files) }
			}
			d := kind.make(t)
			kind.change(d)
			r := testkit.Must(workspace.Open(ctx, gittest.Options(filepath.Join(d.Path, kind.below), nil)))(d)
			testkit.Same(t, "root", d.Path, r.Root)
			before := d.Private()
			s := testkit.Must(r.Once(ctx, "base"))(d)
			again := testkit.Must(r.Again(ctx, "base"))(d)
			testkit.Same(t, "the same files are another snapshot", s.Commit, again.Commit)
			testkit.Same(t, "the user's part of the repository changed", before, d.Private())
			wantProblems := name == "nested repositories"
			testkit.Check(t, wantProblems == (len(s.Problems) > 0), "problems: %q", s.Problems)
			testkit.Check(t, s.Head == d.Git("rev-parse", "HEAD") &&
				d.Git("rev-parse", "refs/arbiter/"+gittest.RUN8+"/base^1") == s.Head,
				"the snapshot is not on top of HEAD")
			got := d.Tree(s.Commit.Tree)
			_ = d.Command("-c", "core.safecrlf=false", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
				"add", "-A", "--sparse", "--ignore-errors", ".").Run()
			testkit.Same(t, "snapshot", d.Tree(d.Git("write-tree")), got)
			for _, ran := range []string{"hook-ran", "monitor-ran"} {
				_, ok := got[ran]
				testkit.Check(t, !ok, "%s", ran)
			}
		})
	}
}

// TestSnapshotSeesQuickChanges: a file whose content changes, but not its size and time, is detected like
// in git.
func TestSnapshotSeesQuickChanges(t *testing.T) {
	d := gittest.New(t, map[string]string{"a": "1\n"})
	info := testkit.Must(os.Stat(filepath.Join(d.Path, "a")))(d)
	index := filepath.Join(d.Path, ".git/index")
	// As if both had been written within one tick of the clock.
	d.Write("a", "2\n")
	d.Must(os.Chtimes(filepath.Join(d.Path, "a"), info.ModTime(), info.ModTime()))
	d.Must(os.Chtimes(index, info.ModTime(), info.ModTime()))
	testkit.Same(t, "a is", "100644 2\n", d.Tree(testkit.Must(d.Open(nil).Once(ctx, "base"))(d).Commit.Tree)["a"])
}

func TestSnapshotStays(t *testing.T) {
	d := gittest.New(t, map[string]string{"a": "1\n"})
	r := d.Open(nil)
	first := testkit.Must(r.Once(ctx, "base"))(d)
	d.Write("a", "2\n")
	second := testkit.Must(r.Once(ctx, "base"))(d)
	end := testkit.Must(r.Again(ctx, "end"))(d)
	testkit.Check(t, second.Commit == first.Commit && end.Commit.Tree != first.Commit.Tree,
		"base %v, then %v; end %v", first.Commit, second.Commit, end.Commit)
	refs := testkit.Must(r.Refs(ctx, ""))(d)
	testkit.Same(t, "", map[string]string{r.Ref("base"): first.Commit.ID, r.Ref("end"): end.Commit.ID}, refs)
}

// TestRepositoryRemoved: if the repository was removed, one in a parent directory is not used instead.
func TestRepositoryRemoved(t *testing.T) {
	outer := gittest.New(t, map[string]string{"a": "1\n"})
	inner := gittest.Dir{TB: t, Path: filepath.Join(outer.Path, "inner")}
	outer.Write("inner/x", "1\n")
	inner.Git("init", "-q")
	inner.Commit("inner")
	r := inner.Open(nil)
	inner.Remove(".git")
	s, err := r.Once(ctx, "base")
	testkit.Check(t, err != nil, "recorded %v", s)
	testkit.Same(t, "the outer repository has", "", outer.Git("for-each-ref", "refs/arbiter"))
}

func TestSnapshotKilled(t *testing.T) {
	d := gittest.New(t, map[string]string{"a": "1\n"})
	d.Write("b", "2\n")
	for n, c := range d.EachKill("snapshot", 1, 4) {
		s := testkit.Must(c.Open(nil).Once(ctx, "base"))(c)
		want := map[string]string{"a": "100644 1\n", "b": "100644 2\n"}
		testkit.Same(t, fmt.Sprintf("killed after step %d", n), want, c.Tree(s.Commit.ID))
	}
}

// TestABranchIsInTheWay: git cannot keep a branch below the name of another. The error says which, and what to do.
func TestABranchIsInTheWay(t *testing.T) {
	for _, branch := range []string{"arbiter", "arbiter/" + gittest.RUN8} {
		d := gittest.New(t, map[string]string{"a": "1\n"})
		d.Git("branch", branch)
		r := d.Open(nil)
		err := r.Move(ctx, "t", workspace.Update{Ref: r.Branch(workspace.Main), New: d.Git("rev-parse", "HEAD")})
		testkit.Check(t, err != nil && strings.HasSuffix(err.Error(), "rename it: git branch -m "+branch+" NEW-NAME"),
			"%s: %v", branch, err)
	}
}

func TestMove(t *testing.T) {
	d := gittest.New(t, map[string]string{"a": "1\n"})
	one := d.Git("rev-parse", "HEAD")
	d.Write("a", "2\n")
	two := d.Commit("second")
	r := d.Open(nil)
	ref := r.Ref("x")
	d.Must(r.Move(ctx, "t", workspace.Update{Ref: ref, New: one}))
	d.Must(r.Move(ctx, "t", workspace.Update{Ref: ref, New: one})) // again
	testkit.Fails(t, "created twice", r.Move(ctx, "t", workspace.Update{Ref: ref, New: two}), workspace.ErrMoved)
	err := r.Move(ctx, "t", workspace.Update{Ref: r.Ref("z"), New: two},
		workspace.Update{Ref: ref, Old: strings.Repeat("1", len(one)), New: two})
	testkit.Check(t, errors.Is(err, workspace.ErrMoved), "moved: %v", err)
	c, _ := r.Commit(ctx, r.Ref("z"))
	testkit.Check(t, c.ID == "", "half of the moves were done")
}

// TestStaleLock: a lock that a killed git left behind is removed when it is old enough, and respected before.
func TestStaleLock(t *testing.T) {
	d := gittest.New(t, map[string]string{"a": "1\n"})
	d.Git("config", "core.filesRefLockTimeout", "0")
	r := d.Open(nil)
	lock := ".git/refs/arbiter/" + gittest.RUN8 + "/base.lock"
	d.Write(lock, "")
	patient, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	s, err := r.Once(patient, "base")
	testkit.Check(t, err != nil, "a lock was ignored: %v", s)
	old := time.Now().Add(-9 * time.Second)
	d.Must(os.Chtimes(filepath.Join(d.Path, lock), old, old))
	testkit.Works(t, "Once", testkit.Err(r.Once(ctx, "base")))
}
