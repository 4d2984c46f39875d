package workspace_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
)

// trap is a way in which a repository can name a program. plain are calls of git by a person of which at least one
// runs it.
type trap struct {
	plant func(d gittest.Dir, program string)
	plain [][]string
}

// setting plants a setting of the repository's configuration, and attributes.
func setting(key, attributes string) func(gittest.Dir, string) {
	return func(d gittest.Dir, program string) {
		if key == "filter.e.clean" || key == "filter.e.smudge" {
			program += " cat"
		}
		d.Git("config", key, program)
		if attributes != "" {
			d.Write(".git/info/attributes", attributes+"\n")
		}
	}
}

// past makes git compare a file again.
var past = time.Unix(1_000_000_000, 0)

var status, checkout = []string{"status"}, []string{"checkout", "-f", "HEAD~0", "--", "."}

func hook(name string) func(gittest.Dir, string) {
	return func(d gittest.Dir, program string) {
		d.Write(".git/hooks/"+name, "#!/bin/sh\n"+program+"\n")
		d.Chmod(".git/hooks/"+name, 0o755)
	}
}

var traps = map[string]trap{
	"clean filter":   {setting("filter.e.clean", "* filter=e"), [][]string{{"add", "-A"}}},
	"smudge filter":  {setting("filter.e.smudge", "* filter=e"), [][]string{checkout}},
	"filter process": {setting("filter.e.process", "* filter=e"), [][]string{{"add", "-A"}}},
	"attributes in the work tree": {func(d gittest.Dir, program string) {
		d.Git("config", "filter.e.clean", program+" cat")
		d.Write(".gitattributes", "* filter=e\n")
	}, [][]string{{"add", "-A"}}},
	"text conversion": {setting("diff.e.textconv", "* diff=e"), [][]string{{"diff", "HEAD"}}},
	"diff command":    {setting("diff.e.command", "* diff=e"), [][]string{{"diff", "HEAD"}}},
	"external diff":   {setting("diff.external", ""), [][]string{{"diff", "HEAD"}}},
	"merge driver": {setting("merge.e.driver", "* merge=e"), [][]string{{"merge-tree", "--write-tree", "one",
		"two"}}},
	"file monitor": {setting("core.fsmonitor", ""), [][]string{status}},
	"alias":        {func(d gittest.Dir, program string) { d.Git("config", "alias.st", "!"+program) }, [][]string{{"st"}}},
	"signing program": {func(d gittest.Dir, program string) {
		d.Git("config", "commit.gpgSign", "true")
		d.Git("config", "gpg.program", program)
	}, [][]string{{"commit", "--allow-empty", "-m", "x"}}},
	"editor": {setting("core.editor", ""), [][]string{{"commit", "--allow-empty"}}},
	"ssh command": {func(d gittest.Dir, program string) {
		d.Git("config", "core.sshCommand", program)
		d.Git("config", "remote.origin.url", "ssh://127.0.0.1:1/x")
	}, [][]string{{"fetch", "origin"}}},
	"transport": {func(d gittest.Dir, program string) {
		d.Git("config", "protocol.ext.allow", "always")
		d.Git("config", "remote.origin.url", "ext::"+program)
		d.Git("config", "remote.origin.promisor", "true")
		d.Git("config", "extensions.partialClone", "origin")
	}, [][]string{{"fetch", "origin"}}},
	"included file": {func(d gittest.Dir, program string) {
		d.Write("settings", "[core]\n\tfsmonitor = \""+program+"\"\n")
		d.Git("config", "include.path", "../settings")
	}, [][]string{status}},
	"included under a condition": {func(d gittest.Dir, program string) {
		d.Write("settings", "[filter \"e\"]\n\tclean = \""+program+" cat\"\n", ".gitattributes", "* filter=e\n")
		d.Git("config", "includeIf.gitdir:/.path", filepath.Join(d.Path, "settings"))
	}, [][]string{{"add", "-A"}}},
	"configuration of the work tree": {func(d gittest.Dir, program string) {
		d.Git("config", "extensions.worktreeConfig", "true")
		d.Git("config", "--worktree", "core.fsmonitor", program)
	}, [][]string{status}},
	"hooks elsewhere": {func(d gittest.Dir, program string) {
		hook("post-index-change")(d, program)
		d.Must(os.Rename(filepath.Join(d.Path, ".git/hooks"), filepath.Join(d.Path, "hooks")))
		d.Git("config", "core.hooksPath", "hooks")
	}, [][]string{{"add", "-A"}}},
	"hook of the index":  {hook("post-index-change"), [][]string{{"add", "-A"}}},
	"hook of references": {hook("reference-transaction"), [][]string{{"update-ref", "refs/x", "HEAD"}}},
	"hook of a checkout": {hook("post-checkout"), [][]string{checkout, {"checkout", "-q", "HEAD"}}},
	"submodule": {func(d gittest.Dir, program string) {
		d.Git("-C", "module", "config", "filter.e.clean", program+" cat")
		d.Write("module/.gitattributes", "* filter=e\n")
		d.Must(os.Chtimes(filepath.Join(d.Path, "module/m"), past, past))
		d.Write("module/n", "other\n")
		d.Git("-C", "module", "config", "core.fsmonitor", program)
	}, [][]string{{"-c", "core.fsmonitor=false", "-C", "module", "add", "-A"}, status}},
	"nested repository": {func(d gittest.Dir, program string) {
		d.Git("init", "-q", "nested")
		d.Write("nested/x", "1\n")
		n := gittest.Dir{TB: d.TB, Path: filepath.Join(d.Path, "nested")}
		n.Commit("x")
		n.Git("config", "core.fsmonitor", program)
	}, [][]string{{"-C", "nested", "status"}}},
	"bare repository": {func(d gittest.Dir, program string) {
		d.Git("init", "-q", "--bare", "evil")
		d.Git("-C", "evil", "config", "core.bare", "false")
		d.Git("-C", "evil", "config", "core.worktree", d.Path)
		d.Git("-C", "evil", "config", "core.fsmonitor", program)
	}, [][]string{{"-C", "evil", "status"}}},
}

