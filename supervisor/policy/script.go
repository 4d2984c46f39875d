package policy

import (
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/policy/shell"
)

// hole stands for a part of a command's text that only the running shell knows; see [shell.Hole].
const hole = shell.Hole

// script is a command line with everything that it can run, as rules are checked against it.
type script struct {
	line      string // spaces folded, for rules about a sequence of commands
	commands  []command
	assigned  []shell.Assign // without a command after them
	redirects []shell.Redirect

	// doubts are the reasons why the line may do more than its commands and redirections say. Then only a rule
	// for Bash as a whole allows it, and any deny or ask rule for commands makes Decide ask.
	doubts []string

	plain bool // a list of simple commands, and nothing else; see [shell.Line]
	moves bool // it changes the directory, so that relative names are uncertain

	// unsandboxed says that the call requests to run outside of the sandbox.
	unsandboxed bool
}

// command is a command that the line can run.
type command struct {
	shell.Command
	// inner says that it is in an argument of another command, which runs it: sudo, eval, sh -c. An allow rule
	// covers that other command, not this one.
	inner bool
	texts []string // what deny and ask rules are compared with
}

// Bounds of what is parsed. What is larger may run anything.
const (
	maxCommands = 200
	maxDepth    = 8
)

func (s *script) doubt(why string) {
	if why != "" && len(s.doubts) < maxDepth && !slices.Contains(s.doubts, why) {
		s.doubts = append(s.doubts, why)
	}
}

// unknown records that the line runs something that cannot be seen: any deny rule may name it.
func (s *script) unknown(why string) {
	s.doubt(why)
	s.commands = append(s.commands, command{inner: true, texts: []string{string(hole)}})
}

// readScript parses a command line, with everything that its commands run.
func readScript(source string) *script {
	line := shell.Parse(source, shell.Bash)
	s := &script{line: strings.Join(strings.Fields(source), " "), plain: line.Plain}
	s.add(source, line, 0)
	return s
}

// add adds what a line runs: at depth 0 the line itself, deeper a text that one of its commands passes to a
// shell.
func (s *script) add(source string, line shell.Line, depth int) {
	for _, why := range line.Doubts {
		s.doubt(why)
	}
	if line.Broken {
		s.addCrude(source)
		return
	}
	s.redirects = append(s.redirects, line.Redirects...)
	for _, a := range line.Assigned {
		s.assign(a)
	}
	for _, c := range line.Commands {
		if len(s.commands) >= maxCommands {
			s.unknown("it has too many commands to look at")
			return
		}
		for _, a := range c.Assigns {
			if a.Name == "IFS" && len(c.Words) > 0 && c.Words[0].Text == "read" {
				continue // how a line is split; the value ends with the command
			}
			s.assign(a)
		}
		if len(c.Words) == 0 {
			if depth == 0 {
				s.assigned = append(s.assigned, c.Assigns...)
			}
			continue
		}
		s.addCommand(c, depth, depth > 0)
		s.addBehind(c, depth)
	}
	s.runsWritten()
}

// runsWritten detects a file that the line both writes and runs.
func (s *script) runsWritten() {
	for _, r := range s.redirects {
		written := r.File.Text
		for _, c := range s.commands {
			runs := func(i int) bool {
				return i < len(c.Words) && (c.Words[i].Text == written || "./"+written == c.Words[i].Text)
			}
			if r.Writes && (runs(0) || len(c.Words) > 1 && shells.has(baseName(c.Words[0].Text)) && runs(1)) {
				s.doubt("it runs a file that it writes itself")
			}
		}
	}
}

func (s *script) assign(a shell.Assign) {
	if isInterpreted(a.Name) {
		s.doubt("the variable " + a.Name + " changes what other commands do")
	}
}

