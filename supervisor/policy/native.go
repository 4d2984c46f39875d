package policy

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
)

// Native returns the rule in the CLI's own syntax, for a session that works in cwd with this home directory.
// behavior is allow, deny or ask. As an allow rule it is never wider than the rule. The error says why the CLI
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
	if tool = "Read"; bridge.IsEditor(r.tool) {
		tool = "Edit"
	}
	p := Policy{CWD: cwd, Home: home}
	base, ok := p.base(&r.path)
	segs := strings.Join(r.path.segs, "/")
	switch {
	case r.kind != kindPath:
		return bad("has no empty rule")
	case behavior == bridge.Allow && tool != r.tool:
		return bad("does not allow %s by the name of a file: write %s%s", r.tool, tool, strings.TrimPrefix(r.text, r.tool))
	case !ok:
		return bad("needs absolute names, and the directory at which these begin is not known")
	case strings.ContainsAny(base, bridge.Globs):
		return bad("has no rule for files below %s, because its path has one of the characters %s", base, bridge.Globs)
	case strings.ContainsAny(segs, `{}!\`):
		return bad(`reads {, }, ! and \ in names in its own way: write the rule without them`)
	case segs == "":
		segs = "**"
	}
	return tool + "(/" + path.Join(base, segs) + ")", nil
}

// EditsBelow returns the one native rule that allows edits in a directory. It also allows to read there. ok is
// false if the CLI would misread the path.
func EditsBelow(dir string) (rule string, ok bool) {
	clean := filepath.Clean(dir)
	if !filepath.IsAbs(dir) || clean == "/" || strings.ContainsAny(clean, bridge.Globs+"\n\r\x00") ||
		strings.TrimSpace(clean) != clean || !bridge.Balanced(clean) {
		return "", false
	}
	return "Edit(/" + clean + "/**)", true
}
