package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
)

// Rule is one permission rule. The zero Rule matches nothing.
type Rule struct {
	text string
	tool string // a tool's name; for MCP also a server, or a prefix with *
	kind ruleKind
	spec string // Bash: the pattern; names: the name, possibly with *; WebFetch: the host

	lits []string // Bash: the words of the pattern before the first *
	rest string   // Bash: the pattern after them; "": nothing
	path pathPattern
}

type ruleKind int

const (
	kindNone   ruleKind = iota
	kindTool            // the tool, with any input
	kindMCP             // a server's tools, or those with a prefix
	kindBash            // commands
	kindPath            // files
	kindDomain          // hosts
	kindName            // a value of the input
)

// String is the rule as it was written.
func (r Rule) String() string { return r.text }

// Tool is the name that the rule begins with: a tool's, or for MCP also a server's.
func (r Rule) Tool() string { return r.tool }

// Whole reports whether the rule covers all uses of a tool.
func (r Rule) Whole() bool { return r.kind == kindTool || r.kind == kindMCP }

// Known reports whether the rule's tool is one of Claude Code's, or an MCP server's.
func (r Rule) Known() bool { return r.kind == kindMCP || slices.Contains(bridge.KnownTools(), r.tool) }

// Names reports whether the rule names a tool: Agent and Task are two names of the same tool, and an MCP rule
// may name a server. Unlike in a permission rule, Edit means only Edit.
func (r Rule) Names(tool string) bool {
	return r.tool == tool || r.kind == kindMCP && matchMCP(r.tool, tool) ||
		bridge.StartsSubagent(r.tool) && bridge.StartsSubagent(tool)
}

var (
	toolName = expr(`^[a-zA-Z][a-zA-Z0-9_-]*$`)
	mcpName  = expr(`^mcp__([^_*\s]|_[^_*\s])+_?(__[^*\s]*\*?)?$`)
	hostName = expr(`^(\*\.)?[^*/:\s]*[^*/:\s.][^*/:\s]*$`)
)

// ruleError is put into words when it is read: most callers only ask whether a text, which may be long, is a rule.
type ruleError struct {
	text, why string
	args      []any
}

func (e *ruleError) Error() string {
	return fmt.Sprintf("%q: "+e.why, append([]any{e.text}, e.args...)...)
}

