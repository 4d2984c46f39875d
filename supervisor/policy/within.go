package policy

import (
	"slices"
	"strings"
)

// Within reports whether each part of a request is covered by one of the rules, and names those that were needed.
// It restricts an agent whose file names what it may use. In doubt it is false. It is never an allow: the CLI
// still judges the request.
func (p Policy) Within(r Request, named []Rule) (rule string, ok bool) {
	q := p.newQuery(r)
	if i := slices.IndexFunc(named, func(r Rule) bool { return q.covers(&r) }); i >= 0 {
		return named[i].text, true
	}
	if !q.runsLines() || q.line().hidden != "" || q.line().tricky {
		return "", false
	}
	var took []string
	for _, c := range q.line().commands {
		for _, f := range c.files {
			file := p.newQuery(Request{Tool: "Read", CWD: q.cwd})
			if f.writes {
				file.tool = "Edit"
			}
			file.targets = []target{file.target(f.text, q.cwd)}
			i := slices.IndexFunc(named, func(r Rule) bool { return file.covers(&r) })
			if i >= 0 && !f.unknown() && !q.line().moved {
				took = append(took, named[i].text)
			} else if f.text != "/dev/null" {
				return "", false
			}
		}
		if len(c.words) == 0 || len(c.words) == 1 && c.words[0].text == "cat" {
			continue // it begins another command, or gives on what is written here
		}
		i := slices.IndexFunc(named, func(r Rule) bool { return r.coversWords(c.words) })
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
	switch r.kind {
	case kindPath:
		return sameTool(r.tool, q.tool) && q.pathWithin(r)
	case kindDomain:
		host, ok := q.host()
		domain, sub := strings.CutPrefix(r.spec, "*.")
		return ok && q.tool == r.tool && (host == r.spec || sub && isSubdomain(host, domain))
	case kindName:
		name, ok := q.name()
		return ok && sameTool(r.tool, q.tool) && wildcard(r.spec, name)
	case kindBash:
		return false // a command line may need several rules
	}
	v, _ := q.about(r)
	return v == sure
}

// pathWithin reports whether every name of every target is what the rule says. Links below its root are followed
// in requests and do not extend the rule, since an agent can create links.
func (q *query) pathWithin(r *Rule) bool {
	base, ok := q.policy.base(&r.path)
	root := q.resolve(base)
	if r.path.root == rootCWD {
		root = ascend(q.resolve(q.policy.CWD), r.path.up)
	}
	segs := r.path.segs
	if len(segs) == 0 || !hasMeta(segs[len(segs)-1]) {
		segs = append(segs[:len(segs):len(segs)], "**")
	}
	return ok && !slices.ContainsFunc(q.paths(), func(t target) bool {
		return !t.sure || t.any(func(name string) bool {
			return !matchBelow(base, segs, name, false) && !matchBelow(root, segs, name, false)
		})
	})
}
