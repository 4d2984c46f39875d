package git

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// put writes a file and its directories.
func put(t *testing.T, path, text string) {
	t.Helper()
	testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
	testkit.OK(t, os.WriteFile(path, []byte(text), 0o644))
}

// real runs git without the machine's configuration.
func real(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=" + os.DevNull}
	out, err := cmd.Output()
	return string(out), err
}

func temp(t *testing.T) string {
	t.Helper()
	dir := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	return dir
}

func list(settings []Setting) (text string) {
	for _, s := range settings {
		text += s.Key
		if !s.Bare {
			text += "\n" + s.Value
		}
		text += "\x00"
	}
	return text
}

// TestSettings: files are read as git reads them, and git reads what is written from them in the same way.
func TestSettings(t *testing.T) {
	dir := temp(t)
	for name, text := range map[string]string{
		"usual":     "[core]\n\tbare = false\n\tfileMode = true\n[remote \"origin\"]\n\turl = https://x/y.git\n",
		"empty":     "",
		"comments":  "# a\n; b\n[a] ; c\nb = c # d\ne = \"f # g\" ; h\n",
		"quotes":    "[a]\nb = \"  c  \"  d\\\"e\\\\\\n\\tf\ng = \\\"\nh = x\"y z\"w\n",
		"continued": "[a]\nb = c \\\n  d\ne = f\\\n",
		"bare":      "[a]\nb\nc =\n[a \"B.c\\\"d\\\\e\"]\nF\n",
		"one line":  "[a] b = c\n[d.E] f = g\n",
		"line ends": "[a]\r\nb = c\r\nd\r\n",
		"mark":      "\xef\xbb\xbf[a]\nb = c\n",
		"many":      "[a]\nb = 1\nb = 2\n[c]\n[a]\nb = 3",
		"blanks":    " [a]\n b =   c   d \t \n",
	} {
		file := filepath.Join(dir, "config")
		put(t, file, text)
		want, err := real(t, dir, "config", "--file", file, "-z", "--list")
		testkit.Need(t, err == nil, "%s: git cannot read it: %v", name, err)
		got, err := Settings(file)
		diff := cmp.Diff(want, list(got))
		testkit.Check(t, diff == "" && err == nil, "%s: %v, -git +got:\n%s", name, err, diff)
		put(t, file, string(format(got)))
		again, err := real(t, dir, "config", "--file", file, "-z", "--list")
		diff = cmp.Diff(want, again)
		testkit.Check(t, diff == "" && err == nil, "%s, written: %v, -git +again:\n%s", name, err, diff)
	}
	for _, text := range []string{"[a", "[a \"b]\n", "b = c\n", "[a]\nb = \"c\n", "[a]\nb = \\x\n",
		"[a]\nb c\n", "[a]\n= b\n"} {
		put(t, filepath.Join(dir, "config"), text)
		got, err := Settings(filepath.Join(dir, "config"))
		testkit.Check(t, err != nil, "%q is read as %v", text, got)
	}
	out, err := exec.Command("mkfifo", filepath.Join(dir, "pipe")).CombinedOutput()
	testkit.Need(t, err == nil, "%v: %s", err, out)
	testkit.Fails(t, "a pipe is read", testkit.Err(Settings(filepath.Join(dir, "pipe"))))
}