// TestPlanted: nothing that a repository names runs, whatever Arbiter does there. Each trap is shown to work first:
// git, called by a person in a copy of the repository, runs it.
func TestPlanted(t *testing.T) {
	for i, name := range slices.Sorted(maps.Keys(traps)) {
		if i%gittest.Stride(10) != 0 {
			continue // each kind of trap is alike: a name in a configuration
		}
		trap := traps[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := gittest.New(t, map[string]string{"a": "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "b": "1\n"})
			module := gittest.New(t, map[string]string{"m": "1\n"})
			d.Git("submodule", "--quiet", "add", module.Path, "module")
			d.Git("-C", "module", "config", "user.name", "a")
			d.Commit("module")
			for branch, lines := range map[string]string{"one": "one\n2\n3\n4\n5\n6\n7\n8\n9\n",
				"two": "1\n2\n3\n4\n5\n6\n7\n8\ntwo\n"} {
				d.Git("checkout", "-q", "-b", branch, "trunk")
				d.Write("a", lines)
				d.Commit(branch)
			}
			d.Git("checkout", "-q", "trunk")
			marks := gittest.Temp(t)
			program := filepath.Join(marks, "program")
			marker := filepath.Join(marks, "ran")
			d.Must(os.WriteFile(program, []byte("#!/bin/sh\ntouch '"+marker+"'\n$1\n"), 0o755))
			began := filepath.Join(marks, workspace.BeganName)
			o := gittest.Options(d.Path, nil)
			o.Began = began
			first := testkit.Must(workspace.Open(ctx, o))(d)
			d.Must(first.Begin(ctx))
			d.Must(move(first, "one"))
			trap.plant(d, program)
			d.Must(os.Chtimes(filepath.Join(d.Path, "b"), past, past))
			d.Write("a", "0\n2\n3\n4\n5\n6\n7\n8\n9\n")

			real := d.Copy()
			for _, args := range trap.plain {
				cmd := real.Command(args...)
				cmd.Env = append(cmd.Env, "GIT_TERMINAL_PROMPT=0")
				_ = cmd.Run() // it may fail because of the program
			}
			testkit.Need(t, os.Remove(marker) == nil, "the trap does not work")
			for _, step := range operations {
				r, err := workspace.Open(ctx, o)
				if err == nil {
					err = step.do(d, r)
				}
				testkit.Check(t, err == nil, "%s: %v", step.name, err)
				testkit.Check(t, os.Remove(marker) != nil, "%s ran the program", step.name)
			}
		})
	}
}

// move makes a branch the branch of the run.
func move(r *workspace.Repo, branch string) error {
	c, err := r.Commit(ctx, branch)
	if err != nil {
		return err
	}
	return r.Move(ctx, "test", workspace.Update{Ref: r.Branch(workspace.Main), New: c.ID})
}

// operations are what Arbiter does in a repository, in an order in which it may do that.
var operations = []struct {
	name string
	do   func(d gittest.Dir, r *workspace.Repo) error
}{
	{"snapshot", func(d gittest.Dir, r *workspace.Repo) error {
		_, err := r.Once(ctx, workspace.Base)
		return err
	}},
	{"another", func(d gittest.Dir, r *workspace.Repo) error {
		d.Write("a", "00\n2\n3\n4\n5\n6\n7\n8\n9\n")
		_, err := r.Again(ctx, workspace.End)
		return err
	}},
	{"diff", func(d gittest.Dir, r *workspace.Repo) error {
		_, err := r.Changes(ctx, r.Ref(workspace.Base), r.Ref(workspace.End))
		if err == nil {
			_, _, err = r.Diff(ctx, r.Ref(workspace.Base), r.Ref(workspace.End), workspace.DiffOptions{})
		}
		return err
	}},
	{"undo", func(d gittest.Dir, r *workspace.Repo) error {
		_, err := workspace.Undo(ctx, r, r.Ref(workspace.Base), r.Ref(workspace.End), false)
		return err
	}},
	{"merge", func(d gittest.Dir, r *workspace.Repo) error {
		_, _, err := workspace.MergeTrees(ctx, r, "one", "two")
		return err
	}},
	{"worktrees", func(d gittest.Dir, r *workspace.Repo) error { return work(d, r, workspace.WorktreeLinked) }},
	{"clones", func(d gittest.Dir, r *workspace.Repo) error { return work(d, r, workspace.WorktreeClone) }},
	{"export", func(d gittest.Dir, r *workspace.Repo) error {
		_, err := workspace.PackRun(ctx, r, filepath.Join(gittest.Temp(d), "bundle"))
		return err
	}},
	{"search", func(d gittest.Dir, r *workspace.Repo) error {
		text, err := r.Planted(ctx)
		testkit.Check(d, err != nil || text != "", "it is not said that something was planted")
		return err
	}},
	{"land", func(d gittest.Dir, r *workspace.Repo) error {
		d.Write("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
		_, err := workspace.Land(ctx, r, workspace.LandRequest{Commit: r.Branch(workspace.Main), Message: "land"})
		if len(r.Skipped) > 0 && err != nil && strings.Contains(err.Error(), "filter") {
			return nil // it is refused
		}
		return err
	}},
}

// TestPartlySearched: what was not looked at when the run began is not called new.
func TestPartlySearched(t *testing.T) {
	d := gittest.New(t, map[string]string{"a": "1\n", "sub/.git/HEAD": "ref: refs/heads/x\n"})
	o := gittest.Options(d.Path, nil)
	o.Began = filepath.Join(gittest.Temp(t), workspace.BeganName)
	r := testkit.Must(workspace.Open(ctx, o))(t)
	late, cancel := context.WithCancel(ctx)
	cancel()
	d.Must(r.Begin(late))
	testkit.Includes(t, "the warning", testkit.Must(r.Planted(ctx))(t), "or was not looked at", "sub/.git (a repository)")
}

// work makes a directory of an agent, commits there, plants there what the user's repository has, and takes the work.
func work(d gittest.Dir, r *workspace.Repo, kind workspace.WorktreeKind) error {
	m, err := workspace.OpenWorktrees(r, filepath.Join(gittest.Temp(d), "work"))
	if err != nil {
		return err
	}
	w, err := m.Create(context.Background(), workspace.WorktreeSpec{Orchestrator: 1, Kind: kind, From: "one"})
	if err != nil {
		return err
	}
	if kind == workspace.WorktreeClone {
		out, err := exec.Command("sh", "-c", "cp '"+d.Path+"/.git/config' '"+w.Dir+"/.git/' && mkdir -p '"+d.Path+
			"/.git/hooks' && cp -r '"+d.Path+"/.git/hooks' '"+w.Dir+"/.git/'").CombinedOutput()
		testkit.Need(d, err == nil, "%v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(w.Dir, "new"), []byte("1\n"), 0o644); err != nil {
		return err
	}
	if _, err := m.Work(ctx, w); err != nil {
		return err
	}
	if _, err := m.Commit(ctx, w, "work"); err != nil {
		return err
	}
	if _, err := m.Reader(ctx, "two"); err != nil {
		return err
	}
	if _, err := m.Reader(ctx, "one"); err != nil {
		return err
	}
	_, err = m.Remove(ctx, w, true)
	return err
}

// TestPlantedFiles: nothing but git, which is ended in time, waits for a pipe that an agent has put in the place of a
// file, and nothing that is outside of the repository is copied to where an agent can read it.
func TestPlantedFiles(t *testing.T) {
	const hidden = "hidden from agents"
	for _, name := range []string{"index", "shallow", "info/exclude", "info/sparse-checkout", "config.worktree",
		"worktrees", "worktrees/x/gitdir", "modules", "."} {
		for _, how := range []string{"pipe", "link"} {
			t.Run(how+" "+name, func(t *testing.T) {
				t.Parallel()
				d := gittest.New(t, map[string]string{"a": "1\n"})
				outside := filepath.Join(gittest.Temp(t), "outside")
				d.Must(os.WriteFile(outside, []byte(hidden), 0o600))
				r, root := d.Open(nil), filepath.Join(gittest.Temp(d), "work")
				m := testkit.Must(workspace.OpenWorktrees(r, root))(d)
				path := filepath.Join(d.Path, ".git", name)
				d.Must(os.RemoveAll(path), os.MkdirAll(filepath.Dir(path), 0o755))
				limit := time.Minute
				if how == "pipe" {
					limit = 2 * time.Second
					d.Must(syscall.Mkfifo(path, 0o600))
				} else {
					d.Must(os.Symlink(outside, path))
				}
				ctx, cancel := context.WithTimeout(ctx, limit)
				defer cancel()
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					_, _ = r.Again(ctx, workspace.End)
					_, _ = r.Planted(ctx)
					for i, kind := range kinds {
						_, _ = m.Create(ctx, spec(i, kind))
					}
				}()
				select {
				case <-ended:
				case <-time.After(time.Minute):
					go os.WriteFile(path, nil, 0o600) // it wakes the reader
					t.Fatal("something waits for it")
				}
				for _, dir := range []string{filepath.Join(d.Path, ".git", "worktrees"), root} {
					_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
						if err == nil && e.Type().IsRegular() {
							text, _ := os.ReadFile(path)
							testkit.Check(t, !strings.Contains(string(text), hidden), "it is in %s", path)
						}
						return nil
					})
				}
			})
		}
	}
}

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

