package policy

import (
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
)

// Within reports whether each part of a request is covered by one of the rules, and names those that were needed.
// It restricts an agent whose file names what it may use. In doubt it is false. It is never an allow: the CLI
// still judges the request.
func (p Policy) Within(r Request, named []Rule) (rule string, ok bool) {
	q := p.newQuery(r)
	if i := slices.IndexFunc(named, func(r Rule) bool { return q.covers(&r) }); i >= 0 {
		return named[i].text, true
	}
	if !bridge.RunsLines(q.tool) || !q.line().clear() {
		return "", false
	}
	var took []string
	for _, u := range q.line().units {
		if u.usesFile() {
			return "", false
		}
		if u.within || len(u.read) == 0 || len(u.read) == 1 && u.read[0].text == "cat" {
			continue // it is a part of another, or gives on what is written here
		}
		i := slices.IndexFunc(named, func(r Rule) bool { return r.coversWords(u.read) })
		if i < 0 {
			return "", false
		}
		took = append(took, named[i].text)
	}
	slices.Sort(took)
	return strings.Join(slices.Compact(took), ", "), len(took) > 0
}

// coversWords reports whether the words of a command are what the rule says, without options in between.
func (r *Rule) coversWords(words []word) bool {
	n := len(r.lits)
	if r.kind != kindBash || len(words) < n || joined(words[:n]) != strings.Join(r.lits, " ") {
		return false
	}
	rest := joined(words[n:])
	return r.rest == "*" || wildcard(r.rest, rest) && strings.IndexByte(rest, hole) < 0
}

// covers is the test of a rule that names what may be used: in doubt, no.
func (q *query) covers(r *Rule) bool {
	v, _ := q.about(r)
	switch r.kind {
	case kindPath:
		at, ok := q.regionOf(r, true)
		return ok && bridge.SameTool(r.tool, q.tool) && !slices.ContainsFunc(q.paths(), func(t target) bool {
			return !t.sure || t.any(func(name string) bool { return !at.has(name) })
		})
	case kindDomain:
		host, ok := q.host()
		return ok && v == sure && (host == r.spec || strings.HasPrefix(r.spec, "*.") && "*."+host != r.spec)
	case kindName:
		name, ok := q.name()
		return ok && v == sure && wildcard(r.spec, name)
	}
	return v == sure && r.kind != kindBash // a command line may need several rules
}