// TestKeeps: no setting that names a program, or a file with settings, is used.
func TestKeeps(t *testing.T) {
	for _, key := range []string{"core.autocrlf", "user.name", "merge.renames", "remote.a.b.url",
		"extensions.objectformat"} {
		s := (Setting{Key: key, Value: "x"})
		testkit.Check(t, s.Keeps() && !s.Runs(), "%s is not kept", key)
	}
	for _, key := range []string{"core.fsmonitor", "core.hookspath", "core.sshcommand", "core.pager", "core.editor",
		"core.worktree", "core.alternaterefscommand", "core.askpass", "core.gitproxy", "filter.x.clean",
		"filter.core.autocrlf.smudge", "filter.x.process", "diff.external", "diff.x.textconv", "diff.x.command",
		"merge.x.driver", "merge.renames.driver", "include.path", "includeif.gitdir:/.path", "alias.status",
		"credential.helper", "credential.https://x.helper", "remote.x.uploadpack", "remote.x.receivepack", "remote.x.vcs",
		"uploadpack.packobjectshook", "url.ext::sh.insteadof", "protocol.ext.allow", "submodule.x.update", "gpg.program",
		"gpg.ssh.program", "sequence.editor", "pager.diff", "interactive.difffilter", "init.templatedir", "lfs.storage",
		"lfs.customtransfer.x.path", "trailer.x.cmd", "extensions.worktreeconfig", "unknown.key"} {
		s := (Setting{Key: key, Value: "x"})
		testkit.Check(t, !s.Keeps() && s.Runs(), "%s is kept, or does not count as one that runs something", key)
	}
	s := (Setting{Key: "remote.x.url", Value: "ext::sh -c x"})
	testkit.Check(t, !s.Keeps() && s.Runs(), "a transport that is a program is kept")
}

// TestLocate: the same work tree is found as by git, and what only looks like a repository is none.
func TestLocate(t *testing.T) {
	top := temp(t)
	at := func(name string) string { return filepath.Join(top, name) }
	git := func(dir string, args ...string) {
		t.Helper()
		args = append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"}, args...)
		_, err := real(t, dir, args...)
		testkit.Need(t, err == nil, "git %v: %v", args, err)
	}
	git(top, "init", "-q", "repo")
	git(at("repo"), "commit", "-q", "--allow-empty", "-m", "x")
	git(at("repo"), "worktree", "add", "-q", at("linked"))
	git(top, "init", "-q", "--separate-git-dir", at("store"), "separate")
	git(at("repo"), "submodule", "--quiet", "add", at("repo"), "module")
	git(top, "clone", "-q", "--bare", at("repo"), "bare")
	git(at("bare"), "worktree", "add", "-q", at("ofbare"))
	git(top, "init", "-q", "new\nline")
	git(at("new\nline"), "commit", "-q", "--allow-empty", "-m", "x")
	git(at("new\nline"), "worktree", "add", "-q", at("ofnewline"))
	put(t, at("repo/sub/dir/file"), "")
	put(t, at("repo/empty/.git/x"), "")
	testkit.OK(t, os.Symlink(at("repo/sub"), at("link")))
	git(at("repo"), "init", "-q", "--bare", "sub/bare")
	for _, dir := range []string{"repo", "repo/sub/dir", "linked", "separate", "repo/module", "ofbare", "link/dir",
		"repo/empty"} {
		out := testkit.Must(real(t, at(dir), "rev-parse", "--show-toplevel", "--absolute-git-dir", "--path-format=absolute",
			"--git-common-dir"))(t)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		got, err := Locate(at(dir))
		diff := cmp.Diff(Place{lines[0], lines[1], lines[2]}, got)
		testkit.Check(t, diff == "" && err == nil, "%s: %v, -git +got:\n%s", dir, err, diff)
		testkit.Works(t, dir, got.Check())
	}
	if p, err := Locate(at("ofnewline")); err != nil || p.CommonDir != at("new\nline/.git") {
		t.Errorf("a worktree of a repository with a line end in its path: %v, %v", p, err)
	}
	if p, err := Locate(at("repo/sub/bare")); err != nil || p.Root != at("repo") {
		t.Errorf("a bare repository in a work tree: %v, %v", p, err)
	}
	for dir, want := range map[string]error{"bare": ErrBare, "repo/.git": ErrNone, "": ErrNone,
		"repo/.git/refs": ErrNone} {
		p, err := Locate(at(dir))
		testkit.Check(t, errors.Is(err, want) && errors.Is(err, ErrBare) == (want == ErrBare), "%q: %v, %v", dir, p, err)
	}
	p := testkit.Must(Locate(at("repo")))(t)
	config := testkit.Must(os.ReadFile(at("repo/.git/config")))(t)
	var changed *ChangedError
	for name, c := range map[string]struct{ file, text, back string }{
		"commondir": {at("repo/.git/commondir"), at("bare"), ""},
		"files":     {at("repo/.git/config"), string(config) + "[core]\nworktree = " + at("linked") + "\n", string(config)},
	} {
		put(t, c.file, c.text)
		_, err := Locate(at("repo"))
		testkit.Check(t, errors.As(err, &changed) && errors.As(p.Check(), &changed), "%s elsewhere: %v", name, err)
		testkit.OK(t, os.Remove(c.file))
		if c.back != "" {
			put(t, c.file, c.back)
		}
		testkit.OK(t, p.Check())
	}
	testkit.OK(t, errors.Join(os.Rename(at("repo/.git"), at("old")), os.Symlink(at("store"), at("repo/.git"))))
	if err := p.Check(); !errors.As(err, &changed) || !strings.Contains(err.Error(), at("store")) {
		t.Errorf("a link to another repository: %v", err)
	}
}

