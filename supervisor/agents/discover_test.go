package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// home is a user's files, with a repository in it.
type home struct {
	t    *testing.T
	root string
}

func newHome(t *testing.T) home {
	h := home{t, t.TempDir()}
	testkit.OK(t, os.MkdirAll(filepath.Join(h.root, "repo/.git"), 0o700))
	return h
}

func (h home) write(path, src string) {
	h.t.Helper()
	path = filepath.Join(h.root, path)
	testkit.OK(h.t, os.MkdirAll(filepath.Dir(path), 0o700))
	testkit.OK(h.t, os.WriteFile(path, []byte(src), 0o600))
}

// agent writes an agent file; it is identified by its path.
func (h home) agent(path, name string) {
	h.t.Helper()
	h.write(path, "---\nname: "+name+"\ndescription: d\n---\nDo it.\n")
}

func (h home) link(to, path string) {
	h.t.Helper()
	testkit.OK(h.t, os.Symlink(to, filepath.Join(h.root, path)))
}

// find calls Discover, and returns the result in lines without the root.
func (h home) find(cwd string, trusted bool) string {
	env := map[string]string{"HOME": h.root}
	found := Discover(UserPlaces(filepath.Join(h.root, cwd), trusted, func(k string) string { return env[k] }))
	var lines []string
	for _, a := range found.Agents {
		if a.Source != BuiltinSource {
			lines = append(lines, a.Name+" "+a.Source)
		}
	}
	for _, s := range found.Shadowed {
		lines = append(lines, fmt.Sprintf("%s %s behind %s", s.Agent.Name, s.Agent.Source, s.By))
	}
	for _, p := range found.Problems {
		lines = append(lines, "! "+p.Error())
	}
	for _, f := range found.Untrusted {
		lines = append(lines, "? "+f)
	}
	return strings.ReplaceAll(strings.Join(lines, "\n"), h.root+"/", "")
}

func (h home) want(cwd string, trusted bool, lines ...string) {
	h.t.Helper()
	testkit.Same(h.t, "", strings.Join(lines, "\n"), h.find(cwd, trusted))
}

func TestPrecedence(t *testing.T) {
	h := newHome(t)
	h.want("repo/a/b", true)
	h.agent(".claude/agents/u.md", "x")
	h.agent(".config/arbiter/agents/u.md", "x")
	h.want("repo/a/b", true, "x .config/arbiter/agents/u.md",
		"x .claude/agents/u.md behind .config/arbiter/agents/u.md")
	h.agent("repo/.claude/agents/u.md", "x")
	h.agent("repo/a/.claude/agents/deep/down/u.md", "x")
	h.agent("repo/.arbiter/agents/u.md", "x")
	h.agent("repo/a/b/.arbiter/agents/t.md", "tester")
	h.want("repo/a/b", true,
		"tester repo/a/b/.arbiter/agents/t.md",
		"x repo/.arbiter/agents/u.md",
		"x repo/a/.claude/agents/deep/down/u.md behind repo/.arbiter/agents/u.md",
		"x repo/.claude/agents/u.md behind repo/.arbiter/agents/u.md",
		"x .config/arbiter/agents/u.md behind repo/.arbiter/agents/u.md",
		"x .claude/agents/u.md behind repo/.arbiter/agents/u.md",
		"tester built-in behind repo/a/b/.arbiter/agents/t.md")
	h.want("repo/a/b", false,
		"x .config/arbiter/agents/u.md",
		"x .claude/agents/u.md behind .config/arbiter/agents/u.md",
		"? repo/a/b/.arbiter/agents/t.md", "? repo/.arbiter/agents/u.md", "? repo/a/.claude/agents/deep/down/u.md",
		"? repo/.claude/agents/u.md")
}

// TestHomeIsNoWorkspace: a user who works in the home directory need not trust it.
func TestHomeIsNoWorkspace(t *testing.T) {
	h := newHome(t)
	h.agent(".claude/agents/u.md", "x")
	h.want("", false, "x .claude/agents/u.md")
	h.agent("other/.claude/agents/o.md", "above")
	h.agent("other/dir/.claude/agents/o.md", "here")
	// no repository: nothing above
	h.want("other/dir", true, "here other/dir/.claude/agents/o.md", "x .claude/agents/u.md")
}

func TestEnvironment(t *testing.T) {
	env := map[string]string{"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c", "XDG_CONFIG_HOME": "/x"}
	get := func(k string) string { return env[k] }
	if diff := cmp.Diff(Places{CWD: "/w", Config: "/x/arbiter", Claude: "/c"},
		UserPlaces("/w", false, get)); diff != "" {
		t.Error(diff)
	}
	env = map[string]string{"XDG_CONFIG_HOME": "relative"}
	testkit.Same(t, "", Places{CWD: "/w", Trusted: true}, UserPlaces("/w", true, get))
	if got := len(Discover(Places{CWD: "relative", Trusted: true}).Agents); got != len(List()) {
		t.Errorf("%d agents", got)
	}
}