// TestWrongEncoding: files that git cannot convert do not keep the others from being recorded, and are named. What it
// can convert is recorded beside them.
func TestWrongEncoding(t *testing.T) {
	const good, bad = "\xff\xfe2\x00", "as an agent writes it\n"
	encoding := `"x.rc", because text of the working-tree-encoding "UTF-16" cannot be converted`
	filter := `"x.big", because the filter "rot" fails`
	for _, c := range []struct {
		text, clean string
		problems    []string
	}{
		{bad, "", []string{encoding}},
		{bad, "cat", []string{encoding}},
		{good, "no-such-program", []string{filter}},
		{bad, "no-such-program", []string{filter, encoding}},
	} {
		d := gittest.New(t, map[string]string{".gitattributes": "*.rc working-tree-encoding=UTF-16\n*.big filter=rot\n",
			"a": "1\n", "x.rc": "\xff\xfe1\x00", "x.big": "1\n"})
		if c.clean != "" {
			d.UserConfig("filter.rot.required", "true")
			d.UserConfig("filter.rot.clean", c.clean)
		}
		d.Write("a", "2\n", "x.rc", c.text, "x.big", "2\n")
		s := testkit.Must(d.Open(nil).Once(ctx, "base"))(d)
		testkit.Same(t, "named", c.problems, s.Problems)
		tree := d.Tree(s.Commit.Tree)
		for file, left := range map[string]bool{"a": false, "x.rc": slices.Contains(c.problems, encoding),
			"x.big": slices.Contains(c.problems, filter)} {
			testkit.Check(t, strings.HasPrefix(tree[file], "100644 2") != left, "%s is %q", file, tree[file])
		}
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
