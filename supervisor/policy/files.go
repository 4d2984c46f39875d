package policy

import (
	"regexp"
	"slices"
	"strings"
)

// Deny and ask rules about files hold for command lines, too: Read(.env) is about "cat .env". Each word, value and
// redirection is tried as the name of a file, in each directory that the line names. That keeps an honest agent
// from a file. To stop others, use a sandbox.
var (
	// namesOnly are programs that neither read nor write the contents of files that they name.
	namesOnly = names("echo printf ls cd pushd popd test [ [[ stat du df pwd basename dirname realpath readlink " +
		"which type whereis tree kill pkill pgrep ps sleep true false : export read unset local declare typeset " +
		"readonly for case select function set shift return exit let date seq mktemp man help history id " +
		"hostname alias gh in")

	// fileReaders read files that they name, and do not write them unless an option says so.
	fileReaders = names("cat tac nl rev head tail less more bat wc grep egrep fgrep zgrep rg ag ack cut sort " +
		"uniq tr od hexdump hd strings diff cmp comm paste join fold md5sum sha1sum sha256sum base64 base32 jq " +
		"yq column file source . sed awk gawk mawk shuf zcat xxd")

	// fileWriters write, create or remove files that they name, and do not show them. movers do both.
	fileWriters = names("tee rm rmdir touch mkdir truncate chmod chown chgrp unlink shred")
	movers      = names("cp mv ln dd install rsync scp tar zip gzip patch vi vim nvim nano emacs ed ex openssl " +
		"gpg curl wget")

	// searches read whole directories; gitNames are subcommands of git that do not show files that they name, and
	// gitWrites those that change them.
	searches = names("rg ag ack")
	gitNames = names("add rm mv status checkout switch restore ls-files reset check-ignore branch clean " +
		"stash push fetch")
	gitWrites = names("checkout restore rm mv reset clean apply am archive")

	recursive    = expr(`^(-[a-zA-Z]*[rRa]|--r|--ar|--dereference-r)`)
	shownHidden  = expr(`^(-\w*[u.]|--hid|--unr)`)
	outputs      = expr(`^(-[a-zA-Z]*[oiw]|--o|--in)`)
	deletes      = expr(`^-(delete|fprint|fls)`)
	placeOptions = expr(`^(-[CD]|--(ch|di|cw|pre|work)[a-z-]*)=?(.*)$`)
)

// Bounds of the names in a line that are tried, and of the directories in which they are.
const maxFiles, maxPlaces = 256, 12

// files are the names of files in a command line.
type files struct {
	query  *query
	places []string // directories at which a relative name may begin
	lost   bool     // there are others
	named  []fileName
}

// fileName is a name in a command line. If only the shell knows it, it has no targets.
type fileName struct {
	word          word
	targets       []target // in each place
	reads, writes bool
	listed        bool // the program is known to take files
	tree, noDots  bool // and whole directories, without what begins with a dot
}

// commandFiles finds the files that the command line names.
func (q *query) commandFiles() *files {
	if q.files == nil {
		q.files = &files{query: q, places: []string{q.cwd}}
		for _, u := range q.line().units {
			q.files.goes(u)
		}
		for _, u := range q.line().units {
			for _, r := range u.files {
				q.files.add(fileName{word: r, reads: !r.writes, writes: r.writes, listed: true})
			}
			q.files.words(u)
		}
	}
	return q.files
}

// goes notes the directories to which a command goes.
func (f *files) goes(u unit) {
	for i, w := range u.words[1:] {
		to, m := w.text, placeOptions().FindStringSubmatch(w.text)
		before := placeOptions().FindStringSubmatch(u.words[i].text)
		if m != nil && m[3] != "" {
			to = m[3]
		} else if !goers.has(u.name) && (before == nil || before[3] != "") {
			continue
		}
		f.lost = f.lost || to == "-" || strings.IndexByte(to, hole) >= 0 || len(f.places) >= maxPlaces
		if strings.HasPrefix(to, "-") || f.lost {
			continue
		}
		for _, place := range f.places {
			f.places = append(f.places, f.query.target(to, place).names...)
		}
		slices.Sort(f.places[1:])
		f.places = slices.Compact(f.places)
	}
}

