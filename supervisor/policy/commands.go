package policy

import (
	"slices"
	"strings"
)

// script is what a command line may run.
type script struct {
	line     string // with single spaces
	commands []command
	units    []unit
	hidden   string // why it is not known what the line does; "": it is
	tricky   bool   // bash may read it in another way
	moved    bool   // an earlier command changed the directory

	vars       map[string]string // those that are known
	wrote, ran []string          // names of files
}

// unit is a program with its words, as it may be run.
type unit struct {
	name  string
	words []word
	doubt bool
	later []word // what it may run
	files []word // of redirections
}

func readLine(text string, vars map[string]string) *script {
	s := &script{line: strings.Join(strings.Fields(text), " "), vars: vars}
	if len(text) > maxLine {
		s.hide("it is too long")
		text = text[:maxLine]
	}
	s.read(text, false)
	for i := 0; i < len(s.commands); i++ { // more are found on the way
		s.add(s.commands[i].words, s.commands[i], 0)
	}
	for _, name := range s.ran {
		if slices.Contains(s.wrote, name) {
			s.hide("it runs a file that it writes, " + name)
		}
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
	value := s.vars[name]
	if value == "" || s.moved && name == "PWD" || strings.Contains(s.line, name+"=") {
		return ""
	}
	return value
}

var (
	// keywords may stand before a command.
	keywords = names("if then elif else fi while until do done ! coproc esac in")

	goers   = names("cd pushd popd")
	finders = names("find bfs fd fdfind gfind")
	execs   = names("-exec -execdir -ok -okdir -x -X --exec --exec-batch")

	// wrappers run a command among their arguments; the remote ones after an operand.
	wrappers = names("time sudo doas su runuser pkexec env xargs nohup timeout nice ionice chrt taskset setsid " +
		"stdbuf unbuffer command builtin exec watch parallel ssh script strace ltrace perf valgrind unshare " +
		"nsenter chroot setpriv prlimit flock busybox toybox systemd-run tmux screen trap noglob fakeroot " +
		"start-stop-daemon entr npx bunx uvx hyperfine man")
	remote = names("ssh flock chroot")

	// inert programs do not run their words, like those of the lists about files.
	inert = names("git curl wget pip pip3 gofmt rustc uname whoami printenv mkdir cd")

	// subcommanders have the name of a subcommand as their first word.
	subcommanders = names("go npm pnpm yarn bun deno cargo docker podman kubectl helm make just task cmake apt " +
		"apt-get brew terraform systemctl mvn gradle gradlew dotnet swift conda poetry uv bundle gem composer " +
		"mix rustup nx turbo")
)

// add adds a command, and those that it runs.
func (s *script) add(words []word, c command, depth int) {
	if depth > maxDepth || len(s.units) > maxCommands {
		s.hide(errDeep.Error())
		return
	}
	for _, w := range words {
		if at := strings.IndexByte(w.text, '['); at >= 0 && strings.ContainsAny(w.text[at:], "$`") {
			s.expanded(w.text[at:]) // a subscript is evaluated
		}
	}
	for len(words) > 0 && (keywords.has(words[0].text) || isAssignment(words[0].text)) {
		s.assign(words[0].text)
		words = words[1:]
	}
	for _, f := range c.files {
		if f.writes {
			s.wrote = append(s.wrote, baseName(f.text))
		}
	}
	if len(words) == 0 {
		words = []word{{text: ":"}}
	}
	name := baseName(words[0].text)
	if sub, ok := strings.CutPrefix(name, "git-"); ok {
		name, words = "git", append([]word{{text: "git"}, {text: sub}}, words[1:]...)
	}
	if strings.IndexByte(name, hole) >= 0 {
		s.hide("only the shell knows which command it runs")
	}
	if movers.has(name) || name == "tee" {
		for _, w := range words[1:] {
			s.wrote = append(s.wrote, baseName(w.text))
		}
	}
	if strings.Contains(words[0].text, "/") {
		s.ran = append(s.ran, name)
	}
	later := tokens(words[min(runsFrom(name, words), len(words)):])
	s.units = append(s.units, unit{name: name, words: words, doubt: c.doubt, later: later, files: c.files})
	s.inner(name, words, depth)
	s.checkHidden(name, words)
}

// inDoubt marks the commands that read finds as commands that may be none.
func (s *script) inDoubt(read func()) {
	n := len(s.commands)
	read()
	for i := n; i < len(s.commands); i++ {
		s.commands[i].doubt = true
	}
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
		s.add(list, command{doubt: true}, depth+1)
	}
	for i := 1; i < len(words) && !wrappers.has(name); i++ {
		_, ok := interpreter(baseName(words[i-1].text))
		if ok && i > runsFrom(name, words) && strings.HasPrefix(words[i].text, "-") {
			behind(i - 1)
		} else if finders.has(name) && execs.has(words[i-1].text) {
			behind(i)
		}
	}
	option := false
	for i := 1; i < len(words) && wrappers.has(name); i++ {
		w := words[i]
		if blank := strings.ContainsAny(w.text, " \t\n"); blank && w.unknown() {
			s.hide("only the shell knows what " + name + " runs")
		} else if blank {
			s.inDoubt(func() { s.read(strings.TrimLeft(w.text, "-SPc"), true) })
		}
		switch {
		case strings.HasPrefix(w.text, "-"):
			option = true
		case isAssignment(w.text):
			s.assign(w.text)
		case w.text != "" && w.text[0] >= '0' && w.text[0] <= '9':
		case option && !w.unknown(): // the value of the option, or the command
			behind(i)
			option = false
		default:
			behind(i)
			if remote.has(name) && i+1 < len(words) {
				behind(i + 1)
			}
			return
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
func (s *script) about(r *Rule, fold bool) (verdict, string) {
	if strings.ContainsAny(r.spec, ";|&") && (wildcard(r.spec, s.line) || wildcard("* "+r.spec, s.line)) {
		return sure, ""
	}
	found, why := no, ""
	for i := range s.units {
		u := &s.units[i]
		switch v := r.runs(u.words, fold); {
		case v == sure && !u.doubt:
			return sure, ""
		case v == sure:
			found, why = maybe, "another command may run "+u.name
		case v == maybe && found == no:
			found, why = maybe, "only the shell knows all words of "+u.name
		}
		for i, w := range u.later {
			if found == no && len(r.lits) > 0 && sameProgram(r.lits[0], w.text, fold) && r.runs(u.later[i:], fold) != no {
				found, why = maybe, u.name+" may run "+w.text
			}
		}
	}
	if found == no && s.hidden != "" {
		return maybe, s.hidden
	}
	return found, why
}

func sameProgram(a, b string, fold bool) bool {
	a, b = baseName(a), baseName(b)
	return a == b || fold && strings.EqualFold(a, b)
}

// runs reports whether a command is what the rule names. Options, each with one value, may stand between the words
// that the rule gives.
func (r *Rule) runs(words []word, fold bool) verdict {
	best := no
	seen := map[[2]int]bool{}
	var try func(n, i int)
	try = func(n, i int) {
		switch at := [2]int{n, i}; {
		case best == sure || len(r.lits) > 1 && seen[at]:
			return
		case n == len(r.lits):
			best = max(best, r.ends(words[min(i, len(words)):]))
			return
		case i >= len(words):
			return
		case n > 0:
			seen[at] = true
		}
		w, lit := words[i], r.lits[n]
		switch {
		case w.text == lit, n == 0 && sameProgram(w.text, lit, fold):
			try(n+1, i+1)
		case w.unknown() && wildcard(strings.ReplaceAll(w.text, string(hole), "*"), lit), n > 0 && hasLetters(words, lit):
			best = max(best, maybe)
		}
		if n > 0 && strings.HasPrefix(w.text, "-") {
			try(n, i+1)
			try(n, i+2)
		}
	}
	try(0, 0)
	return best
}

// ends compares the words behind those that the rule gives with the rest of the rule.
func (r *Rule) ends(words []word) verdict {
	if r.rest == "*" || r.rest == "" {
		return certainly(r.rest == "*" || len(words) == 0)
	}
	text := joined(words)
	if len(r.lits) == 0 {
		text = baseName(words[0].text) + strings.TrimPrefix(text, words[0].text)
	}
	last := r.rest[strings.LastIndexByte(r.rest, '*')+1:]
	known := text[strings.LastIndexByte(text, hole)+1:]
	switch {
	case wildcard(r.rest, text):
		return sure
	case len(known) < len(text) && (strings.HasSuffix(known, last) || strings.HasSuffix(last, known)):
		return maybe
	}
	return no
}

// hasLetters reports whether the short options of a command have the letters of a rule's: rm -r -f has -rf.
func hasLetters(words []word, lit string) bool {
	var given strings.Builder
	for _, w := range words {
		if shortOptions.MatchString(w.text) {
			given.WriteString(w.text)
		}
	}
	return shortOptions.MatchString(lit) && len(lit) < 5 && strings.Trim(lit, given.String()) == ""
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

// isAssignment reports whether a word sets a variable for the command after it.
func isAssignment(word string) bool { return assignment.MatchString(word) }

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
