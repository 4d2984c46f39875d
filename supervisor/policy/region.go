package policy

import (
	"path"
	"path/filepath"
)

// roots are the resolved directories that rules begin at, each found out when the
// first rule needs it.
type roots struct {
	policy    *Policy
	cwd, home string
	cwdLost   bool // the way to the working directory could not be followed
}

// of is the resolved beginning of a rule.
func (t *roots) of(r pathRoot) string {
	switch r {
	case rootHome:
		if t.home == "" {
			t.home = t.policy.resolve(t.policy.Home)
		}
		return t.home
	case rootFS:
		return "/"
	}
	if t.cwd == "" {
		resolved, err := t.policy.follow(t.policy.CWD)
		if t.cwdLost = err != nil; t.cwdLost {
			resolved = t.policy.CWD
		}
		t.cwd = resolved
	}
	return t.cwd
}

// follow finds out where a path of a request leads. Below the working directory, the
// way there need not be gone again.
func (t *roots) follow(name string) (string, error) {
	if cwd := t.policy.CWD; t.policy.Resolve == nil && cwd != "" && cwd == filepath.Clean(cwd) {
		if rel, ok := below(name, cwd); ok {
			if cwd := t.of(rootCWD); !t.cwdLost {
				return followFrom(cwd, rel)
			}
		}
	}
	return t.policy.follow(name)
}

// base is where a rule's segments begin, as it is written.
func (t *roots) base(pat *pathPattern) (string, bool) {
	switch pat.root {
	case rootFS:
		return "/", true
	case rootHome:
		return t.policy.Home, t.policy.Home != ""
	}
	return ascend(filepath.Clean(t.policy.CWD), pat.up), t.policy.CWD != ""
}

// region is where a path rule's paths lie: what the segments match below base, and
// what realSegs match below real.
type region struct {
	ok       bool // the rule's root is known
	base     string
	segs     []string
	real     string
	realSegs []string
	link     string // real is to be found out anew, by following this
	literal  string // what all of them lie below, as it is written: base and the first segments
	needs    string // a segment that each of them has below literal; "" if there is none
}

// regionOfDeny is the region of a deny or ask rule: as it is written, and by what the
// links in its literal beginning lead to. real is "" where that is the same.
func (t *roots) regionOfDeny(r *Rule) (at region) {
	if at.base, at.ok = t.base(&r.path); !at.ok {
		return at
	}
	at.segs = append(r.path.segs[:len(r.path.segs):len(r.path.segs)], "**")
	fixed := 0
	for fixed < len(r.path.segs) && !hasMeta(r.path.segs[fixed]) {
		fixed++
	}
	at.literal = path.Join(append([]string{at.base}, at.segs[:fixed]...)...)
	at.realSegs = at.segs[fixed:]
	for _, seg := range at.realSegs {
		if !hasMeta(seg) && len(seg) > len(at.needs) {
			at.needs = seg
		}
	}
	if real := t.policy.resolve(at.literal); real != at.literal {
		at.real = real
	}
	return at
}

// regionOfAllow is the region of an allow rule. Links below its root are followed to
// where they lead and not taken for the rule's own, since an agent can make links.
func (t *roots) regionOfAllow(r *Rule) (at region) {
	if at.base, at.ok = t.base(&r.path); !at.ok {
		return at
	}
	at.segs = r.path.segs
	if len(at.segs) == 0 || !hasMeta(at.segs[len(at.segs)-1]) {
		at.segs = append(at.segs[:len(at.segs):len(at.segs)], "**")
	}
	at.real, at.realSegs = ascend(t.of(r.path.root), r.path.up), at.segs
	if r.path.root == rootFS && !hasMeta(at.segs[0]) {
		// Top-level links are the system's: /tmp is /private/tmp on macOS.
		at.real, at.realSegs = t.policy.resolve("/"+at.segs[0]), at.segs[1:]
	}
	return at
}