// words adds the names among the words of a command.
func (f *files) words(u unit) {
	own := u.words[1:]
	has := func(is func() *regexp.Regexp) bool {
		return slices.ContainsFunc(own, func(w word) bool { return is().MatchString(w.text) })
	}
	if namesOnly.has(u.name) {
		return
	}
	if wrappers.has(u.name) { // only values of its options are its own
		own = nil
		for i, w := range u.words[1:] {
			if i > 0 && strings.HasPrefix(u.words[i].text, "-") {
				own = append(own, w)
			}
		}
	}
	pattern := strings.HasSuffix(u.name, "grep") || searches.has(u.name)
	n := fileName{reads: !fileWriters.has(u.name), writes: !fileReaders.has(u.name)}
	n.listed = !n.reads || !n.writes || movers.has(u.name)
	all := n.listed && has(recursive) || searches.has(u.name)
	n.tree = all || n.listed && !pattern && u.name != "rm"
	n.noDots = searches.has(u.name) && !has(shownHidden)
	switch u.name {
	case "sed", "sort", "yq", "uniq", "xxd", "shuf":
		n.writes = has(outputs) || u.name == "uniq"
	case "find", "bfs", "fd", "fdfind", "gfind":
		n.reads, n.writes, n.tree = false, has(deletes), true
		all = true
	case "git":
		sub := gitSub(u.words)
		if sub >= len(u.words) {
			return
		}
		outside := strings.Contains(joined(own), "--no-i")
		n.reads = !gitNames.has(u.words[sub].text) || outside
		n.writes = gitWrites.has(u.words[sub].text) || has(outputs)
		pattern = u.words[sub].text == "grep"
		n.listed, n.tree, all = outside, outside && pattern, outside && pattern
		own = own[sub:]
	}
	operands := 0
	for i, w := range own {
		if !strings.HasPrefix(w.text, "-") {
			operands++
		}
		if subcommanders.has(u.name) && i < 2 && !strings.ContainsAny(w.text, "./~") {
			continue
		}
		parts := append(strings.FieldsFunc(w.text, func(c rune) bool { return strings.ContainsRune("=:@", c) }), w.text)
		if len(w.text) > 2 && w.text[0] == '-' && w.text[1] != '-' {
			parts = append(parts, w.text[2:])
		}
		slices.Sort(parts)
		for _, text := range slices.Compact(parts) {
			if n.word = (word{text: strings.TrimSpace(text), pattern: w.pattern}); text[:min(1, len(text))] != "-" {
				f.add(n)
			}
		}
	}
	if all && (operands == 0 || pattern && operands == 1) {
		n.word = word{text: "."}
		f.add(n)
	}
}

func (f *files) add(n fileName) {
	if text := n.word.text; text == "" || len(text) > 4096 || !n.reads && !n.writes {
		return
	}
	if len(f.named) >= maxFiles {
		f.query.line().hide("it names too many files")
		return
	}
	n.targets = nil
	for _, place := range f.places {
		if n.word.unknown() || n.targets != nil && n.word.text[0] == '/' {
			break
		}
		n.targets = append(n.targets, f.query.target(n.word.text, place))
	}
	f.named = append(f.named, n)
}

// about reports whether a rule about files holds for one of those that the line names.
func (f *files) about(r *Rule) (found verdict, why string) {
	var at region
	_, ok := f.query.policy.base(&r.path)
	for i := 0; i < len(f.named) && ok; i++ {
		n := &f.named[i]
		if r.tool == "Read" && n.reads || r.tool == "Edit" && n.writes {
			if at.bases == nil {
				at, _ = f.query.regionOf(r, false)
			}
			v, reason := f.one(n, r, &at)
			if v == sure {
				return sure, ""
			}
			if v > found {
				found, why = v, reason+n.word.text
			}
		}
	}
	if hidden := f.query.line().hidden; ok && found == no && hidden != "" {
		return maybe, hidden
	}
	return found, why
}

func (f *files) one(n *fileName, r *Rule, at *region) (verdict, string) {
	text := n.word.text
	if n.targets == nil {
		if !n.word.pattern && n.listed || n.word.pattern && f.mayName(text, at) {
			return maybe, "only the shell knows which file this is: "
		}
		return no, ""
	}
	specific := slices.ContainsFunc(r.path.segs, func(seg string) bool { return strings.Trim(seg, "*") != "" })
	dotted := slices.ContainsFunc(r.path.segs, func(seg string) bool { return seg[0] == '.' })
	for _, t := range n.targets {
		switch {
		case t.any(at.has) && (n.listed || specific && strings.ContainsAny(text, "./~")):
			return sure, ""
		case t.any(at.has) && specific:
			return maybe, "this may be a file: "
		case !t.sure && n.listed:
			return maybe, "it is not clear which file this is: "
		case n.tree && t.any(at.within) && !(n.noDots && dotted):
			return maybe, "it takes this whole directory: "
		}
	}
	if f.lost && n.listed && text[0] != '/' && f.mayName(string(hole)+"/"+text, at) {
		return maybe, "it is not clear in which directory this is: "
	}
	return no, ""
}

// mayName reports whether a pattern for the names of files may stand for one in a region.
func (f *files) mayName(pattern string, at *region) bool {
	dir := pattern[:strings.LastIndexByte(pattern[:strings.IndexByte(pattern, hole)], '/')+1]
	rest := strings.Split(pattern[len(dir):], "/")
	if slices.Contains(rest, "..") || slices.Contains(rest, "."+string(hole)) { // .* may match ..
		return true
	}
	return slices.ContainsFunc(f.places, func(place string) bool {
		t := f.query.target(dir+".", place)
		return !t.sure || t.any(func(name string) bool {
			parts := append(strings.Split(name, "/"), rest...)
			return slices.ContainsFunc(at.bases, func(base string) bool {
				return segmentsMatch(append(strings.Split(strings.Trim(base, "/"), "/"), at.segs...), parts)
			})
		})
	})
}

// nameSet is a small set of names.
type nameSet []string

func (s nameSet) has(name string) bool { return slices.Contains(s, name) }

// names are the words of a text.
func names(text string) nameSet { return strings.Fields(text) }
