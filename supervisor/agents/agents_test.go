package agents

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

func TestBuiltin(t *testing.T) {
	list := List()
	testkit.Same(t, "names", "developer planner reviewer tester", strings.Join(Names(list), " "))
	for _, a := range list {
		src := testkit.Must(files.ReadFile("builtin/" + a.Name + ".md"))(t)
		_, problems := read(a.Name+".md", src)
		testkit.Check(t, len(problems) == 0, "%v", problems)
		// What every agent needs to know: how it ends, and what to do when it cannot continue.
		for _, part := range []string{"\nEnd ", "(`kind: question`) with", "exact error"} {
			testkit.Includes(t, fmt.Sprintf("%s does not say", a.Name), a.Prompt, part)
		}
		writes := a.Name == "developer" || a.Name == "tester"
		for _, tool := range []string{"Edit", "Write", "NotebookEdit", "MultiEdit"} {
			call, input := use(t, tool+" /w/a")
			ok, _, why := a.Guard(policy.Policy{CWD: "/w"}).Allows(call, input, "")
			testkit.Check(t, ok == writes, "%s may %s: %v %s", a.Name, tool, ok, why)
		}
		testkit.Same(t, fmt.Sprintf("%s is from", a.Name), BuiltinSource, a.Source)
	}
}

func TestLookup(t *testing.T) {
	list := []Agent{{Name: "b", Source: "1"}, {Name: "a"}, {Name: "b", Source: "2"}}
	testkit.Same(t, "names", "b a b", strings.Join(Names(list), " "))
	a, ok := Lookup(list, "b")
	testkit.Check(t, ok && a.Source == "1", "%+v, %v", a, ok)
	a, ok = Lookup(nil, "b")
	testkit.Check(t, !ok, "%+v", a)
}

func TestParse(t *testing.T) {
	a, list := read("x.md", []byte("---\nname: x\ndescription: d\ncolor: red\n---\nDo it.\n"))
	testkit.Check(t, !Broken(list) && a.Name == "x" && a.Source == "x.md", "a warning is not an error: %+v, %v", a, list)
	_, list = read("x.md", []byte("---\nname: x\nmaxTurns: 0\n---\nDo it.\n"))
	testkit.Check(t, len(list) == 2 && Broken(list) && list[0].Field == "description" &&
		strings.HasPrefix(list[1].Error(), "x.md:3: maxTurns: "), "%v", list)
}

// file is an agent file with these lines in addition to name and description.
func file(lines ...string) string {
	return "---\nname: x\ndescription: d\n" + strings.Join(append(lines, "---"), "\n") + "\nDo it.\n"
}

func TestRead(t *testing.T) {
	plain := Agent{Name: "x", Description: "d", Prompt: "Do it.", Source: "x.md"}
	with := func(change func(*Agent)) Agent {
		a := plain
		change(&a)
		return a
	}
	for name, tt := range map[string]struct {
		src  string
		want Agent
	}{
		"least":   {file(), plain},
		"windows": {"\xef\xbb\xbf" + strings.ReplaceAll(file(), "\n", "\r\n"), plain},
		"blanks":  {"--- \nname: x\ndescription: d\n---\t\n\nDo it.", plain},
		"list": {file("tools:", "  - Read", "  - Bash(git log, git show)"), with(func(a *Agent) {
			a.Tools = []string{"Read", "Bash(git log, git show)"}
		})},
		"flow": {file(`tools: [Read, "Edit(src/**)"]`), with(func(a *Agent) {
			a.Tools = []string{"Read", "Edit(src/**)"}
		})},
		"commas": {file("tools: Read, Bash(git log, git show),  Edit(src/**) ,"), with(func(a *Agent) {
			a.Tools = []string{"Read", "Bash(git log, git show)", "Edit(src/**)"}
		})},
		"all":        {file(`tools: "*"`), plain},
		"null tools": {file("tools:"), plain},
		"denied": {file("disallowedTools: Write, mcp__git"), with(func(a *Agent) {
			a.DisallowedTools = []string{"Write", "mcp__git"}
		})},
		"limits": {file("maxTurns: 7", "maxCost: 2.50", "timeout: 1h30m"), with(func(a *Agent) {
			a.Limits = Limits{MaxTurns: 7, MaxCostUSD: 2.5, Timeout: 90 * time.Minute}
		})},
		"make":  {file("make: open-code.2"), with(func(a *Agent) { a.Make = "open-code.2" })},
		"model": {file("model: opus", "effort: high"), with(func(a *Agent) { a.Model, a.Effort = "opus", "high" })},
		"no YAML, as the CLI takes it": {
			"---\nname: x\ndescription: Use: <example>it's: \"b\"</example>\\nSo.\ntools: Read, Bash\n---\nDo it.",
			with(func(a *Agent) {
				a.Description, a.Tools = "Use: <example>it's: \"b\"</example>\nSo.", []string{"Read", "Bash"}
			})},
		"folded": {"---\nname: x\ndescription: |\n  a\n  b\n---\nDo it.", with(func(a *Agent) {
			a.Description = "a\nb"
		})},
		"fence within": {file() + "---\nmore\n", with(func(a *Agent) { a.Prompt = "Do it.\n---\nmore" })},
	} {
		t.Run(name, func(t *testing.T) {
			got, problems := read("x.md", []byte(tt.src))
			diff := cmp.Diff(tt.want, got)
			testkit.Check(t, diff == "" && len(problems) == 0, "%s%v", diff, problems)
		})
	}
}

