package policy

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// query is one request while it is held against the rules. What is costly to find
// out is found out once, when the first rule needs it.
type query struct {
	policy *Policy
	tool   string
	input  map[string]json.RawMessage // exact keys; encoding/json would fold them
	broken bool                       // the input is no object

	targets     []target // paths it is about
	haveTargets bool
	script      *script // its command, taken apart
	roots       *roots

	readFiles, writtenFiles []target // that the command names; nil while not looked for

	deny, ask, allow list
}

// list is rules in their order, with an index if there is one.
type list struct {
	rules []Rule
	index *index
}

func (p *Policy) newQuery(r Request) *query {
	return p.query(r, &roots{policy: p}, list{rules: p.Deny}, list{rules: p.Ask}, list{rules: p.Allow})
}

func (p *Policy) query(r Request, at *roots, deny, ask, allow list) *query {
	q := &query{policy: p, tool: r.Tool, roots: at, deny: deny, ask: ask, allow: allow}
	if err := json.Unmarshal(r.Input, &q.input); err != nil {
		q.broken = len(r.Input) > 0
	}
	return q
}

// text returns a string of the input. ok is false when it is missing or no string.
func (q *query) text(field string) (string, bool) {
	var s *string
	if err := json.Unmarshal(q.input[field], &s); err != nil || s == nil {
		return "", false
	}
	return *s, true
}

// firstMight returns the first deny or ask rule that might match.
func (q *query) firstMight(l list) (string, bool) {
	if l.index != nil {
		return l.index.text(l.index.might(q))
	}
	for i := range l.rules {
		if q.mightMatch(&l.rules[i], nil) {
			return l.rules[i].text, true
		}
	}
	return "", false
}

// mightMatch is the test of deny and ask rules: in doubt, yes. at is where a path
// rule's paths lie, or nil to find that out.
func (q *query) mightMatch(r *Rule, at *region) bool {
	switch r.kind {
	case kindTool:
		return sameTool(r.tool, q.tool)
	case kindMCP:
		return matchMCP(r.tool, q.tool)
	case kindBash:
		return q.tool == "Bash" && q.commands().might(r)
	case kindPath:
		if q.tool == "Bash" {
			return (r.tool == "Read" || r.tool == "Edit") && q.pathMight(r, at, q.commandFiles(r.tool))
		}
		return sameTool(r.tool, q.tool) && q.pathMight(r, at, q.paths())
	case kindDomain:
		if q.tool != r.tool {
			return false
		}
		host, ok := q.host()
		return !ok || matchHost(r.spec, host) || matchHost("*."+strings.TrimPrefix(r.spec, "*."), host)
	case kindName:
		if !sameTool(r.tool, q.tool) {
			return false
		}
		name, ok := q.name()
		return !ok || wildcard(strings.ToLower(r.spec), strings.ToLower(name))
	}
	return false
}

// covered is the test of allow rules: in doubt, no. It returns the rules that
// together cover all of the request.
func (q *query) covered(l list) (string, bool) {
	find := l.findCommand
	if l.index != nil {
		find = l.index.findCommand
		if text, ok := l.index.text(l.index.covers(q)); ok {
			return text, true
		}
	} else {
		for i := range l.rules {
			if q.covers(&l.rules[i], nil) {
				return l.rules[i].text, true
			}
		}
	}
	if q.tool != "Bash" || q.broken {
		return "", false
	}
	return q.commands().covered(l.rules, find)
}

func (l list) findCommand(raw string) int {
	return slices.IndexFunc(l.rules, func(r Rule) bool { return r.kind == kindBash && wildcard(r.spec, raw) })
}

func (q *query) covers(r *Rule, at *region) bool {
	switch r.kind {
	case kindTool:
		return sameTool(r.tool, q.tool)
	case kindMCP:
		return matchMCP(r.tool, q.tool)
	case kindPath:
		return sameTool(r.tool, q.tool) && q.pathCovered(r, at)
	case kindDomain:
		host, ok := q.host()
		return q.tool == r.tool && ok && matchHost(r.spec, host)
	case kindName:
		name, ok := q.name()
		return sameTool(r.tool, q.tool) && ok && wildcard(r.spec, name)
	}
	return false // kindBash: a command line may need several rules
}

// commands takes the command apart. One that cannot be read might be anything.
func (q *query) commands() *script {
	if q.script == nil {
		command, ok := q.text("command")
		s := readScript(command)
		if !ok {
			s.unknown()
		}
		if raw := q.input["dangerouslyDisableSandbox"]; len(raw) > 0 && string(raw) != "false" {
			s.doubt = true
		}
		q.script = s
	}
	return q.script
}

// name is the value that rules for tools such as Skill name.
func (q *query) name() (string, bool) {
	for _, field := range named[q.tool] {
		if s, ok := q.text(field); ok {
			return strings.TrimPrefix(s, "/"), true
		}
	}
	return "", false
}

func (q *query) host() (string, bool) {
	raw, ok := q.text("url")
	if !ok {
		return "", false
	}
	if !strings.Contains(raw, "://") {
		raw = "https://" + raw
	}
	u, err := url.Parse(raw)
	// A backslash is a slash to a browser and part of the host to others.
	if err != nil || u.Hostname() == "" || strings.Contains(raw, `\`) || u.User != nil {
		return "", false
	}
	return normalHost(u.Hostname()), true
}

func normalHost(host string) string {
	return strings.TrimSuffix(strings.ToLower(strings.TrimSpace(host)), ".")
}

func matchHost(pattern, host string) bool {
	if suffix, ok := strings.CutPrefix(pattern, "*."); ok {
		return strings.HasSuffix(host, "."+suffix)
	}
	return pattern == host
}

// matchMCP holds a tool against mcp__server, mcp__server__tool or a prefix.
func matchMCP(rule, tool string) bool {
	if stem, ok := strings.CutSuffix(rule, "*"); ok {
		return strings.HasPrefix(tool, stem)
	}
	return tool == rule || strings.HasPrefix(tool, rule+"__")
}
