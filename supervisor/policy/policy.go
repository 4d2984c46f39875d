package policy

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	securejoin "github.com/cyphar/filepath-securejoin"

	"github.com/arbiter-cli/arbiter/bridge"
)

// Who decided.
const ByRule, ByMode = "rule", "mode"

// Policy is the deny and ask rules of a run. They also hold for names in another case, since some file systems ignore
// it.
type Policy struct {
	Deny, Ask []Rule
	CWD, Home string // absolute; without Home, rules with ~ match nothing

	// Resolve follows every symbolic link of an absolute path; what does not exist stays as it is. Nil: this
	// machine's file system.
	Resolve func(path string) (string, error)
}

// Request is a tool that wants to run.
type Request struct {
	Tool  string
	Input json.RawMessage

	// CWD is the directory at which relative names begin: the one of the session's shell. Empty: the policy's.
	CWD string
}

// Decision is what a rule says about a request. Behavior is [bridge.Deny], [bridge.Ask], or empty if no rule says
// anything. Rule is the text of the rule; Reason is for a person and for the model.
type Decision struct{ Behavior, By, Rule, Reason string }

// verdict reports whether a rule is about a request.
type verdict int

const (
	no verdict = iota
	maybe
	sure
)

// Decide returns what the rules say: deny if a deny rule names the request; ask if an ask rule names it, or if any
// rule might be about it. It never returns allow.
func (p Policy) Decide(r Request) Decision {
	q := p.newQuery(r)
	var doubt Decision
	for i, rule := range slices.Concat(p.Deny, p.Ask) {
		behavior, verb := bridge.Deny, "denies it"
		if i >= len(p.Deny) {
			behavior, verb = bridge.Ask, "asks about it"
		}
		v, why := q.about(&rule)
		if behavior == bridge.Ask && q.searches(&rule) {
			v = sure
		}
		switch {
		case v == sure:
			return Decision{behavior, ByRule, rule.text, "the rule " + rule.text + " " + verb}
		case v == maybe && doubt.Behavior == "":
			why = strings.ReplaceAll(why, string(hole), "…")
			doubt = Decision{bridge.Ask, ByRule, rule.text, "the rule " + rule.text + " might be about it: " + why}
		}
	}
	return doubt
}

// query is one request while it is checked against the rules. What is expensive to determine is determined once,
// when the first rule needs it.
type query struct {
	policy *Policy
	tool   string
	cwd    string                     // where relative names begin
	input  map[string]json.RawMessage // exact keys; encoding/json would fold them

	script   *script             // its command line
	files    *files              // that its command line names
	targets  []target            // files that a file tool is about
	followed map[string]followed // links that were followed
}

func (p *Policy) newQuery(r Request) *query {
	q := &query{policy: p, tool: r.Tool, cwd: cmp.Or(r.CWD, p.CWD), followed: map[string]followed{}}
	if p.Resolve == nil {
		p.Resolve = func(path string) (string, error) { return securejoin.SecureJoin("/", path) }
	}
	if json.Unmarshal(r.Input, &q.input) != nil {
		q.input = nil
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

// about reports whether a deny or ask rule is about the request, and why it might be.
func (q *query) about(r *Rule) (verdict, string) {
	switch {
	case r.kind == kindMCP:
		return certainly(matchMCP(r.tool, q.tool)), ""
	case r.kind == kindBash && bridge.RunsLines(q.tool):
		return q.line().about(r)
	case r.kind == kindPath && bridge.RunsLines(q.tool) && (r.tool == "Read" || r.tool == "Edit"):
		return q.commandFiles().about(r)
	case !bridge.SameTool(r.tool, q.tool):
		return no, ""
	case r.kind == kindPath:
		return q.pathAbout(r)
	case r.kind == kindDomain:
		host, ok := q.host()
		if !ok {
			return maybe, "its host is not clear"
		}
		return certainly(host == r.spec || strings.HasSuffix(host, "."+strings.TrimPrefix(r.spec, "*."))), ""
	case r.kind == kindName:
		name, ok := q.name()
		if !ok {
			return maybe, "it has no name that could be read"
		}
		return certainly(wildcard(strings.ToLower(r.spec), strings.ToLower(name))), ""
	}
	return certainly(r.kind == kindTool), ""
}

func certainly(is bool) verdict {
	if is {
		return sure
	}
	return no
}

// line reads the command line. One that cannot be read hides everything.
func (q *query) line() *script {
	if q.script == nil {
		command, ok := q.text("command")
		q.script = readLine(command, map[string]string{"HOME": q.policy.Home, "PWD": q.cwd})
		if !ok {
			q.script.hide("it has no command that could be read")
		}
		if raw := q.input["dangerouslyDisableSandbox"]; len(raw) > 0 && string(raw) != "false" {
			q.script.hide("it leaves the sandbox")
		}
	}
	return q.script
}

// name is the value that rules for tools such as Skill name.
func (q *query) name() (name string, ok bool) {
	for _, field := range named[q.tool] {
		if name, ok = q.text(field); ok {
			break
		}
	}
	return strings.TrimPrefix(name, "/"), ok
}

// host is the host of a URL, if all programs read the same one there: some read a backslash as a slash.
func (q *query) host() (string, bool) {
	raw, ok := q.text("url")
	if !strings.Contains(raw, "://") {
		raw = "https://" + raw
	}
	u, err := url.Parse(raw)
	if !ok || err != nil || u.Hostname() == "" || strings.Contains(raw, `\`) || u.User != nil {
		return "", false
	}
	return normalHost(u.Hostname()), true
}

func normalHost(host string) string {
	return strings.TrimSuffix(strings.ToLower(strings.TrimSpace(host)), ".")
}

// matchMCP matches a tool against mcp__server, mcp__server__tool or a prefix.
func matchMCP(rule, tool string) bool {
	if stem, ok := strings.CutSuffix(rule, "*"); ok {
		return strings.HasPrefix(tool, stem)
	}
	rest, ok := strings.CutPrefix(tool, rule)
	return ok && (rest == "" || strings.HasPrefix(rest, "__"))
}