func TestReadProblems(t *testing.T) {
	for name, tt := range map[string]struct {
		src  string
		want string // one line each; warnings begin with ?
	}{
		"empty":       {"", "x.md:1: no front matter: the first line must be ---"},
		"none":        {"Do it.", "x.md:1: no front matter: the first line must be ---"},
		"line before": {"\n" + file(), "x.md:1: no front matter: the first line must be ---"},
		"unclosed":    {"---\nname: x\n", "x.md:1: the front matter is not closed: a line --- must follow it"},
		"nothing": {"---\n---\nDo it.",
			"x.md:1: description: missing; every agent has one\nx.md:1: name: missing; every agent has one"},
		"all at once": {"---\nname: a,b\neffort: much\nmaxTurns: 0\nmaxCost: -1\ntimeout: 5\n---\nDo it.",
			"x.md:1: description: missing; every agent has one\nx.md:2: name: \"a,b\" holds \",\": want letters, digits and . " +
				"_ - with single blanks between them\nx.md:3: effort: \"much\" is not an effort level: " +
				"use low, medium, high, xhigh, " +
				"max\nx.md:4: maxTurns: want a number of turns, 1 or more, not \"0\"\nx.md:5: maxCost: want US dollars, more " +
				"than 0, such as 2.5, not \"-1\"\nx.md:6: timeout: want a time such as 90s, 45m or 2h, not \"5\""},
		"list": {"---\n- a\n---\nDo it.", "x.md:2: the front matter must be `field: value` lines"},
		"types": {"---\nname: 12\ndescription: [a]\n---\nDo it.", "x.md:2: name: want text, not a number; put it into " +
			"quotes if it is\nx.md:3: description: want text, not a list; put it into quotes if it is"},
		"twice": {file("name: y"), "x.md:4: name: given twice: line 2 has it, too"},
		"tools number": {file("tools: 3"),
			"x.md:4: tools: want tools' names, as a list or with commas between them, not a number"},
		"tools numbers": {file("tools: [Read, 3]"), "x.md:4: tools: want tools' names, not a number"},
		"tools none":    {file("tools: []"), "x.md:4: tools: names no tool; leave the field out if none is meant"},
		"tools comma":   {file(`tools: " , "`), "x.md:4: tools: names no tool; leave the field out if none is meant"},
		"tools empty":   {file(`tools: [""]`), `x.md:4: tools: "": a rule begins with a tool's name, such as Bash`},
		"tools blank":   {file(`tools: ""`), "x.md:4: tools: empty"},
		"tools case": {file("tools:", "  - Read", "  - edit"),
			`x.md:6: tools: "edit": tools' names are case-sensitive, write Edit`},
		"tools open":   {file("tools: Bash(git *"), `x.md:4: tools: "Bash(git *": the closing parenthesis is missing`},
		"tools blanks": {file("tools: Read Bash"), `x.md:4: tools: "Read Bash": "Read Bash" is not a tool's name`},
		"tool unknown": {file("tools: Read, Reed"),
			`?x.md:4: tools: "Reed" is not a known tool; those of an MCP server are called mcp__server__tool`},
		"agent types": {file("tools: Agent(a, b)"),
			`x.md:4: tools: "Agent(a, b)": name each type of subagent in an entry of its own`},
		"all denied": {file(`disallowedTools: "*"`),
			"x.md:4: disallowedTools: an agent without any tool cannot work: name the tools"},
		"display name": {file(`displayName: "a\nb"`), "x.md:4: displayName: it is one line of at most 100 bytes"},
		"slip": {file("disallowed-tools: Write"),
			`x.md:4: "disallowed-tools": no such field: write disallowedTools`},
		"not used": {file("color: red", "permissionMode: bypassPermissions", "shape: round"), "?x.md:4: color: not used by " +
			"arbiter\n?x.md:5: permissionMode: not used by arbiter: arbiter's own policy decides what may run\n?x.md:6: " +
			"\"shape\": unknown field: neither arbiter nor Claude Code has one of this name"},
		"alias": {"---\nname: x\ndescription: &a d\nmodel: *a\n---\nDo it.", "x.md:3: description: anchors, aliases and " +
			"tags are not read: write the value out\n" +
			"x.md:4: model: anchors, aliases and tags are not read: write the value out"},
		"tag": {file("model: !!str opus"),
			"x.md:4: model: anchors, aliases and tags are not read: write the value out"},
		"nested": {file("hooks: " + strings.Repeat("[", 100)), "x.md:1: the front matter nests deeper than 32"},
		"large": {strings.Repeat("x", MaxFile+1),
			"x.md: the file has more than 64 KiB, the limit of an agent file"},
		"large front": {"---\n" + strings.Repeat("a: b\n", 5000) + "---\n",
			"x.md:1: the front matter has more than 16 KiB, or is not closed by a line ---"},
		"bytes": {"---\nname: x\ndescription: \xff\n---\n", "x.md:3: byte 0xff is not UTF-8 text"},
		"control": {"---\nname: x\ndescription: a\x1b[31m\n---\n",
			"x.md:3: the control character U+001B stands in the file"},
		"hidden": {file() + "\nbut\U000E0041\U000E0042",
			"x.md:7: text that cannot be seen stands here (U+E0041): remove it"},
		"flag":   {file() + "\n\U0001F3F4\U000E0067\U000E0062\U000E007F", ""},
		"turned": {file() + "a\u202eb", "?x.md:6: U+202E changes the order in which the text is shown"},
		"no prompt": {"---\nname: x\ndescription: d\n---\n",
			"?x.md: nothing follows the front matter: the agent has no instructions"},
		"model": {file("model: gibberish"),
			`?x.md:4: model: "gibberish" is not a known model: use sonnet, opus, haiku, inherit or a full id`},
		"model flag": {file("model: --x"),
			`x.md:4: model: "--x" is not the name of a model: use sonnet, opus, haiku, inherit or a full id`},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := read("x.md", []byte(tt.src))
			var lines []string
			for _, p := range problems {
				line := p.Error()
				if p.Warning {
					line = "?" + line
				}
				lines = append(lines, line)
			}
			testkit.Same(t, "lines", tt.want, strings.Join(lines, "\n"))
		})
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{ // ok, a part of the warning, or bad
		"x": "ok", "Data Engineer": "ok", "go1.26_v-2": "ok", "prüfer": "ok", "ревизор": "ok", "検査": "ok",
		"a,b": "bad", "a(b)": "bad", "a*": "bad", "a\\nb": "bad", "a/b": "bad", "../x": "bad", "-x": "bad",
		"a  b": "bad", "a ": "bad", " a": "bad", "a:b": "bad", "pl\u202eanner": "bad", "tag\U000E0041": "bad",
		"zero\u200bwidth": "bad", "no\u00a0break": "bad", "<b>": "bad", "\U0001F600": "bad",
		"arbiter": "bad", "Human": "bad", "orch-1": "bad", "Orch-12": "bad", "Orchestrator IV": "bad", "orch-x": "ok",
		strings.Repeat("n", 65): "bad", "аrbiter": "looks like arbiter", "arb1ter": "ok",
		"arbıter": "looks like arbiter", "plаnner": "looks like planner", "Planner": "looks like planner",
		"dev-eloper": "looks like developer", "ｔester": "looks like tester", "revie\u0300wer": "looks like reviewer",
		"hurnan": "looks like human", "gοpher": "mixes letters",
	} {
		_, problems := read("x.md", []byte("---\nname: \""+name+"\"\ndescription: d\n---\nDo it.\n"))
		got := "ok"
		if len(problems) > 0 {
			got = problems[0].Text
		}
		if Broken(problems) {
			got = "bad"
		}
		testkit.Includes(t, name, got, want)
	}
}

