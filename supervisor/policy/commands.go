package policy

import (
	"slices"
	"strings"
)

// script is what a command line may run.
type script struct {
	line   string // with single spaces
	units  []unit
	hidden string // why it is not known what the line does; "": it is
	tricky bool   // bash may read it in another way
	doubt  bool   // what is read now may be no commands
	moved  bool   // an earlier command changed the directory

	vars       map[string]string // those that are known
	wrote, ran []string          // names of files
}

// unit is a program with its words, as it may be run.
type unit struct {
	name   string
	words  []word
	read   []word // the words before they were sorted out
	files  []word // of redirections
	doubt  bool   // it may not be one
	within bool   // another unit runs it
	later  []word // what it may run
}

// clear reports whether all that a line does is known.
func (s *script) clear() bool { return s.hidden == "" && !s.tricky }

// usesFile reports whether a redirection names a file.
func (u *unit) usesFile() bool {
	return slices.ContainsFunc(u.files, func(f word) bool { return f.text != "/dev/null" })
}

func readLine(text string, vars map[string]string) *script {
	s := &script{line: strings.Join(strings.Fields(text), " "), vars: vars}
	if len(text) > maxLine {
		s.hide("it is too long")
		text = text[:maxLine]
	}
	s.read(text, false)
	if i := slices.IndexFunc(s.ran, func(name string) bool { return slices.Contains(s.wrote, name) }); i >= 0 {
		s.hide("it runs a file that it writes, " + s.ran[i])
	}
	return s
}

func (s *script) hide(why string) {
	if s.hidden == "" {
		s.hidden = why
	}
}

// variable returns the value of a variable, if it is known and the line cannot have changed it.
func (s *script) variable(name string) string {
	if s.moved && name == "PWD" || strings.Contains(s.line, name+"=") {
		return ""
	}
	return s.vars[name]
}

var (
	// keywords may stand before a command.
	keywords = names("if then elif else fi while until do done ! coproc esac in")

	goers   = names("cd pushd popd")
	finders = names("find bfs fd fdfind gfind")
	execs   = names("-exec -execdir -ok -okdir -x -X --exec --exec-batch")

	// wrappers run a command among their arguments.
	wrappers = names("time sudo doas runuser pkexec env xargs nohup timeout nice ionice chrt taskset setsid stdbuf " +
		"unbuffer command builtin exec strace ltrace perf valgrind setpriv prlimit busybox toybox systemd-run noglob " +
		"fakeroot start-stop-daemon npx bunx uvx hyperfine trap watch parallel ssh su script unshare nsenter chroot flock " +
		"tmux screen entr")

	// inert programs do not run their words, like those of the lists about files.
	inert = names("git curl wget pip pip3 gofmt rustc uname whoami printenv mkdir cd")

	// subcommanders have the name of a subcommand as their first word.
	subcommanders = names("go npm pnpm yarn bun deno cargo docker podman kubectl helm make just task cmake apt " +
		"apt-get brew terraform systemctl mvn gradle gradlew dotnet swift conda poetry uv bundle gem composer " +
		"mix rustup nx turbo")
)

// add adds a command, and those that it runs.
func (s *script) add(words, files []word, depth int) {
	if depth > maxDepth || len(s.units) > maxCommands {
		s.hide(tooDeep)
		return
	}
	u := unit{words: words, read: words, files: files, doubt: s.doubt || depth > 0, within: depth > 0}
	for _, w := range words {
		s.moved = s.moved || goers.has(w.text)
		if at := strings.IndexByte(w.text, '['); at >= 0 && strings.ContainsAny(w.text[at:], "$`") {
			s.expanded(w.text[at:]) // a subscript is evaluated
		}
	}
	for len(u.words) > 0 && (keywords.has(u.words[0].text) || assignment().MatchString(u.words[0].text)) {
		s.assign(u.words[0].text)
		u.words = u.words[1:]
	}
	for _, f := range files {
		if f.writes {
			s.wrote = append(s.wrote, baseName(f.text))
		}
	}
	if len(u.words) == 0 {
		u.words = []word{{text: ":"}}
	}
	u.name = baseName(u.words[0].text)
	if sub, ok := strings.CutPrefix(u.name, "git-"); ok {
		u.name, u.words = "git", append([]word{{text: "git"}, {text: sub}}, u.words[1:]...)
	}
	if strings.IndexByte(u.name, hole) >= 0 {
		s.hide("only the shell knows which command it runs")
	}
	if movers.has(u.name) || u.name == "tee" {
		for _, w := range u.words[1:] {
			s.wrote = append(s.wrote, baseName(w.text))
		}
	}
	if strings.Contains(u.words[0].text, "/") {
		s.ran = append(s.ran, u.name)
	}
	u.later = tokens(u.words[min(runsFrom(u.name, u.words), len(u.words)):])
	s.units = append(s.units, u)
	s.inner(u.name, u.words, depth)
	s.checkHidden(u.name, u.words)
}

// inDoubt reads commands that may be none.
func (s *script) inDoubt(read func()) {
	before := s.doubt
	s.doubt = true
	read()
	s.doubt = before
}