// addCommand adds a command, and the texts among its arguments that it runs itself.
func (s *script) addCommand(c shell.Command, depth int, inner bool) {
	s.commands = append(s.commands, command{Command: c, inner: inner, texts: textsOf(c)})
	name := c.Words[0]
	if !name.Known() {
		s.doubt("what " + name.Source + " stands for is known to the shell alone")
		return
	}
	if strings.HasPrefix(name.Text, "-") {
		s.unknown("it has a command that begins with -")
		return
	}
	base := baseName(name.Text)
	if base == "cd" || base == "pushd" || base == "popd" {
		s.moves = true
	}
	if !inner || depth > 0 || !evaluators.has(base) {
		s.doubt(doubtAbout(base, c))
	}
	if depth >= maxDepth {
		s.unknown("it is nested too deeply to be checked")
		return
	}
	for _, t := range scriptsOf(base, c) {
		s.addText(t, depth)
	}
}

// addText adds a text that a command passes to a shell.
func (s *script) addText(t text, depth int) {
	if strings.IndexByte(t.source, hole) >= 0 {
		s.unknown("a shell runs a text that only the running shell knows")
		return
	}
	for _, d := range t.dialects {
		s.add(t.source, shell.Parse(t.source, d), depth+1)
	}
}

// addBehind adds what a command such as sudo or xargs runs: from each place among its arguments where that
// command can begin.
func (s *script) addBehind(c shell.Command, depth int) {
	words, ordinary := behind(c.Words)
	words = appended(baseName(c.Words[0].Text), words)
	if len(words) > maxStarts {
		s.unknown("a command has too many arguments to look for the one it runs")
		return
	}
	for i, w := range words {
		// An argument that may be anything does not count as a command, otherwise every variable would be
		// denied. It does count in the ordinary place of the command.
		if i > ordinary && strings.HasPrefix(w.Text, string(hole)) {
			continue
		}
		if strings.HasPrefix(w.Text, "-") {
			s.addOption(w.Text, depth)
			continue
		}
		s.addCommand(shell.Command{Words: words[i:], Input: c.Input}, depth, true)
		if strings.ContainsAny(w.Text, " \t\n;|&`$()<>") {
			s.addText(bashText(w.Text), depth)
		}
	}
}

// addOption adds the value of an option that contains a command: su -c'rm x', env -S'rm x', --command='rm x'.
func (s *script) addOption(option string, depth int) {
	value := ""
	if _, after, found := strings.Cut(option, "="); found {
		value = after
	} else if len(option) > 2 && option[1] != '-' {
		value = option[2:]
	}
	if value != "" && strings.IndexByte(value, hole) < 0 && depth < maxDepth {
		s.addText(bashText(value), depth)
	}
}

// addCrude adds a line that the grammar does not fit: it splits at everything that may end a command, and
// ignores the quotes. The result is only for deny and ask rules; such a line is in doubt.
func (s *script) addCrude(source string) {
	cut := func(r rune) bool { return strings.ContainsRune(";&|\n\r(){}`<>", r) }
	unquote := strings.NewReplacer(`'`, "", `"`, "", `\`, "", "\x00", "")
	s.plain = false
	for _, part := range strings.FieldsFunc(source, cut) {
		words := crudeWords(unquote.Replace(part))
		if len(words) == 0 {
			continue
		}
		if len(s.commands) >= maxCommands {
			s.unknown("it has too many commands to look at")
			return
		}
		s.addCommand(shell.Command{Words: words}, maxDepth-1, true)
		s.addBehind(shell.Command{Words: words}, maxDepth-1)
	}
}

// reserved are words that can precede a command.
var reserved = nameSet{"if", "then", "elif", "else", "while", "until", "do", "!", "{", "time", "coproc", "nocorrect"}

// crudeWords are the words of a part, without the rest of a redirection before them.
func crudeWords(part string) (words []shell.Word) {
	for _, w := range strings.Fields(part) {
		if len(words) == 0 && (strings.Trim(w, "0123456789-") == "" || reserved.has(w)) {
			continue
		}
		if len(words) == 0 {
			w = strings.TrimPrefix(w, "-")
		}
		if strings.ContainsAny(w, "$*?[") {
			w = string(hole)
		}
		words = append(words, shell.Word{Text: w, Source: w})
	}
	return words
}