// TestReadIsBounded parses input that makes some YAML readers explode.
func TestReadIsBounded(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		p := string(c - 1)
		bomb += string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+p+",", 9), ",") + "]\n"
	}
	for name, front := range map[string]string{
		"bomb":     bomb + "tools: *j\n",
		"deep":     "hooks:\n" + strings.Repeat("- ", 8000) + "\n",
		"indented": deep(170),
		"keys":     strings.Repeat("? ", 8000) + "\n",
		"quotes":   strings.Repeat("a: 'b\n", 2500),
		"colons":   "description: " + strings.Repeat("a: ", 5000) + "\n",
		"merge":    "<<: {name: y}\n",
		"docs":     strings.Repeat("...\n", 4000),
	} {
		t.Run(name, func(t *testing.T) {
			file := []byte("---\nname: x\ndescription: d\n" + front + "---\nDo it.\n")
			n := testing.AllocsPerRun(1, func() { read("x.md", file) })
			testkit.Check(t, n <= 500_000, "%.0f allocations for %d bytes", n, len(file))
		})
	}
}

// deep is a mapping within a mapping, n times.
func deep(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func FuzzRead(f *testing.F) {
	f.Add(file("tools: [Read, Bash(git *)]", "maxCost: 1", "color: red"))
	f.Add("---\nname: &a x\ndescription: *a\n<<: {tools: !!set {? a}}\n---\n")
	f.Add("---\nname: x\ndescription: Use: \"it's\n---\nx")
	f.Fuzz(func(t *testing.T, src string) {
		a, problems := read("x.md", []byte(src))
		if Broken(problems) {
			return
		}
		testkit.Check(t, a.Name != "" && a.Description != "" && len(a.Name) <= maxName, "%q: taken as %+v", src, a)
		tools, disallowed := a.CLI()
		for _, entry := range append(tools, disallowed...) {
			testkit.Check(t, entry != "" && !strings.HasPrefix(entry, "-") && !strings.ContainsFunc(entry, isControl),
				"%q: --tools would get %q", src, entry)
		}
	})
}

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
	testkit.Same(t, "", Places{CWD: "/w", Config: "/x/arbiter", Claude: "/c"}, UserPlaces("/w", false, get))
	env = map[string]string{"XDG_CONFIG_HOME": "relative"}
	testkit.Same(t, "", Places{CWD: "/w", Trusted: true}, UserPlaces("/w", true, get))
	testkit.Same(t, "agents", len(List()), len(Discover(Places{CWD: "relative", Trusted: true}).Agents))
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
	got := CheckFile(filepath.Join(h.root, "repo/.claude/agents/pipe.md"))
	testkit.Check(t, len(got) == 1 && strings.Contains(got[0].Text, "not a regular file"), "%v", got)
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
		testkit.Includes(t, "is missing", got, want)
	}
	testkit.Excludes(t, "too much was read", got, "a200 ", "a500.md", "deep.md")
}