// TestSubmodulesAreBounded: repositories in repositories, as an agent may make them, are not searched without end.
func TestSubmodulesAreBounded(t *testing.T) {
	dir, before := temp(t), maxModules
	maxModules = 20
	defer func() { maxModules = before }()
	for _, name := range []string{"a", "b"} {
		put(t, filepath.Join(dir, name, "HEAD"), "")
		for i := range maxModules/2 + 1 {
			testkit.OK(t, os.MkdirAll(filepath.Join(dir, name, "modules", strconv.Itoa(i)), 0o755))
		}
	}
	testkit.Fails(t, "a search", testkit.Err(Submodules(dir)), "too much")
}

// TestNothingIsWrittenElsewhere: an agent has put a link in the place of a log, or of the index: no call follows it.
func TestNothingIsWrittenElsewhere(t *testing.T) {
	for link, calls := range map[string][]string{
		"logs/HEAD": {"reset --quiet --hard HEAD", "checkout --quiet --detach HEAD", "update-ref HEAD HEAD"},
		"index":     {"reset --quiet --hard HEAD", "checkout --quiet --detach HEAD", "read-tree HEAD"},
	} {
		for _, call := range calls {
			dir, elsewhere := temp(t), filepath.Join(temp(t), "elsewhere")
			testkit.Must(real(t, dir, "init", "-q"))(t)
			testkit.Must(real(t, dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m",
				"x"))(t)
			p := testkit.Must(Locate(dir))(t)
			r := Runner{Env: Environ(os.Environ()), Dir: dir, At: &p, Views: t.TempDir()}
			path := filepath.Join(dir, ".git", link)
			testkit.OK(t, os.RemoveAll(path), os.Symlink(elsewhere, path))
			_, err := r.Write(t.Context(), strings.Fields(call)...)
			testkit.Fails(t, call, err, path+" is neither a file nor a directory")
			testkit.Fails(t, call+" has written elsewhere", testkit.Err(os.Lstat(elsewhere)))
			testkit.OK(t, os.Remove(path))
			testkit.OK(t, testkit.Err(r.Write(t.Context(), strings.Fields(call)...)))
		}
	}
}

