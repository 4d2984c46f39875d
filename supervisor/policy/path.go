package policy

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
)

// pathPattern is a parsed path rule. Segments are matched one by one, as in .gitignore: ** matches any number
// of them, and a name without a slash matches that name anywhere below the root.
type pathPattern struct {
	root string // "~", "/", or a path from the working directory, such as ".."
	segs []string
}

// base is the directory at which a rule's segments begin, as written.
func (p *Policy) base(pat *pathPattern) (dir string, ok bool) {
	switch pat.root {
	case "/":
		return "/", true
	case "~":
		return filepath.Clean(p.Home), p.Home != ""
	}
	return filepath.Join(p.CWD, pat.root), p.CWD != ""
}

// target is a file or directory that a request is about, by all of its names: as written, and with all links
// followed, once after and once before removing "..".
type target struct {
	names []string
	sure  bool // nothing about it is in doubt
}

func (t target) any(f func(string) bool) bool { return slices.ContainsFunc(t.names, f) }

// target determines what a path names in a directory.
func (q *query) target(raw, cwd string) target {
	t := target{sure: raw != "" && raw == strings.TrimSpace(raw) && strings.IndexByte(raw, 0) < 0}
	raw = strings.TrimSpace(raw)
	switch {
	case raw == "~" || strings.HasPrefix(raw, "~/"):
		t.sure = t.sure && q.policy.Home != ""
		raw = q.policy.Home + raw[1:]
	case strings.HasPrefix(raw, "~"):
		t.sure = false
	case !strings.HasPrefix(raw, "/"):
		raw = cwd + "/" + raw
	}
	lexical := filepath.Clean(raw)
	if rest, ok := below(lexical, "/proc/self/cwd"); ok {
		raw = cwd + "/" + rest
		lexical = filepath.Clean(raw)
	} else if strings.HasPrefix(lexical, "/proc/") && strings.Count(lexical, "/") > 2 {
		t.sure = false // another process has other files there
	}
	t.names = []string{lexical}
	for _, name := range []string{lexical, raw} { // for the kernel, .. after a link leads elsewhere
		if name == lexical || strings.Contains(raw, "..") {
			real, err := q.follow(name)
			t.sure = t.sure && err == nil
			if err == nil && !slices.Contains(t.names, real) {
				t.names = append(t.names, real)
			}
		}
	}
	return t
}

// followed is a path with every symbolic link followed, or why they cannot be followed.
type followed struct {
	path string
	err  error
}

// follow follows the links of a path, once in a decision.
func (q *query) follow(name string) (string, error) {
	f, ok := q.followed[name]
	if !ok {
		f.path, f.err = q.policy.Resolve(name)
		q.followed[name] = f
	}
	return f.path, f.err
}

// paths are the targets of a file tool. A search also names files by a pattern below its path.
func (q *query) paths() []target {
	fields := map[string][2]string{"NotebookEdit": {"notebook_path"}, "NotebookRead": {"notebook_path"},
		"Glob": {"path", "pattern"}, "Grep": {"path", "glob"}, "LS": {"path"}}[q.tool]
	field, patterns := cmp.Or(fields[0], "file_path"), fields[1]
	if q.targets != nil {
		return q.targets
	}
	raw, ok := q.text(field)
	if q.input != nil && q.input[field] == nil && patterns != "" {
		raw, ok = q.cwd, true
	}
	first := q.target(raw, q.cwd)
	first.sure = first.sure && ok
	q.targets = []target{first}
	if q.input[patterns] != nil {
		pattern, ok := q.text(patterns)
		t := q.target(pattern, first.names[0])
		t.sure = t.sure && ok && !(strings.Contains(pattern, "..") && strings.Contains(pattern, "{"))
		q.targets = append(q.targets, t)
	}
	return q.targets
}

// region is the set of a deny or ask rule's paths: what it names, and everything below. bases are the beginning of
// all of them, as written and with its links followed; segs follow. In the region of a rule that names what an agent
// may use, links below its root do not count, since an agent can create them.
type region struct {
	bases, segs []string
	fold        bool
}

