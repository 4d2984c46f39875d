package policy

import (
	"cmp"
	"encoding/json"
	"net/url"
	"strings"
)

// query is one request while it is checked against the rules. What is expensive to determine is determined
// once, when the first rule needs it.
type query struct {
	policy *Policy
	tool   string
	cwd    string                     // where relative names begin
	asked  bool                       // by the CLI
	input  map[string]json.RawMessage // exact keys; encoding/json would fold them
	broken bool                       // the input is not an object

	targets     []target // paths that it is about
	haveTargets bool
	script      *script // its command, parsed
	roots       *roots

	hostOf    *string // of its URL; nil: not determined yet
	hostKnown bool

	readFiles, writtenFiles []target // that the command names; nil: not determined yet

	deny, ask, allow list
}

// list is rules in order. regions are the regions of their paths, if they were determined in advance.
type list struct {
	rules   []Rule
	regions []region
}

func (l list) region(i int) *region {
	if l.regions == nil {
		return nil
	}
	return &l.regions[i]
}

func (p *Policy) newQuery(r Request) *query {
	return p.query(r, &roots{policy: p}, list{rules: p.Deny}, list{rules: p.Ask}, list{rules: p.Allow})
}

func (p *Policy) query(r Request, at *roots, deny, ask, allow list) *query {
	q := &query{policy: p, tool: r.Tool, cwd: cmp.Or(r.CWD, p.CWD), asked: r.Asked, roots: at, deny: deny, ask: ask,
		allow: allow}
	if err := json.Unmarshal(r.Input, &q.input); err != nil {
		q.broken = len(r.Input) > 0
	}
	return q
}

// text returns a string of the input. ok is false if it is missing or not a string.
func (q *query) text(field string) (string, bool) {
	var s *string
	if err := json.Unmarshal(q.input[field], &s); err != nil || s == nil {
		return "", false
	}
	return *s, true
}

// firstMight returns the first deny or ask rule that might match.
func (q *query) firstMight(l list) (string, bool) {
	for i := range l.rules {
		if q.mightMatch(&l.rules[i], l.region(i)) {
			return l.rules[i].text, true
		}
	}
	return "", false
}

// firstAsked is firstMight for ask rules, which also hold for a search above what they name: the CLI keeps a
// search out of what is denied, but not out of what must be asked about (observed with CLI 2.1.329).
func (q *query) firstAsked() (string, bool) {
	if rule, ok := q.firstMight(q.ask); ok {
		return rule, true
	}
	if !searchers.has(q.tool) {
		return "", false
	}
	for i := range q.ask.rules {
		r := &q.ask.rules[i]
		if r.kind == kindPath && sameTool(r.tool, q.tool) && q.searches(r, q.ask.region(i)) {
			return r.text, true
		}
	}
	return "", false
}

// mightMatch is the test of deny and ask rules: in doubt, yes. at is the region of a path rule, or nil to
// determine it.
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
		domain := strings.TrimPrefix(r.spec, "*.")
		return !ok || host == r.spec || isSubdomain(host, domain)
	case kindName:
		if !sameTool(r.tool, q.tool) {
			return false
		}
		name, ok := q.name()
		return !ok || wildcard(strings.ToLower(r.spec), strings.ToLower(name))
	}
	return false
}

// covered is the test of allow rules: in doubt, no. It returns the rules that together cover the whole request.
func (q *query) covered(l list) (string, bool) {
	for i := range l.rules {
		if q.covers(&l.rules[i], l.region(i)) {
			return l.rules[i].text, true
		}
	}
	if q.tool != "Bash" || q.broken {
		return "", false
	}
	return q.coveredCommands(l)
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
		if q.tool != r.tool {
			return false
		}
		host, ok := q.host()
		return ok && matchHost(r.spec, host)
	case kindName:
		if !sameTool(r.tool, q.tool) {
			return false
		}
		name, ok := q.name()
		return ok && wildcard(r.spec, name)
	}
	return false // a command line (kindBash) may need several rules
}

// commands parses the command. A command that cannot be parsed might be anything.
func (q *query) commands() *script {
	if q.script == nil {
		command, ok := q.text("command")
		s := readScript(command)
		if !ok {
			s.unknown("it has no command that could be read")
		}
		if raw := q.input["dangerouslyDisableSandbox"]; len(raw) > 0 && string(raw) != "false" {
			s.unsandboxed = true
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
	if q.hostOf == nil {
		host, ok := q.findHost()
		q.hostOf = &host
		q.hostKnown = ok
	}
	return *q.hostOf, q.hostKnown
}

func (q *query) findHost() (string, bool) {
	raw, ok := q.text("url")
	if !ok {
		return "", false
	}
	if !strings.Contains(raw, "://") {
		raw = "https://" + raw
	}
	u, err := url.Parse(raw)
	// A browser reads a backslash as a slash, other programs read it as part of the host.
	if err != nil || u.Hostname() == "" || strings.Contains(raw, `\`) || u.User != nil {
		return "", false
	}
	return normalHost(u.Hostname()), true
}

func normalHost(host string) string {
	return strings.TrimSuffix(strings.ToLower(strings.TrimSpace(host)), ".")
}

func matchHost(pattern, host string) bool {
	if domain, ok := strings.CutPrefix(pattern, "*."); ok {
		return isSubdomain(host, domain)
	}
	return pattern == host
}

func isSubdomain(host, domain string) bool {
	rest, ok := strings.CutSuffix(host, domain)
	return ok && strings.HasSuffix(rest, ".")
}

// matchMCP matches a tool against mcp__server, mcp__server__tool or a prefix.
func matchMCP(rule, tool string) bool {
	if stem, ok := strings.CutSuffix(rule, "*"); ok {
		return strings.HasPrefix(tool, stem)
	}
	rest, ok := strings.CutPrefix(tool, rule)
	return ok && (rest == "" || strings.HasPrefix(rest, "__"))
}
