package policy

import (
	"path"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/policy/shell"
)

// filesInDoubt says why a command line may read or write what a deny or ask rule about files names although
// none of its words says so: a command that is known to read or write its operands has one that only the
// running shell knows, or reads a whole directory that contains such a file.
func (q *query) filesInDoubt() (rule, why string) {
	if q.tool != "Bash" {
		return "", ""
	}
	for _, l := range []list{q.deny, q.ask} {
		for i := range l.rules {
			r := &l.rules[i]
			if r.kind != kindPath || r.tool != "Read" && r.tool != "Edit" {
				continue
			}
			if doubts := q.commands().doubts; len(doubts) > 0 {
				return r.text, doubts[0]
			}
			if why := q.mayTouch(r, l.region(i)); why != "" {
				return r.text, why
			}
		}
	}
	return "", ""
}

func (q *query) mayTouch(r *Rule, at *region) string {
	if at == nil {
		found := q.roots.regionOfDeny(r)
		at = &found
	}
	if !at.ok {
		return ""
	}
	writes := r.tool == "Edit"
	s := q.commands()
	for _, x := range s.redirects {
		if x.Writes == writes && q.mayBeIn(at, x.File) {
			return "which file is meant by " + x.File.Source + " is known to the shell alone"
		}
	}
	for i := range s.commands {
		words := s.commands[i].Words
		if len(words) == 0 {
			continue
		}
		if touches(words, writes) || !writes && comparesFiles(words) {
			for _, w := range words[1:] {
				if q.mayBeIn(at, w) {
					return "which file is meant by " + w.Source + " is known to the shell alone"
				}
				if copiers.has(baseName(words[0].Text)) && w.Known() && q.holds(at, w.Text) {
					return words[0].Text + " takes whole directories"
				}
			}
		}
		if !writes && q.searchesAbove(at, words) {
			return words[0].Text + " goes through whole directories"
		}
	}
	return ""
}

// touches reports whether a command is known to read, or to write, the files it names.
func touches(words []shell.Word, writes bool) bool {
	name := baseName(words[0].Text)
	if writes {
		return fileWriters.has(name) || name == "sed" && slices.ContainsFunc(words, inPlace)
	}
	return fileReaders.has(name)
}

// comparesFiles recognises git diff --no-index, which reads its operands wherever they are.
func comparesFiles(words []shell.Word) bool {
	return baseName(words[0].Text) == "git" && slices.ContainsFunc(words,
		func(w shell.Word) bool { return w.Text == "--no-index" })
}

// mayBeIn reports whether a word that only the running shell knows may name a file of a region.
func (q *query) mayBeIn(at *region, w shell.Word) bool {
	switch {
	case strings.HasPrefix(w.Text, "/proc/"), strings.HasPrefix(w.Text, "/dev/fd/"):
		return true // another process has other files there
	case w.Known():
		return false
	case !w.Pattern:
		return true
	}
	dir, last := path.Split(w.Text)
	if first := strings.IndexByte(w.Text, hole); first < len(dir) {
		dir = w.Text[:strings.LastIndexByte(w.Text[:first], '/')+1]
	}
	if strings.Contains(w.Text[len(dir):], "."+string(hole)) && strings.HasPrefix(w.Text[len(dir):], ".") {
		return true // .* also matches .. in older shells
	}
	if isHidden(at) && strings.HasPrefix(last, string(hole)) && dir == w.Text[:len(w.Text)-len(last)] {
		return false
	}
	if segs := at.realSegs; len(segs) > 1 && !hasMeta(segs[len(segs)-2]) && !mightWild(segs[len(segs)-2], last) &&
		!strings.Contains(w.Text[:len(w.Text)-len(last)], string(hole)) {
		return false // it only matches files of other names
	}
	return q.dirMeets(at, dir)
}

// dirMeets reports whether a directory is in a region or above it.
func (q *query) dirMeets(at *region, dir string) bool {
	if dir == "" {
		dir = "."
	}
	for _, place := range q.places() {
		from := *q
		from.cwd = place
		t := from.target(dir)
		if !t.sure || t.any(func(name string) bool {
			return meets(name, at.literal) || at.real != "" && meets(name, at.real)
		}) {
			return true
		}
	}
	return false
}

// meets reports whether one of two directories is in the other.
func meets(a, b string) bool {
	_, within := below(a, b)
	_, above := below(b, a)
	return within || above
}

// isHidden reports whether a region consists of names that begin with a dot, which file name patterns and some
// searches leave out.
func isHidden(at *region) bool {
	segs := at.realSegs
	return len(segs) > 1 && strings.HasPrefix(segs[len(segs)-2], ".")
}

// showsHidden recognises the options with which rg and similar programs search such files all the same.
func showsHidden(w shell.Word) bool {
	return strings.HasPrefix(w.Text, "--hidden") || strings.HasPrefix(w.Text, "--unrestricted") ||
		strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") && strings.ContainsAny(w.Text, "u.")
}

// copiers process directories with everything in them.
var copiers = nameSet{"cp", "mv", "tar", "zip", "rsync", "scp", "rm", "chmod", "chown"}

// holds reports whether a region is in a directory.
func (q *query) holds(at *region, dir string) bool {
	t := q.target(dir)
	return t.any(func(name string) bool {
		_, within := below(at.literal, name)
		return within
	})
}

// treeSearchers search whole directories, always or with an option.
var (
	treeSearchers = nameSet{"rg", "ag", "ack"}
	grepLike      = nameSet{"grep", "egrep", "fgrep", "zgrep", "ugrep"}
)

// searchesAbove reports whether a command shows the contents of all files of a directory that contains a
// region.
func (q *query) searchesAbove(at *region, words []shell.Word) bool {
	name := baseName(words[0].Text)
	recursive := func(w shell.Word) bool {
		return strings.HasPrefix(w.Text, "--recursive") || strings.HasPrefix(w.Text, "--dereference-r") ||
			strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") && strings.ContainsAny(w.Text, "rR")
	}
	if !treeSearchers.has(name) && !(name == "git" && len(words) > 1 && words[1].Text == "grep" && comparesFiles(words)) &&
		!(grepLike.has(name) && slices.ContainsFunc(words[1:], recursive)) {
		return false
	}
	if treeSearchers.has(name) && isHidden(at) && !slices.ContainsFunc(words[1:], showsHidden) {
		return false
	}
	operands := slices.DeleteFunc(slices.Clone(words[1:]), func(w shell.Word) bool {
		return strings.HasPrefix(w.Text, "-")
	})
	if name == "git" {
		operands = operands[1:]
	}
	if len(operands) < 2 {
		return q.dirMeets(at, ".")
	}
	return slices.ContainsFunc(operands[1:], func(w shell.Word) bool { return w.Known() && q.dirMeets(at, w.Text) })
}
