package policy

import (
	"path"
	"path/filepath"
)

// roots are the resolved directories at which rules begin, each resolved when the first rule needs it.
type roots struct {
	policy    *Policy
	cwd, home string
	cwdLost   bool // the path of the working directory could not be resolved
}

// of is the resolved directory at which a rule begins.
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

// follow resolves a path of a request. For a path in the working directory, the way to that directory is not
// resolved again.
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

// base is the directory at which a rule's segments begin, as written.
func (t *roots) base(pat *pathPattern) (string, bool) {
	switch pat.root {
	case rootFS:
		return "/", true
	case rootHome:
		return t.policy.Home, t.policy.Home != ""
	}
	return ascend(filepath.Clean(t.policy.CWD), pat.up), t.policy.CWD != ""
}

// region is the set of a path rule's paths: what segs match below base, and what realSegs match below real.
type region struct {
	ok       bool // the rule's root is known
	base     string
	segs     []string
	real     string
	realSegs []string
	link     string // real has to be resolved again, from this path
	literal  string // a common prefix of all paths, as written: base and the first segments
	needs    string // a segment that each of them has below literal; "" if there is none
}

// regionOfDeny is the region of a deny or ask rule: as written, and with the links in its literal beginning
// resolved. real is "" if that is the same.
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

// regionOfAllow is the region of an allow rule. Links below its root are resolved in requests and do not extend
// the rule, since an agent can create links.
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