// TestSurvey: each change after which git would run something, or use another repository, is found.
func TestSurvey(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		mode       os.FileMode
		want       string // empty: it is harmless
	}{
		"hook":                  {".git/hooks/post-checkout", "x", 0o755, ".git/hooks/post-checkout"},
		"hook that is changed":  {".git/hooks/pre-push", "x", 0o755, ".git/hooks/pre-push"},
		"hook that cannot run":  {".git/hooks/pre-commit", "x", 0o644, ""},
		"commondir":             {".git/commondir", "x", 0o644, ".git/commondir"},
		"attributes":            {".git/info/attributes", "x", 0o644, ".git/info/attributes"},
		"alternates":            {".git/objects/info/alternates", "/x", 0o644, ".git/objects/info/alternates"},
		"worktree settings":     {".git/config.worktree", "[core]\npager = x", 0o644, ".git/config.worktree (core.pager)"},
		"setting":               {".git/config", "[core]\nfsmonitor = x", 0o644, ".git/config (core.fsmonitor)"},
		"harmless setting":      {".git/config", "[core]\nautocrlf = true\n[user]\nname = x", 0o644, ""},
		"unreadable settings":   {".git/config", "[", 0o644, ".git/config (unreadable)"},
		"submodule's setting":   {".git/modules/m/config", "[alias]\nx = !x", 0o644, ".git/modules/m/config (alias.x)"},
		"submodule's update":    {".gitmodules", "[submodule \"m\"]\nupdate = !x", 0o644, ".gitmodules (submodule.m.update)"},
		"a submodule":           {".gitmodules", "[submodule \"m\"]\npath = m\nurl = x", 0o644, ""},
		"bare repository":       {"evil/refs/x", "", 0o644, "evil (a bare repository)"},
		"its parts elsewhere":   {"half/commondir", "x", 0o644, "half (a bare repository)\nhalf/commondir"},
		"an ignored one":        {"node_modules/a/b/refs/x", "", 0o644, "node_modules/a/b (a bare repository)"},
		"file of a repository":  {"dir/.git", "gitdir: /x", 0o644, "dir/.git (a repository)"},
		"nested one":            {"dir/.git/HEAD", "x", 0o644, "dir/.git (a repository)"},
		"nested one's settings": {"known/.git/config", "[core]\npager = x", 0o644, "known/.git/config (core.pager)"},
		"nested one's module": {"known/.git/modules/m/config", "[alias]\nx = !x", 0o644,
			"known/.git/modules/m/config (alias.x)"},
		"file":                  {"dir/file", "x", 0o644, ""},
		"link in a log's place": {".git/logs/HEAD", "/x", os.ModeSymlink, ".git/logs/HEAD (a link or a pipe)"},
		"link of a submodule": {".git/modules/m/COMMIT_EDITMSG", "/x", os.ModeSymlink,
			".git/modules/m/COMMIT_EDITMSG (a link or a pipe)"},
		"link of git-annex":     {".git/annex/index", "/x", os.ModeSymlink, ".git/annex/index (a link or a pipe)"},
		"one of its contents":   {".git/annex/objects/a/b", "/x", os.ModeSymlink, ""},
		"link in the work tree": {"dir/link", "/x", os.ModeSymlink, ""},
	} {
		dir := temp(t)
		testkit.Must(real(t, dir, "init", "-q", "--template="))(t)
		put(t, filepath.Join(dir, ".git/hooks/pre-push"), "before")
		testkit.OK(t, os.Chmod(filepath.Join(dir, ".git/hooks/pre-push"), 0o755))
		for _, file := range []string{"evil/HEAD", "evil/objects/x", "half/HEAD", "node_modules/a/b/HEAD",
			"node_modules/a/b/objects/x", "known/.git/HEAD", ".git/modules/m/HEAD", ".git/config.worktree"} {
			put(t, filepath.Join(dir, file), "")
		}
		p := testkit.Must(Locate(dir))(t)
		before, all, err := p.Survey(t.Context())
		if err != nil || !all {
			t.Fatal(all, err)
		}
		path := filepath.Join(dir, c.file)
		if c.mode == os.ModeSymlink {
			testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
			testkit.OK(t, os.Symlink(c.text, path))
		} else {
			put(t, path, c.text)
			testkit.OK(t, os.Chmod(path, c.mode))
		}
		after, _, err := p.Survey(t.Context())
		testkit.OK(t, err)
		testkit.Same(t, fmt.Sprintf("%s: found", name), c.want, strings.Join(after.New(before), "\n"))
	}
}
