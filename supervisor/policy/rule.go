package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Rule is one permission rule. The zero Rule matches nothing.
type Rule struct {
	text string
	tool string // a tool's name; for MCP also a server, or a prefix with *
	kind ruleKind
	spec string // Bash: the pattern; names: the name, possibly with *; WebFetch: the host

	exact string // Bash: the pattern as an allow rule matches it against a command
	path  pathPattern
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

// MCP reports whether the rule is about tools of MCP servers.
func (r Rule) MCP() bool { return r.kind == kindMCP }

// Known reports whether the rule's tool is one of Claude Code's, or an MCP server's.
func (r Rule) Known() bool {
	return r.kind == kindMCP || slices.ContainsFunc(known, func(tools nameSet) bool { return tools.has(r.tool) })
}

// Names reports whether the rule names a tool: Agent and Task are two names of the same tool, and an MCP rule
// may name a server. Unlike in a permission rule, Edit means only Edit.
func (r Rule) Names(tool string) bool {
	switch {
	case r.kind == kindMCP:
		return matchMCP(r.tool, tool)
	case StartsSubagent(r.tool):
		return StartsSubagent(tool)
	}
	return r.tool == tool
}

// ParseRule reads a rule in Claude Code's syntax: Tool, Tool(specifier),
// Bash(git *), Bash(npm run test:*), Edit(src/**), Read(~/.ssh/**),
// Read(//etc/**), WebFetch(domain:example.com), mcp__server, mcp__server__tool.
func ParseRule(s string) (Rule, error) {
	text := strings.TrimSpace(s)
	name, spec, hasSpec := strings.Cut(text, "(")
	name = strings.TrimSpace(name)
	r := Rule{text: text, tool: name, kind: kindTool}
	if hasSpec {
		inner, closed := strings.CutSuffix(spec, ")")
		if !closed {
			return Rule{}, fmt.Errorf("%q: the closing parenthesis is missing", text)
		}
		spec = strings.TrimSpace(inner)
		if spec == "" {
			return Rule{}, fmt.Errorf("%q: nothing stands between the parentheses; write %s for every use of it", text,
				name)
		}
	}
	if strings.HasPrefix(name, "mcp__") {
		return parseMCP(r, hasSpec)
	}
	if err := checkName(text, name); err != nil {
		return Rule{}, err
	}
	if !hasSpec || spec == "*" {
		return r, nil
	}
	return r.withSpec(spec)
}

func checkName(text, name string) error {
	if name == "" {
		return fmt.Errorf("%q: a rule begins with a tool's name, such as Bash", text)
	}
	for i, c := range name {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c != '_' && c != '-' && (c < '0' || c > '9')) {
			return fmt.Errorf("%q: %q is not a tool's name", text, name)
		}
	}
	for _, tools := range known {
		if tools.has(name) {
			return nil
		}
		for _, other := range tools {
			if strings.EqualFold(other, name) {
				return fmt.Errorf("%q: tools' names are case-sensitive, write %s", text, other)
			}
		}
	}
	return nil
}

func parseMCP(r Rule, hasSpec bool) (Rule, error) {
	r.kind = kindMCP
	if hasSpec {
		return Rule{}, fmt.Errorf("%q: rules for MCP tools take no parentheses", r.text)
	}
	body := strings.TrimPrefix(r.tool, "mcp__")
	stem, _ := strings.CutSuffix(body, "*")
	if server, _, _ := strings.Cut(stem, "__"); server == "" || strings.ContainsAny(stem, "* \t") {
		return Rule{}, fmt.Errorf("%q: write mcp__server, mcp__server__tool or mcp__server__prefix*", r.text)
	}
	if stem != body && !strings.Contains(stem, "__") {
		return Rule{}, fmt.Errorf("%q: a * stands for tools, not for servers: mcp__server__*", r.text)
	}
	return r, nil
}

func (r Rule) withSpec(spec string) (Rule, error) {
	switch {
	case r.tool == "Bash":
		prefix, isPrefix := strings.CutSuffix(spec, ":*")
		if strings.Contains(prefix, ":*") {
			return Rule{}, fmt.Errorf("%q: :* stands at the end only", r.text)
		}
		if isPrefix && strings.TrimSpace(prefix) == "" {
			return Rule{}, fmt.Errorf("%q: no command stands before :*", r.text)
		}
		r.kind, r.spec = kindBash, strings.TrimSpace(prefix)
		if !strings.ContainsAny(prefix, `"'\\`) {
			r.spec = strings.Join(strings.Fields(prefix), " ") // spaces within quotes count
		}
		r.exact = exactPattern(r.spec)
		if isPrefix {
			r.spec += " *"
			r.exact += " *"
		}
	case r.tool == "WebFetch":
		host, ok := strings.CutPrefix(spec, "domain:")
		host = normalHost(host)
		if !ok || strings.Trim(host, "*.") == "" || strings.Contains(strings.TrimPrefix(host, "*."), "*") ||
			strings.ContainsAny(host, "/: \t") {
			return Rule{}, fmt.Errorf("%q: write WebFetch(domain:example.com) or WebFetch(domain:*.example.com)",
				r.text)
		}
		r.kind, r.spec = kindDomain, host
	case readers.has(r.tool) || editors.has(r.tool):
		pattern, err := parsePath(spec)
		if err != nil {
			return Rule{}, fmt.Errorf("%q: %w", r.text, err)
		}
		r.kind, r.path = kindPath, pattern
	case named[r.tool] != nil:
		r.kind, r.spec = kindName, spec
	default:
		return Rule{}, fmt.Errorf("%q: rules for %s take no parentheses", r.text, r.tool)
	}
	return r, nil
}

func parsePath(spec string) (pathPattern, error) {
	var p pathPattern
	rest := spec
	switch {
	case strings.HasPrefix(spec, "!"):
		return p, fmt.Errorf("a path rule cannot be negated")
	case strings.HasPrefix(spec, "//"):
		p.root, rest = rootFS, spec[2:]
	case spec == "~" || strings.HasPrefix(spec, "~/"):
		p.root, rest = rootHome, spec[1:]
	case strings.HasPrefix(spec, "~"):
		return p, fmt.Errorf("only ~/ is known, not another user's home")
	}
	anchored := p.root != rootCWD || strings.HasPrefix(spec, ".") && (spec == "." || strings.HasPrefix(spec, "./")) ||
		strings.Contains(strings.TrimSuffix(rest, "/"), "/")
	for _, seg := range strings.Split(rest, "/") {
		switch {
		case seg == "" || seg == ".":
		case seg == ".." && len(p.segs) == 0 && p.root == rootCWD:
			p.up++
			anchored = true
		case seg == "..":
			return p, fmt.Errorf(".. may stand only at the beginning of a path")
		default:
			if _, err := path.Match(seg, ""); err != nil {
				return p, fmt.Errorf("%q is not a pattern", seg)
			}
			p.segs = append(p.segs, seg)
		}
	}
	if !anchored && len(p.segs) == 1 {
		p.segs = append([]string{"**"}, p.segs...)
	}
	return p, nil
}
