package policy

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/policy/shell"
)

// Harmless reports whether a request changes nothing and shows nothing from outside the working directory. It
// applies in mode rules, which never asks, and to checks; where the CLI asks, Harmless never answers its
// question.
//
// It is a list of exact forms: commands that only read, with known options and arguments, and with files inside
// of the working directory. In doubt it says no: for a variable, a glob, a redirection, an unknown option. It
// ignores the mode, and considers only the rules that deny or ask for reading what a command line would read:
// check the request itself against deny and ask rules first.
// request itself against deny and ask rules first.
func (p Policy) Harmless(r Request) bool { return p.newQuery(r).harmless() }

func (q *query) harmless() bool {
	if q.tool != "Bash" {
		return q.onlyReads()
	}
	if q.broken {
		return false
	}
	s := q.commands()
	if len(s.doubts) > 0 || !s.plain || s.unsandboxed || len(s.commands) == 0 {
		return false
	}
	for _, c := range s.commands {
		if c.inner || !shell.Known(c.Words) || !q.reads(c.Words) {
			return false
		}
	}
	return true
}

// reads reports whether one command only reads, and only what it may read.
func (q *query) reads(words []shell.Word) bool {
	name, args := words[0].Text, make([]string, len(words)-1)
	for i, w := range words[1:] {
		args[i] = w.Text
	}
	switch name {
	case "git":
		return q.gitReads(args)
	case "find":
		return q.findReads(args)
	case "printf":
		return len(args) > 0 && !strings.HasPrefix(args[0], "-") // -v sets a variable
	case "[":
		return len(args) > 0 && args[len(args)-1] == "]" && q.inside(args)
	case "test":
		return q.inside(args)
	}
	use, ok := readingCommands[name]
	if !ok || name == "diff" && !slices.Contains(args, "--no-dereference") {
		return false // diff of directories would follow the links in them
	}
	return q.readsBy(use, args)
}

func (q *query) readsBy(use reading, args []string) bool {
	operands, options, ok := use.parse(args)
	if !ok || use.most > 0 && len(operands) > use.most {
		return false
	}
	if use.operands == patternThenFiles && len(operands) > 0 && !slices.ContainsFunc(options,
		func(o string) bool { return patternGiven.has(o) }) {
		operands = operands[1:] // the pattern, unless an option gives one, or asks for names only
	}
	if use.deep && q.mayBeClosed() {
		return false
	}
	switch use.operands {
	case files, patternThenFiles:
		return q.inside(operands)
	case none:
		return len(operands) == 0
	case formats:
		return !slices.ContainsFunc(operands, func(s string) bool { return !strings.HasPrefix(s, "+") })
	case numbers:
		return !slices.ContainsFunc(operands, func(s string) bool { return strings.Trim(s, "0123456789.smhd") != "" })
	}
	return true // words
}

var patternGiven = nameSet{"-e", "--regexp", "--files", "--type-list"}

// inside reports whether no operand of a command is a file outside of the working directory, by any name.
func (q *query) inside(operands []string) bool {
	for _, s := range operands {
		if s == "-" || s == "/dev/null" {
			continue
		}
		t := q.target(s)
		if !t.sure || q.policy.CWD == "" || !t.every(func(p string) bool { _, ok := q.fromCWD(p); return ok }) {
			return false
		}
		reading := &query{policy: q.policy, tool: "Read", targets: []target{t}, haveTargets: true, roots: q.roots}
		for _, l := range []list{q.deny, q.ask} {
			if _, closed := reading.firstMight(l); closed {
				return false
			}
		}
	}
	return true
}

// mayBeClosed reports whether a deny or ask rule about reading may be about something in the working directory.
// A command that reads whole directories, or shows contents from git's store, is not checked against such rules
// file by file.
func (q *query) mayBeClosed() bool {
	for _, l := range []list{q.deny, q.ask} {
		for i := range l.rules {
			r := &l.rules[i]
			if !readers.has(r.tool) {
				continue
			}
			if r.kind != kindPath {
				return true
			}
			at := q.roots.regionOfDeny(r)
			if known := l.region(i); known != nil {
				at = *known
			}
			if at.link != "" {
				at.real = q.policy.resolve(at.link)
			}
			if at.ok && (q.nearCWD(at.literal) || at.real != "" && q.nearCWD(at.real)) {
				return true
			}
		}
	}
	return false
}

// nearCWD reports whether a directory is in the working directory or above it.
func (q *query) nearCWD(dir string) bool {
	if _, within := q.fromCWD(dir); within {
		return true
	}
	_, above := below(q.roots.of(rootCWD), dir)
	_, named := below(filepath.Clean(q.policy.CWD), dir)
	return above || named
}

// findPredicates are find's tests and settings, with the number of their arguments. Predicates that run or
// write something are left out, and so is -L.
var findPredicates = map[string]int{
	"-name": 1, "-iname": 1, "-path": 1, "-ipath": 1, "-wholename": 1, "-regex": 1, "-iregex": 1, "-regextype": 1,
	"-type": 1, "-maxdepth": 1, "-mindepth": 1,
	"-size": 1, "-mtime": 1, "-mmin": 1, "-atime": 1, "-amin": 1, "-ctime": 1, "-cmin": 1, "-perm": 1, "-user": 1,
	"-group": 1, "-links": 1,
	"-empty": 0, "-readable": 0, "-writable": 0, "-executable": 0, "-print": 0, "-print0": 0, "-ls": 0, "-prune": 0,
	"-quit": 0, "-true": 0, "-false": 0,
	"-not": 0, "-a": 0, "-o": 0, "-and": 0, "-or": 0, "-depth": 0, "-xdev": 0, "-mount": 0, "!": 0, "(": 0, ")": 0,
	",": 0,
}

func (q *query) findReads(args []string) bool {
	places := slices.IndexFunc(args, func(s string) bool { return strings.HasPrefix(s, "-") || s == "!" || s == "(" })
	if places < 0 {
		places = len(args)
	}
	if !q.inside(args[:places]) {
		return false
	}
	for i := places; i < len(args); i++ {
		n, known := findPredicates[args[i]]
		if !known || i+n >= len(args) {
			return false
		}
		i += n
	}
	return true
}