// ParseRule reads a rule in Claude Code's syntax: Tool, Tool(specifier),
// Bash(git *), Bash(npm run test:*), Edit(src/**), Read(~/.ssh/**),
// Read(//etc/**), WebFetch(domain:example.com), mcp__server, mcp__server__tool.
// It refuses what the CLI leaves out without a word.
func ParseRule(s string) (Rule, error) {
	text := strings.TrimSpace(s)
	name, spec, hasSpec := strings.Cut(text, "(")
	r := Rule{text: text, tool: strings.TrimSpace(name), kind: kindTool}
	bad := func(why string, args ...any) (Rule, error) {
		return Rule{}, &ruleError{text, why, args}
	}
	inner, closed := strings.CutSuffix(spec, ")")
	spec = strings.TrimSpace(inner)
	same := func(other string) bool { return strings.EqualFold(other, r.tool) }
	switch i := slices.IndexFunc(bridge.KnownTools(), same); {
	case hasSpec && !closed:
		return bad("the closing parenthesis is missing")
	case hasSpec && spec == "":
		return bad("nothing stands between the parentheses; write %s for every use of it", r.tool)
	case !bridge.Balanced(spec):
		return bad("the parentheses do not match; write one rule for each tool")
	case strings.HasPrefix(r.tool, "mcp__"):
		if hasSpec {
			return bad("rules for MCP tools take no parentheses")
		}
		if !mcpName().MatchString(r.tool) {
			return bad("write mcp__server, mcp__server__tool or mcp__server__prefix*; a * stands for tools, not for servers")
		}
		r.kind = kindMCP
		return r, nil
	case r.tool == "":
		return bad("a rule begins with a tool's name, such as Bash")
	case !toolName().MatchString(r.tool):
		return bad("%q is not a tool's name", r.tool)
	case i >= 0 && bridge.KnownTools()[i] != r.tool:
		return bad("tools' names are case-sensitive, write %s", bridge.KnownTools()[i])
	case !hasSpec || spec == "*":
		return r, nil
	case r.tool == "Bash":
		prefix, isPrefix := strings.CutSuffix(spec, ":*")
		if strings.Contains(prefix, ":*") {
			return bad(":* stands at the end only")
		}
		if strings.TrimSpace(prefix) == "" {
			return bad("no command stands before :*")
		}
		r.kind, r.spec = kindBash, strings.TrimSpace(prefix)
		if !strings.ContainsAny(prefix, `"'\`) {
			r.spec = strings.Join(strings.Fields(prefix), " ") // spaces within quotes count
		}
		if isPrefix {
			r.spec += " *"
		}
		r.lits = strings.Fields(strings.NewReplacer(`"`, "", `'`, "").Replace(r.spec))
		if i := slices.IndexFunc(r.lits, func(w string) bool { return strings.Contains(w, "*") }); i >= 0 {
			r.lits, r.rest = r.lits[:i], strings.Join(r.lits[i:], " ")
		}
	case r.tool == "WebFetch":
		host, ok := strings.CutPrefix(spec, "domain:")
		if r.kind, r.spec = kindDomain, normalHost(host); !ok || !hostName().MatchString(r.spec) {
			return bad("write WebFetch(domain:example.com) or WebFetch(domain:*.example.com)")
		}
	case bridge.IsReader(r.tool) || bridge.IsEditor(r.tool):
		var err error
		if r.kind, r.path, err = parsePath(spec); err != nil {
			return bad("%v", err)
		}
	case named[r.tool] != nil:
		r.kind, r.spec = kindName, spec
	default:
		return bad("rules for %s take no parentheses", r.tool)
	}
	return r, nil
}

// SplitRules splits a list of rules at the commas outside of parentheses: Bash(a, b), Read.
func SplitRules(text string) (list []string) {
	from := 0
	for i, c := range text + "," {
		if part := text[from:i]; c == ',' && (i == len(text) || strings.Count(part, "(") <= strings.Count(part, ")")) {
			if rule := strings.TrimSpace(part); rule != "" {
				list = append(list, rule)
			}
			from = i + 1
		}
	}
	return list
}

func parsePath(spec string) (kind ruleKind, p pathPattern, err error) {
	rest := spec
	switch {
	case strings.HasPrefix(spec, "!"):
		return kind, p, fmt.Errorf("a path rule cannot be negated")
	case strings.HasPrefix(spec, "//"):
		p.root, rest = "/", spec[2:]
	case spec == "~" || strings.HasPrefix(spec, "~/"):
		p.root, rest = "~", spec[1:]
	case strings.HasPrefix(spec, "~"):
		return kind, p, fmt.Errorf("only ~/ is known, not another user's home")
	}
	anywhere := p.root == "" && spec != "." && !strings.Contains(strings.TrimSuffix(rest, "/"), "/")
	for _, seg := range strings.Split(rest, "/") {
		switch _, err := path.Match(seg, ""); {
		case seg == "" || seg == ".":
		case seg == ".." && len(p.segs) == 0 && p.root != "/" && p.root != "~":
			p.root += "../"
		case seg == "..":
			return kind, p, fmt.Errorf(".. may stand only at the beginning of a path")
		case err != nil:
			return kind, p, fmt.Errorf("%q is not a pattern", seg)
		default:
			p.segs = append(p.segs, seg)
		}
	}
	if anywhere && len(p.segs) == 1 {
		p.segs = append([]string{"**"}, p.segs...)
	}
	return kindPath, p, nil
}

// named are tools whose rules name a value of the input, with the fields of that value.
var named = map[string][]string{
	"Agent": {"subagent_type"}, "Task": {"subagent_type"},
	"Skill": {"skill", "command"}, "SlashCommand": {"command"},
}