func TestLargeFiles(t *testing.T) {
	h := newHome(t)
	for i := range 40 {
		h.write(fmt.Sprintf(".claude/agents/a%02d.md", i), fmt.Sprintf("---\nname: a%02d\ndescription: d\n---\n", i)+
			strings.Repeat("x", 60<<10))
	}
	testkit.Includes(t, "text", h.find("repo", false), "a33 ", "a34.md: left out")
}

func use(t *testing.T, call string) (tool string, input json.RawMessage) {
	t.Helper()
	tool, arg, _ := strings.Cut(call, " ")
	field := map[string]string{"Bash": "command", "Agent": "subagent_type", "Task": "subagent_type", "WebFetch": "url",
		"Glob": "pattern", "Grep": "pattern"}[tool]
	if field == "" {
		field = "file_path"
	}
	input = testkit.Must(json.Marshal(map[string]string{field: arg}))(t)
	return tool, input
}

func TestAllows(t *testing.T) {
	for name, tt := range map[string]struct {
		tools, denied []string
		yes, no       []string
	}{
		"all": {yes: []string{"Bash rm -rf x", "Write /w/a", "mcp__git__log", "Agent worker", "NewTool x"}},
		"denied": {
			denied: []string{"Edit", "Bash(rm *)", "mcp__git"},
			yes: []string{"Read /w/a", "Bash ls", "mcp__gitlab__log", "StructuredOutput",
				"mcp__arbiter__update_plan"},
			no: []string{"Edit /w/a", "Write /w/a", "NotebookEdit /w/a", "Bash rm x", "Bash ls; rm x", "Bash sudo rm x",
				"Bash ls $(rm x)", "Bash $X y", "mcp__git__log"},
		},
		"denied agent": {denied: []string{"Task"}, yes: []string{"Read a"},
			no: []string{"Agent worker", "Task worker"}},
		"denied ours": {denied: []string{"mcp__arbiter"},
			yes: []string{"mcp__arbiter__update_plan", "StructuredOutput"}},
		"named": {
			tools: []string{"Read", "Bash(git *)", "Bash(go test *)", "Edit(src/**)", "mcp__git__log",
				"WebFetch(domain:example.com)"},
			yes: []string{"Read /etc/passwd", "Bash git status", "Bash git add . && go test ./...", "Edit src/a",
				"Edit /w/src/b/c", "mcp__git__log", "Agent worker", "Task worker", "WebFetch https://example.com/x",
				"StructuredOutput", "mcp__arbiter__report_progress"},
			no: []string{"Grep x", "Glob x", "Write /w/src/a", "Bash ls", "Bash git status; ls", "Bash git status > x",
				"Bash git log $(rm x)", "Bash git status & rm x", "Bash gitk", "Edit /w/a", "Edit /w/src/../a",
				"mcp__git__push", "WebFetch https://example.com.evil.org", "TodoWrite", "KillShell", "NewTool"},
		},
		"named and denied": {
			tools: []string{"Bash", "Read"}, denied: []string{"Bash(git push *)"},
			yes: []string{"Bash ls", "Bash git pull"},
			no:  []string{"Bash git push", "Bash ls && git push -f", "Write x"},
		},
		"agents by type": {tools: []string{"Read", "Agent(worker)"}, yes: []string{"Agent worker", "Task worker"},
			no: []string{"Agent Explore"}},
		"server": {tools: []string{"mcp__git"}, yes: []string{"mcp__git__log", "Agent x"},
			no: []string{"Read a", "mcp__gitx__log", "Bash ls"}},
		"an entry unread": {tools: []string{"Bash(", "Read"}, yes: []string{"Read a"}, no: []string{"Bash ls"}},
		"a denial unread": {denied: []string{"Bash(rm"}, yes: []string{"StructuredOutput"},
			no: []string{"Read a", "Bash ls"}},
		"none can be read":  {tools: []string{"Bash("}, no: []string{"Read a", "Bash ls"}},
		"not even one tool": {tools: []string{}, yes: []string{"Agent x"}, no: []string{"Read a"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := Agent{Name: "m", Tools: tt.tools, DisallowedTools: tt.denied}
			for want, calls := range map[bool][]string{true: tt.yes, false: tt.no} {
				for _, call := range calls {
					tool, input := use(t, call)
					ok, rule, why := a.Guard(policy.Policy{CWD: "/w", Home: "/home/u"}).Allows(tool, input, "")
					testkit.Check(t, ok == want && ok == (why == ""), "%s: %v by %q: %s", call, ok, rule, why)
				}
			}
		})
	}
}