func TestBrokenFiles(t *testing.T) {
	h := newHome(t)
	h.write("repo/.claude/agents/reviewer.md", "---\nname: reviewer\ndescription: d\ntools: read\n---\nDo it.\n")
	h.write("repo/.claude/agents/tester.md", "Do it.\n")
	h.write("repo/.claude/agents/lost.md", "---\nname: alone\n---\nDo it.\n")
	h.agent("repo/.claude/agents/twin1.md", "twin")
	h.agent("repo/.claude/agents/twin2.md", "twin")
	h.write("repo/.claude/agents/red.md", "---\nname: red\ndescription: d\ncolor: red\n---\nDo it.\n")
	h.agent(".claude/agents/t.md", "tester")
	h.want("repo", true,
		"red repo/.claude/agents/red.md",
		"tester .claude/agents/t.md",
		"twin repo/.claude/agents/twin1.md",
		"twin repo/.claude/agents/twin2.md behind repo/.claude/agents/twin1.md",
		"tester built-in behind .claude/agents/t.md",
		"! repo/.claude/agents/lost.md:1: description: missing; every agent has one; the file is not used",
		"! repo/.claude/agents/red.md:4: color: not used by arbiter",
		`! repo/.claude/agents/reviewer.md:4: tools: "read": tools' names are case-sensitive, write Read; the agent "reviewer" of built-in is used in its place`,
		`! repo/.claude/agents/tester.md:1: no front matter: the first line must be ---; the agent "tester" of .claude/agents/t.md is used in its place`,
		`! repo/.claude/agents/twin2.md: name: "twin" is the name in repo/.claude/agents/twin1.md, too, which is used`)
}

// TestStrangeEntries: none of these entries may block the search, be read, or hide other entries.
func TestStrangeEntries(t *testing.T) {
	h := newHome(t)
	h.agent("secret/out.md", "out")
	h.agent("repo/shared/in.md", "in")
	h.agent("repo/.claude/agents/fine.md", "fine")
	h.agent("repo/.claude/agents/dir.md/inner.md", "inner")
	h.agent("repo/.claude/agents/.hidden/h.md", "hidden")
	h.agent("repo/.claude/agents/notes.txt", "notes")
	h.link("../../../secret/out.md", "repo/.claude/agents/out.md")
	h.link(h.root+"/secret", "repo/.claude/agents/outdir.md")
	h.link("../../../secret", "repo/.claude/agents/elsewhere")
	h.link("../../shared", "repo/.claude/agents/indir")
	h.link(".", "repo/.claude/agents/circle")
	h.link("loop.md", "repo/.claude/agents/loop.md")
	h.link("nowhere.md", "repo/.claude/agents/dangling.md")
	h.write("repo/.claude/agents/big.md", strings.Repeat("x", 10<<20))
	testkit.OK(t, syscall.Mkfifo(filepath.Join(h.root, "repo/.claude/agents/pipe.md"), 0o600))
	h.want("repo", true,
		"fine repo/.claude/agents/fine.md",
		"hidden repo/.claude/agents/.hidden/h.md",
		"in repo/.claude/agents/indir/in.md",
		"inner repo/.claude/agents/dir.md/inner.md",
		"! repo/.claude/agents/dangling.md: cannot be looked at: no such file or directory",
		"! repo/.claude/agents/elsewhere: cannot be looked at: a link leads out of the workspace",
		"! repo/.claude/agents/loop.md: cannot be looked at: too many levels of symbolic links",
		"! repo/.claude/agents/out.md: cannot be looked at: a link leads out of the workspace",
		"! repo/.claude/agents/outdir.md: cannot be looked at: a link leads out of the workspace",
		"! repo/.claude/agents/pipe.md: is not a regular file",
		"! repo/.claude/agents/big.md: the file has more than 64 KiB, the limit of an agent file; the file is not used")
	if got := CheckFile(filepath.Join(h.root, "repo/.claude/agents/pipe.md")); len(got) != 1 ||
		!strings.Contains(got[0].Text, "not a regular file") {
		t.Error(got)
	}
}

// TestUserLinks: a user's own links may lead anywhere.
func TestUserLinks(t *testing.T) {
	h := newHome(t)
	h.agent("dotfiles/agents/a.md", "a")
	testkit.OK(t, os.MkdirAll(filepath.Join(h.root, ".claude"), 0o700))
	h.link(h.root+"/dotfiles/agents", ".claude/agents")
	h.want("repo", false, "a .claude/agents/a.md")
}

func TestManyFiles(t *testing.T) {
	h := newHome(t)
	for i := range maxFiles + 1 {
		h.agent(fmt.Sprintf(".claude/agents/a%03d.md", i), fmt.Sprintf("a%03d", i))
	}
	h.agent(".claude/agents/"+strings.Repeat("d/", maxDown+1)+"deep.md", "deep")
	got := h.find("repo", false)
	for _, want := range []string{"a199 ", "a200.md: left out", "a499.md: left out", "holds 501 agent files",
		"more than 8 directories deep"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(got, "a200 ") || strings.Contains(got, "a500.md") || strings.Contains(got, "deep.md") {
		t.Error("too much was read")
	}
}

func TestLargeFiles(t *testing.T) {
	h := newHome(t)
	for i := range 40 {
		h.write(fmt.Sprintf(".claude/agents/a%02d.md", i), fmt.Sprintf("---\nname: a%02d\ndescription: d\n---\n", i)+
			strings.Repeat("x", 60<<10))
	}
	if got := h.find("repo", false); !strings.Contains(got, "a33 ") || !strings.Contains(got, "a34.md: left out") {
		t.Error(got)
	}
}