// inner adds the commands that a command runs.
func (s *script) inner(name string, words []word, depth int) {
	behind := func(i int) {
		list := slices.Clone(words[i:])
		for i, w := range list {
			if strings.Contains(w.text, "{}") {
				list[i].text, list[i].pattern = strings.ReplaceAll(w.text, "{}", string(hole)), false
			}
		}
		if name == "xargs" {
			list = append(list, word{text: string(hole)})
		}
		s.add(list, nil, depth+1)
	}
	option := false
	for i := 1; i < len(words); i++ {
		text, before := words[i].text, words[i-1].text
		switch dash := strings.HasPrefix(text, "-"); {
		case finders.has(name) && execs.has(before):
			behind(i)
		case !wrappers.has(name):
			if dash && i > runsFrom(name, words) && interprets(baseName(before)) {
				behind(i - 1)
			}
		case strings.ContainsAny(text, " \t\n"):
			s.inDoubt(func() { s.read(strings.TrimLeft(text, "-SPc"), true) })
		case dash:
			option = true
		case assignment().MatchString(text):
			s.assign(text)
		case text == "" || text[0] < '0' || text[0] > '9':
			behind(i)
			if !option || words[i].unknown() {
				return
			}
			option = false // it may be the value of the option
		}
	}
}

// runsFrom returns the first word from which a program may run its words.
func runsFrom(name string, words []word) int {
	exec := slices.IndexFunc(words, func(w word) bool { return execs.has(w.text) })
	switch {
	case finders.has(name) && exec >= 0:
		return exec + 1
	case finders.has(name), inert.has(name), namesOnly.has(name), fileReaders.has(name), fileWriters.has(name),
		movers.has(name), name == "command" && len(words) > 1 && strings.EqualFold(words[1].text, "-v"):
		return len(words)
	case subcommanders.has(name):
		return 2
	}
	return 1
}

// tokens splits words at everything that may separate words for a program that reads them.
func tokens(words []word) (list []word) {
	for _, w := range words {
		separates := func(c rune) bool { return strings.ContainsRune(" \t\n;&|()<>`$\"'={}!\\,", c) }
		for part := range strings.FieldsFuncSeq(w.text, separates) {
			list = append(list, word{text: part})
		}
	}
	return list[:min(len(list), maxCommands)]
}

// about reports whether a rule about commands names one of the line.
func (s *script) about(r *Rule) (verdict, string) {
	if strings.ContainsAny(r.spec, ";|&") && (wildcard(r.spec, s.line) || wildcard("* "+r.spec, s.line)) {
		return sure, ""
	}
	found, why := no, ""
	for i := range s.units {
		u := &s.units[i]
		switch v := r.runs(u.words); {
		case v == sure && !u.doubt:
			return sure, ""
		case v == sure:
			found, why = maybe, "another command may run "+u.name
		case v == maybe && found == no:
			found, why = maybe, "only the shell knows all words of "+u.name
		}
		for i, w := range u.later {
			if found == no && len(r.lits) > 0 && sameProgram(r.lits[0], w.text) && r.runs(u.later[i:]) != no {
				found, why = maybe, u.name+" may run "+w.text
			}
		}
	}
	if found == no && s.hidden != "" {
		return maybe, s.hidden
	}
	return found, why
}

func sameProgram(a, b string) bool { return strings.EqualFold(baseName(a), baseName(b)) }

// runs reports whether a command is what the rule names. Options, each with one value, may stand between the words
// that the rule gives.
func (r *Rule) runs(words []word) (best verdict) {
	if len(r.lits) > 0 && (len(words) == 0 || !words[0].unknown() && !sameProgram(words[0].text, r.lits[0])) {
		return no
	}
	reached := make([]bool, len(words)+3) // the rest of the rule may begin at these words
	reached[0] = true
	for n, lit := range r.lits {
		next, letters := make([]bool, len(words)+3), n > 0 && hasLetters(words, lit)
		for i, w := range words {
			switch {
			case !reached[i]:
				continue
			case w.text == lit, n == 0 && sameProgram(w.text, lit):
				next[i+1] = true
			case w.unknown() && wildcard(strings.ReplaceAll(w.text, string(hole), "*"), lit), letters:
				best = maybe
			}
			if n > 0 && strings.HasPrefix(w.text, "-") {
				reached[i+1], reached[i+2] = true, true
			} else if n == 0 {
				break
			}
		}
		reached = next
	}
	for i, ok := range reached[:len(words)+1] {
		if ok {
			best = max(best, r.ends(words[i:]))
		}
	}
	return best
}

// ends compares the words behind those that the rule gives with the rest of the rule.
func (r *Rule) ends(words []word) verdict {
	text := joined(words)
	if len(r.lits) == 0 {
		text = baseName(words[0].text) + strings.TrimPrefix(text, words[0].text)
	}
	if r.rest != "*" && !wildcard(r.rest, text) && strings.IndexByte(text, hole) >= 0 {
		return maybe
	}
	return certainly(r.rest == "*" || wildcard(r.rest, text))
}

// hasLetters reports whether the short options of a command have the letters of a rule's: rm -r -f has -rf.
func hasLetters(words []word, lit string) bool {
	given := ""
	for _, w := range words {
		if shortOptions().MatchString(w.text) && strings.Trim(w.text, given) != "" {
			given += w.text
		}
	}
	return shortOptions().MatchString(lit) && strings.Trim(lit, given) == ""
}

var shortOptions = expr(`^-[a-zA-Z]{1,4}$`)

func joined(words []word) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.text
	}
	return strings.Join(texts, " ")
}

// baseName is the last part of a program's path.
func baseName(word string) string { return word[strings.LastIndexByte(word, '/')+1:] }

// assignment is a word that sets a variable for the command after it.
var assignment = expr(`^\w+(\[.*?\])?\x00?\+?=`)

// wildcard matches text against a pattern in which * is any text. " *" at the end also matches nothing, as in
// Claude Code: "ls *" also matches "ls".
func wildcard(pattern, text string) bool {
	if short, ok := strings.CutSuffix(pattern, " *"); ok && wildcard(short, text) {
		return true
	}
	parts := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok || len(parts) == 1 {
		return ok && rest == ""
	}
	for _, part := range parts[1 : len(parts)-1] {
		if _, rest, ok = strings.Cut(rest, part); !ok {
			return false
		}
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}