func TestAllowsSaysWhy(t *testing.T) {
	a := Agent{Name: "m", Tools: []string{"Bash(git *)"}, DisallowedTools: []string{"Bash(git push *)"}}
	for call, want := range map[string]string{
		"Bash git push": "Bash(git push *): the mode m does without Bash(git push *)",
		"Bash ls":       ": the mode m has Bash for no more than Bash(git *)",
		"Read x":        ": the mode m has no tool Read",
	} {
		tool, input := use(t, call)
		_, rule, why := a.Guard(policy.Policy{CWD: "/w"}).Allows(tool, input, "")
		testkit.Check(t, rule+": "+why == want, "%s: %s: %s", call, rule, why)
	}
	// Input that cannot be read is not allowed.
	for _, input := range []string{"", "null", "[]", `{"command":3}`, `{"Command":"git log"}`} {
		ok, _, _ := a.Guard(policy.Policy{CWD: "/w"}).Allows("Bash", json.RawMessage(input), "")
		testkit.Check(t, !ok, "allowed: %q", input)
	}
}

func TestCLI(t *testing.T) {
	for name, tt := range map[string]struct {
		tools, denied, want []string
		narrows             bool
	}{
		"all": {denied: []string{"Edit", "Bash(rm *)"}},
		"named": {tools: []string{"Read", "Bash(git *)", "Bash(go *)", "Edit(src/**)", "mcp__git__log"},
			want: []string{"Agent", "Read", "Bash", "Edit"}, narrows: true},
		"agent":   {tools: []string{"Task", "Read"}, want: []string{"Agent", "Read"}},
		"alone":   {tools: []string{"Read"}, denied: []string{"Task"}, want: []string{"Read"}},
		"nothing": {tools: []string{"mcp__git"}, denied: []string{"Agent"}, want: []string{}},
	} {
		a := Agent{Tools: tt.tools, DisallowedTools: tt.denied}
		tools, denied := a.CLI()
		diff := cmp.Diff([][]string{tt.want, tt.denied}, [][]string{tools, denied})
		testkit.Check(t, diff == "" && a.Narrows() == tt.narrows, "%s: narrows %v, %s", name, a.Narrows(), diff)
	}
}