func (q *query) regionOf(r *Rule, named bool) (at region, ok bool) {
	base, ok := q.policy.base(&r.path)
	segs := r.path.segs
	fixed := slices.IndexFunc(append(segs[:len(segs):len(segs)], "*"), hasMeta)
	if named {
		fixed = 0
	}
	literal := path.Join(append([]string{base}, segs[:fixed]...)...)
	if !named || fixed == len(segs) || !hasMeta(segs[len(segs)-1]) {
		segs = append(segs[:len(segs):len(segs)], "**")
	}
	at = region{[]string{literal}, segs[fixed:], !named}
	if real, err := q.follow(literal); err == nil && real != literal {
		at.bases = append(at.bases, real)
	}
	return at, ok
}

// has reports whether a path is in the region.
func (at *region) has(name string) bool {
	fold := func(s string) string { return s }
	if at.fold {
		fold = strings.ToLower
	}
	return slices.ContainsFunc(at.bases, func(base string) bool {
		rel, ok := below(fold(name), fold(base))
		return ok && segmentsMatch(strings.Split(fold(strings.Join(at.segs, "/")), "/"), strings.Split(rel, "/"))
	})
}

// within reports whether the region begins in a directory.
func (at *region) within(dir string) bool {
	return slices.ContainsFunc(at.bases, func(base string) bool { _, ok := below(base, dir); return ok })
}

// pathAbout reports whether a path rule is about one of the files of a file tool.
func (q *query) pathAbout(r *Rule) (found verdict, why string) {
	at, ok := q.regionOf(r, false)
	for _, t := range q.paths() {
		if ok && t.any(at.has) {
			return sure, ""
		}
		if ok && !t.sure {
			found, why = maybe, "it is not clear which file it names"
		}
	}
	return found, why
}

// searches reports whether a search may reach what an ask rule names below the directory where it begins. The CLI
// keeps a search out of what is denied, but not out of what must be asked about (observed with CLI 2.1.329).
func (q *query) searches(r *Rule) bool {
	if r.kind != kindPath || !bridge.SameTool(r.tool, q.tool) || q.tool != "Grep" && q.tool != "Glob" && q.tool != "LS" {
		return false
	}
	glob, _ := q.text(map[string]string{"Grep": "glob", "Glob": "pattern"}[q.tool])
	name, last := path.Base(strings.Join(r.path.segs, "/")), path.Base(glob)
	if strings.HasPrefix(last, "*.") && !strings.ContainsAny(last, "{},!") && strings.Contains(name, ".") &&
		name != "." && !hasMeta(name) && !segmentMatches(last, name) {
		return false // a search for *.go does not show .env
	}
	at, ok := q.regionOf(r, false)
	return ok && q.paths()[0].any(at.within)
}

func hasMeta(seg string) bool { return strings.ContainsAny(seg, `*?[\`) }

// segmentsMatch matches the segments of a rule with those of a path, which may have holes.
func segmentsMatch(segs, parts []string) bool {
	for len(parts) > 0 && parts[0] == "" {
		parts = parts[1:]
	}
	switch {
	case len(segs) == 0:
		return len(parts) == 0
	case segs[0] == "**":
		return len(segs) == 1 || segmentsMatch(segs[1:], parts) || len(parts) > 0 && segmentsMatch(segs, parts[1:])
	}
	return len(parts) > 0 && segmentMatches(segs[0], parts[0]) && segmentsMatch(segs[1:], parts[1:])
}

func segmentMatches(seg, part string) bool {
	switch {
	case strings.IndexByte(part, hole) < 0:
		ok, err := path.Match(seg, part)
		return ok && err == nil
	case part[0] == hole && strings.HasPrefix(seg, "."):
		return false // a pattern leaves out names that begin with a dot
	}
	return hasMeta(seg) || wildcard(strings.ReplaceAll(part, string(hole), "*"), seg)
}

// below returns name relative to dir, "" for dir itself.
func below(name, dir string) (string, bool) {
	rest, ok := strings.CutPrefix(name, dir)
	if !ok || rest == "" || dir == "/" {
		return rest, ok
	}
	return strings.CutPrefix(rest, "/")
}
