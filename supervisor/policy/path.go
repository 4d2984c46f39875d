package policy

import (
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// caseFolds says that the file system usually ignores the case of names.
const caseFolds = runtime.GOOS == "darwin" || runtime.GOOS == "windows"

// pathRoot is the directory at which a path rule begins.
type pathRoot int

const (
	rootCWD  pathRoot = iota // src/**, ./x, /x, ../x
	rootHome                 // ~/x
	rootFS                   // //x
)

// pathPattern is a parsed path rule. Segments are matched one by one, as in .gitignore: ** matches any number
// of them, and a name without a slash matches that name anywhere below the root.
type pathPattern struct {
	root pathRoot
	up   int // leading ..
	segs []string
}

// target is a file or directory that a request is about.
type target struct {
	lexical  string
	resolved []string // with all links followed, once after and once before removing ..
	sure     bool     // nothing about it is in doubt
}

func (t target) every(f func(string) bool) bool {
	for _, p := range t.resolved {
		if !f(p) {
			return false
		}
	}
	return f(t.lexical)
}

func (t target) any(f func(string) bool) bool {
	return !t.every(func(p string) bool { return !f(p) })
}

// paths are the targets of a file tool.
func (q *query) paths() []target {
	if q.haveTargets {
		return q.targets
	}
	q.haveTargets = true
	field := "file_path"
	switch q.tool {
	case "NotebookEdit", "NotebookRead":
		field = "notebook_path"
	case "Glob", "Grep", "LS":
		field = "path"
	}
	raw, ok := q.text(field)
	_, given := q.input[field]
	if !given && (q.tool == "Glob" || q.tool == "Grep") {
		raw, ok = q.cwd, true
	}
	first := q.target(raw)
	first.sure = first.sure && ok && !q.broken
	q.targets = []target{first}

	// A search also names files by a pattern below its path.
	for _, field := range map[string][]string{"Glob": {"pattern"}, "Grep": {"glob"}}[q.tool] {
		pattern, ok := q.text(field)
		if _, given := q.input[field]; !given {
			continue
		}
		if !strings.HasPrefix(pattern, "/") && !strings.HasPrefix(pattern, "~") {
			pattern = strings.TrimSuffix(first.lexical, "/") + "/" + pattern
		}
		below := q.target(pattern)
		below.sure = below.sure && ok && !(strings.Contains(pattern, "..") && strings.Contains(pattern, "{"))
		q.targets = append(q.targets, below)
	}
	return q.targets
}

// target determines what a path of the input names.
func (q *query) target(raw string) target {
	t := target{sure: raw != "" && raw == strings.TrimSpace(raw) && !strings.ContainsRune(raw, 0)}
	raw = strings.TrimSpace(raw)
	switch {
	case raw == "~" || strings.HasPrefix(raw, "~/"):
		t.sure = t.sure && q.policy.Home != ""
		raw = q.policy.Home + raw[1:]
	case strings.HasPrefix(raw, "~"):
		t.sure = false
	case !strings.HasPrefix(raw, "/"):
		raw = q.cwd + "/" + raw
	}
	t.lexical = filepath.Clean(raw)
	names := []string{t.lexical}
	if t.lexical != raw && strings.Contains(raw, "..") {
		names = append(names, raw) // for the kernel, .. after a link leads elsewhere
	}
	for _, name := range names {
		resolved, err := q.roots.follow(name)
		if err != nil {
			t.sure = false
			continue
		}
		t.resolved = append(t.resolved, resolved)
	}
	return t
}

func (p *Policy) follow(name string) (string, error) {
	if p.Resolve != nil {
		return p.Resolve(name)
	}
	return followLinks(name)
}

// resolve is follow for paths of rules, which may not exist.
func (p *Policy) resolve(name string) string {
	if resolved, err := p.follow(name); err == nil {
		return resolved
	}
	return name
}

func ascend(dir string, n int) string {
	for range n {
		dir = filepath.Dir(dir)
	}
	return dir
}

// pathMight is the test of deny and ask rules: any name of any target matches the rule as written, or the rule
// with its links resolved.
func (q *query) pathMight(r *Rule, at *region, targets []target) bool {
	if at == nil {
		found := q.roots.regionOfDeny(r)
		at = &found
	}
	if !at.ok {
		return false
	}
	real, fold := at.real, q.policy.folds()
	if at.link != "" {
		real = q.policy.resolve(at.link)
	}
	for _, t := range targets {
		if !t.sure {
			return true
		}
		if t.any(func(p string) bool {
			if !fold && !strings.Contains(p, at.needs) {
				return false // this decides most rules
			}
			return matchBelow(at.literal, at.realSegs, p, fold) ||
				real != "" && matchBelow(real, at.realSegs, p, fold)
		}) {
			return true
		}
	}
	return false
}

// pathCovered is the test of allow rules: every name of every target must match.
func (q *query) pathCovered(r *Rule, at *region) bool {
	if at == nil {
		found := q.roots.regionOfAllow(r)
		at = &found
	}
	if !at.ok {
		return false
	}
	for _, t := range q.paths() {
		if !t.sure || !t.every(func(p string) bool {
			return matchBelow(at.base, at.segs, p, false) || matchBelow(at.real, at.realSegs, p, false)
		}) {
			return false
		}
	}
	return len(q.paths()) > 0
}

// searchers search whole directories.
var searchers = nameSet{"Grep", "Glob", "LS"}

// searches reports whether a search may reach what an ask rule names: something below the directory where the
// search begins, and not excluded by the search's name pattern.
func (q *query) searches(r *Rule, at *region) bool {
	if at == nil {
		found := q.roots.regionOfDeny(r)
		at = &found
	}
	targets := q.paths()
	if !at.ok || len(targets) == 0 {
		return false
	}
	if last := r.path.segs[len(r.path.segs)-1:]; len(last) == 1 && !hasMeta(last[0]) && q.leavesOut(last[0]) {
		return false
	}
	return targets[0].any(func(dir string) bool {
		_, within := below(at.literal, dir)
		if at.real != "" && !within {
			_, within = below(at.real, dir)
		}
		return within
	})
}

// leavesOut reports whether the last part of a search's name pattern does not match the name, so that a file of
// that name is not searched. A directory of that name could be.
func (q *query) leavesOut(name string) bool {
	if !strings.Contains(name, ".") {
		return false // probably a directory
	}
	field := map[string]string{"Glob": "pattern", "Grep": "glob"}[q.tool]
	pattern, ok := q.text(field)
	if !ok || strings.ContainsAny(pattern, "{},!") {
		return false
	}
	last := pattern[strings.LastIndexByte(pattern, '/')+1:]
	return last != "" && last != "**" && !matchSegment(last, name, true)
}

func hasMeta(seg string) bool { return strings.ContainsAny(seg, `*?[\`) }

// matchBelow matches a path against segments below a directory.
func matchBelow(dir string, segs []string, name string, fold bool) bool {
	if fold {
		dir, name = strings.ToLower(dir), strings.ToLower(name)
	}
	rel, ok := below(name, dir)
	return ok && matchSegments(segs, rel, fold)
}

// matchSegments is the usual wildcard match with one backtracking position, on segments.
func matchSegments(segs []string, rel string, fold bool) bool {
	// j is where the current segment begins in rel; past its end, none is left.
	i, j, star, mark, end := 0, 0, -1, 0, len(rel)
	if rel == "" {
		end = -1
	}
	for j <= end {
		next := len(rel)
		if n := strings.IndexByte(rel[j:], '/'); n >= 0 {
			next = j + n
		}
		switch {
		case i < len(segs) && segs[i] == "**":
			star, mark = i, j
			i++
		case i < len(segs) && matchSegment(segs[i], rel[j:next], fold):
			i++
			j = next + 1
		case star >= 0:
			if n := strings.IndexByte(rel[mark:], '/'); n >= 0 {
				mark += n + 1
			} else {
				mark = len(rel) + 1
			}
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(segs) && segs[i] == "**" {
		i++
	}
	return i == len(segs)
}

func matchSegment(seg, part string, fold bool) bool {
	if fold {
		seg = strings.ToLower(seg)
	}
	if !hasMeta(seg) {
		return seg == part
	}
	if end := seg[1:]; seg[0] == '*' && !hasMeta(end) {
		return strings.HasSuffix(part, end)
	}
	ok, err := path.Match(seg, part)
	return ok && err == nil
}

// below returns name relative to dir, "" for dir itself.
func below(name, dir string) (string, bool) {
	rest, ok := strings.CutPrefix(name, dir)
	switch {
	case !ok:
		return "", false
	case rest == "" || dir == "/":
		return rest, true
	}
	return strings.CutPrefix(rest, "/")
}

// insideCWD reports whether everything that a file tool is about is in the working directory, by each of its
// names.
func (q *query) insideCWD() bool {
	if q.policy.CWD == "" {
		return false
	}
	for _, t := range q.paths() {
		if !t.sure || !t.every(func(p string) bool { _, ok := q.fromCWD(p); return ok }) {
			return false
		}
	}
	return len(q.paths()) > 0
}

func (q *query) fromCWD(name string) (string, bool) {
	if rel, ok := below(name, q.roots.of(rootCWD)); ok {
		return rel, true
	}
	return below(name, filepath.Clean(q.policy.CWD))
}

// touchesMachinery reports whether an edit in the working directory is to something that makes programs run.
func (q *query) touchesMachinery() bool {
	for _, t := range q.paths() {
		if t.any(func(p string) bool {
			rel, _ := q.fromCWD(p)
			for seg := range strings.SplitSeq(strings.ToLower(rel), "/") {
				if machinery.has(seg) {
					return true
				}
			}
			return false
		}) {
			return true
		}
	}
	return false
}
