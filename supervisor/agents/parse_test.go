package agents

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

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
			if diff := cmp.Diff(tt.want, got); diff != "" || len(problems) > 0 {
				t.Errorf("%s%v", diff, problems)
			}
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
			if diff := cmp.Diff(tt.want, strings.Join(lines, "\n")); diff != "" {
				t.Error(diff)
			}
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
		if !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
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
			if n := testing.AllocsPerRun(1, func() { read("x.md", file) }); n > 500_000 {
				t.Errorf("%.0f allocations for %d bytes", n, len(file))
			}
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
		if a.Name == "" || a.Description == "" || len(a.Name) > maxName {
			t.Errorf("%q: taken as %+v", src, a)
		}
		tools, disallowed := a.CLI()
		for _, entry := range append(tools, disallowed...) {
			if entry == "" || strings.HasPrefix(entry, "-") || strings.ContainsFunc(entry, isControl) {
				t.Errorf("%q: --tools would get %q", src, entry)
			}
		}
	})
}
