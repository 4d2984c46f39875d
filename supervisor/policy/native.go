package policy

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Native returns the rule in the CLI's own syntax, for a session that works in cwd with this home directory.
// behavior is Allow, Deny or Ask. As an allow rule it is never wider than the rule. The error says why the CLI
// cannot express the rule, and what to write instead if there is something.
//
// Rules about files get absolute names, because the CLI matches relative ones against the shell's directory. It
// honours them for two tools only: Edit, which includes all editors, and Read (measured with CLI 2.1.319 to
// 2.1.332). As in .gitignore, a rule also holds for what is below a directory that it names.
func (r Rule) Native(behavior, cwd, home string) (string, error) {
	bad := func(why string, args ...any) (string, error) {
		return "", fmt.Errorf("%s: the CLI %s", r.text, fmt.Sprintf(why, args...))
	}
	tool := r.tool
	if tool == "Task" {
		tool = "Agent"
	}
	switch r.kind {
	case kindTool:
		return tool, nil
	case kindMCP:
		if stem, some := strings.CutSuffix(tool, "*"); some && !strings.HasSuffix(stem, "__") {
			return bad("has no rule for some tools of a server: name each tool")
		}
		return tool, nil
	case kindBash:
		return "Bash(" + r.spec + ")", nil
	case kindDomain:
		return "WebFetch(domain:" + r.spec + ")", nil
	case kindName:
		if strings.Contains(r.spec, "*") {
			return bad("has no rule with * for %s: name each one", tool)
		}
		return tool + "(" + r.spec + ")", nil
	}
	if tool = "Read"; editors.has(r.tool) {
		tool = "Edit"
	}
	p := Policy{CWD: cwd, Home: home}
	base, ok := p.base(&r.path)
	segs := strings.Join(r.path.segs, "/")
	switch {
	case r.kind != kindPath:
		return bad("has no empty rule")
	case behavior == Allow && tool != r.tool:
		return bad("does not allow %s by the name of a file: write %s%s", r.tool, tool, strings.TrimPrefix(r.text, r.tool))
	case !ok:
		return bad("needs absolute names, and the directory at which these begin is not known")
	case strings.ContainsAny(base, patternChars):
		return bad("has no rule for files below %s, because its path has one of the characters %s", base, patternChars)
	case strings.ContainsAny(segs, `{}!\`):
		return bad(`reads {, }, ! and \ in names in its own way: write the rule without them`)
	case segs == "":
		segs = "**"
	}
	return tool + "(/" + path.Join(base, segs) + ")", nil
}

// patternChars are the characters that the CLI reads as patterns in the path of a rule, some of them even after a
// backslash.
const patternChars = `*?[]{}!\`

// EditsBelow returns the one native rule that allows edits in a directory. It also allows to read there. ok is
// false if the CLI would misread the path.
func EditsBelow(dir string) (rule string, ok bool) {
	clean := filepath.Clean(dir)
	if !filepath.IsAbs(dir) || clean == "/" || strings.ContainsAny(clean, patternChars+"\n\r\x00") ||
		strings.TrimSpace(clean) != clean || !balanced(clean) {
		return "", false
	}
	return "Edit(/" + clean + "/**)", true
}

// Words says in plain words what a rule allows, or what several do, with commas between them, for a person who
// chooses it.
func Words(rules string) string {
	var list []string
	for _, rule := range SplitRules(rules) {
		list = append(list, wordsOf(rule))
	}
	return strings.Join(list, "; ")
}

func wordsOf(rule string) string {
	r, err := ParseRule(rule)
	_, spec, _ := strings.Cut(strings.TrimSuffix(r.text, ")"), "(")
	where, below := strings.CutSuffix(strings.Replace(spec, "//", "/", 1), "/**")
	prefix, open := strings.CutSuffix(r.spec, "*")
	verb, all := "reading ", "reading everything under "
	if editors.has(r.tool) {
		verb, all = "edits of ", "all edits under "
	}
	const options = "` (its options can run programs)"
	switch {
	case err != nil:
		return "what the rule " + strings.TrimSpace(rule) + " allows"
	case r.kind == kindBash && open && !strings.Contains(prefix, "*"):
		return "every command that begins with `" + strings.TrimSpace(prefix) + options
	case r.kind == kindBash && strings.Contains(r.spec, "*"):
		return "every command of the form `" + r.spec + options
	case r.kind == kindBash:
		return "exactly this line"
	case r.kind == kindPath && below:
		return all + cmp.Or(where, "/")
	case r.kind == kindPath:
		return verb + where
	case r.spec != "":
		return "every use of the tool " + r.tool + " for " + r.spec
	case editors.has(r.tool) || readers.has(r.tool):
		return "every use of the tool " + r.tool + ", everywhere on this machine"
	}
	return "every use of the tool " + r.tool
}

// plainLine is a line of words that every shell reads in the same way.
var plainLine = expr(`^ *[A-Za-z0-9_@%+:,./][A-Za-z0-9_@%+:,./-]*( +[A-Za-z0-9_@%+=:,./-]+)* *$`)

// Plain reports whether a rule about commands covers a line that consists of plain words only. It is for commands
// that Arbiter itself runs as checks. Only rules for Bash as a whole, exact rules and those with a * as their last
// word count. Any other line is never covered.
func Plain(rules []Rule, line string) (rule string, ok bool) {
	words := strings.Join(strings.Fields(line), " ")
	i := slices.IndexFunc(rules, func(r Rule) bool {
		prefix, open := strings.CutSuffix(r.spec, " *")
		return r.kind == kindTool && r.tool == "Bash" || r.kind == kindBash && (r.spec == words ||
			open && plainLine().MatchString(prefix) && strings.HasPrefix(words+" ", prefix+" "))
	})
	if i < 0 || !plainLine().MatchString(line) {
		return "", false
	}
	return rules[i].text, true
}
