package manual

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// Line is a command line, which may be incomplete. The library's parser stops at the first argument and at the first
// mistake; Line knows the whole line.
type Line struct {
	Command  *cli.Command      // the innermost that is named
	Given    map[string]string // flags with their values
	Args     []string
	Flag     *Flag  // the last flag, if its value is missing
	Word     string // what was typed of the word to complete; for --flag=WORD, the part after =
	Help     bool   // help is asked for, by --help or -h …
	HelpWord bool   // … or by the word help
	plain    bool   // the line has --
	words    []string
	rest     []string // the arguments, and --
	levels   []level  // the program, and the commands
}

// level is a command on the line, with the flags between its name and the next command.
type level struct {
	command *cli.Command
	flags   [][]string // each with its value
}

// Read parses the words after the program's name.
func Read(app *cli.App, words []string) *Line {
	l := &Line{Given: map[string]string{}, words: words}
	l.enter(Root(app))
	for n := 1; len(words) > 0; words, n = words[n:], 1 {
		first, open := words[0], len(l.Args) == 0 && !l.plain // open: a command may follow
		switch below := l.Command.Command(first); {
		case IsFlag(first) && !l.plain:
			n = l.take(words)
		case open && below != nil:
			l.enter(below)
		case open && first == "help" && len(l.Command.Subcommands) > 0 && !l.HelpWord:
			l.Help, l.HelpWord = true, true
		default:
			l.rest = append(l.rest, first)
			if first == "--" && !l.plain {
				l.plain = true
			} else {
				l.Args = append(l.Args, first)
			}
		}
	}
	return l
}

// take reads a flag, and returns how many words it uses.
func (l *Line) take(words []string) int {
	name, value, whole := strings.Cut(strings.TrimLeft(words[0], "-"), "=")
	n := 1
	switch f := l.flag(name); {
	case f == nil || f.Value == "" || whole:
		l.Given[name] = value
	case len(words) == 1:
		l.Flag = f
	default:
		n, l.Given[name] = 2, words[1]
	}
	l.Help = l.Help || name == "help" || name == "h"
	last := &l.levels[len(l.levels)-1]
	last.flags = append(last.flags, words[:n])
	return n
}

// IsFlag reports whether a word of a command line is a flag.
func IsFlag(word string) bool { return len(word) > 1 && word[0] == '-' && word != "--" }

func (l *Line) enter(c *cli.Command) {
	l.Command = c
	l.levels = append(l.levels, level{command: c})
}

// flag finds a flag of the command, or of a command before it: flags may be anywhere on the line.
func (l *Line) flag(name string) *Flag {
	for _, level := range slices.Backward(l.levels) {
		if f := flagNamed(level.command, name); f != nil {
			return f
		}
	}
	return nil
}

func flagNamed(c *cli.Command, name string) *Flag {
	for _, f := range c.Flags {
		if slices.Contains(f.Names(), name) {
			found := FlagDoc(f)
			return &found
		}
	}
	return nil
}

// Ordered returns the words in the order that the library's parser needs: each flag behind the innermost command that
// has it, and before the arguments. Flags that no command has stay where they are, for the parser to refuse. So do
// all words without a command, because flags come before the requirements file.
func (l *Line) Ordered() []string {
	if len(l.levels) == 1 {
		return append([]string{l.Command.Name}, l.words...)
	}
	flags := make([][]string, len(l.levels))
	for i, level := range l.levels {
		for _, words := range level.flags {
			name, _, _ := strings.Cut(strings.TrimLeft(words[0], "-"), "=")
			to := i
			for k := i + 1; k < len(l.levels); k++ {
				if flagNamed(l.levels[k].command, name) != nil {
					to = k
				}
			}
			flags[to] = append(flags[to], words...)
		}
	}
	var list []string
	for i, level := range l.levels {
		list = append(append(list, level.command.Name), flags[i]...)
	}
	if l.Flag != nil { // so that the parser does not take an argument for its value
		return list
	}
	return append(list, l.rest...)
}

// Offer has the possible completions of a word.
type Offer struct {
	Words       []Entry // Term is the complete word
	Files, Dirs bool    // also names of files, or of directories only; the shell completes them
}

// Values returns the possible values of a placeholder: RUN, AGENT, NAME …
type Values func(l *Line, what string) Offer

// offer returns the completions of a word that follows the line. Files are left to the shell.
func (l *Line) offer(word string, values Values) (o Offer) {
	lead := ""
	switch name, value, whole := strings.Cut(word, "="); {
	case l.Flag != nil:
	case whole && strings.HasPrefix(name, "--") && !l.plain:
		lead, word = name+"=", value
		if l.Flag = l.flag(name[2:]); l.Flag == nil {
			return o
		}
	}
	l.Word = word
	switch {
	case l.Flag != nil:
		o = l.of(l.Flag.Value, values)
	case strings.HasPrefix(word, "-") && !l.plain:
		o = l.flags()
	default:
		o = l.arguments(values)
	}
	o.Words = slices.DeleteFunc(slices.Clone(o.Words), func(e Entry) bool { return !strings.HasPrefix(e.Term, word) })
	for i := range o.Words {
		o.Words[i].Term = lead + o.Words[i].Term
	}
	return o
}

// of returns the possible values of a flag or argument, which may be of several kinds.
func (l *Line) of(value string, values Values) (o Offer) {
	for _, word := range Choices(value) {
		o.Words = append(o.Words, Entry{Term: word})
	}
	if o.Words != nil {
		return o
	}
	for what := range strings.SplitSeq(value, "|") {
		more := values(l, what)
		o.Words = append(o.Words, more.Words...)
		o.Files, o.Dirs = o.Files || more.Files, o.Dirs || more.Dirs
	}
	return o
}

// flags returns the flags that may still be given. Arbiter's own flags come before its arguments.
func (l *Line) flags() (o Offer) {
	if len(l.levels) == 1 && len(l.Args) > 0 {
		return o
	}
	for _, f := range append(Flags(l.Command), helpFlag) {
		if _, given := l.Given[f.Name]; !given || f.Repeats {
			o.Words = append(o.Words, Entry{"--" + f.Name, f.About})
		}
	}
	return o
}

// arguments returns the commands that may follow, and the values of the next argument.
func (l *Line) arguments(values Values) (o Offer) {
	n := len(l.Args)
	if n == 0 && !l.plain {
		for _, c := range l.Command.VisibleCommands() {
			o.Words = append(o.Words, Entry{c.Name, c.Usage})
		}
	}
	what, _, _ := strings.Cut(l.Command.ArgsUsage, " | ")
	takes := strings.Fields(what)
	if last := len(takes) - 1; last >= 0 && n > last && strings.Contains(takes[last], "…") {
		n = last
	}
	if n >= len(takes) || l.HelpWord {
		return o
	}
	more := l.of(strings.Trim(takes[n], "[]…"), values)
	for _, e := range more.Words {
		if !slices.Contains(l.Args, e.Term) &&
			!slices.ContainsFunc(o.Words, func(b Entry) bool { return b.Term == e.Term }) {
			o.Words = append(o.Words, e)
		}
	}
	o.Files, o.Dirs = more.Files, more.Dirs
	return o
}
