package command

// This part of the package documents the command line for people and shells: the help of each command, the
// manual page, completion, and suggestions for misspelled words. It reads the table of commands and flags
// that the program itself uses, so the documentation always matches the program. It also reads whole command
// lines, because flags may stand anywhere on them, and the library's parser stops at the first argument.
//
// The value of a flag or an argument has a one-word name, in backquotes in the usage of a flag, and in the
// ArgsUsage of a command: RUN, DIR, FILE, or the choices themselves, such as on|auto|off. Completion uses that
// name.
//
// The package is pure: it does not access runs, files or the terminal.

import (
	"cmp"
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// width is the width of help texts, in columns.
const width = 80

// Words are the parts of the help and the manual page that are not in the table of commands.
type Words struct {
	Exits, Signals, Environment, Files []Entry
	Examples                           []Entry // Term is the command line
	More                               []string
}

// Entry explains one thing.
type Entry struct{ Term, Text string }

// layout writes the parts that a help text and the manual page share.
type layout interface {
	head(title string)
	entry(term, text string, indent int) // indent: of the text, in columns
}

// Help writes the help of a command. words are used for the program itself only.
func Help(w io.Writer, c *cli.Command, words Words) {
	p := &page{}
	p.line(strings.Join(Wrap(c.HelpName+" - "+c.Usage, width-4), "\n    "))
	p.head("Usage")
	for _, s := range Synopsis(c) {
		p.line("  " + s)
	}
	if c.Description != "" {
		p.line("")
		p.text(c.Description)
	}
	var commands []Entry
	for _, b := range c.VisibleCommands() {
		commands = append(commands, Entry{b.Name, b.Usage})
	}
	entries(p, "Commands", commands, 12)
	flags(p, c)
	if c.HelpName == c.Name {
		entries(p, "Exit codes", words.Exits, 5)
		p.head("Examples")
		for _, e := range words.Examples {
			p.line("  " + e.Term)
		}
		p.line("")
		for _, line := range words.More {
			p.text(line)
		}
	}
	io.WriteString(w, p.String())
}

// flags writes the flags of a command, under the headings of their categories.
func flags(p layout, c *cli.Command) {
	flags, help := Flags(c), helpFlag
	if c.HelpName == c.Name {
		help.Category = flags[len(flags)-1].Category
	}
	flags = append(flags, help)
	for i, f := range flags {
		same := func(other Flag) bool { return other.Category == f.Category }
		if slices.ContainsFunc(flags[:i], same) {
			continue
		}
		p.head(cmp.Or(f.Category, "Flags"))
		for _, f := range flags[i:] {
			if text := f.Meaning(); same(f) {
				if f.Env != "" {
					text += " [$" + f.Env + "]"
				}
				p.entry(f.Term(), text, 24)
			}
		}
	}
}

func entries(p *page, title string, list []Entry, indent int) {
	if len(list) == 0 {
		return
	}
	p.head(title)
	for _, e := range list {
		p.entry(e.Term, e.Text, indent)
	}
}

// Term returns the flag as it is typed.
func (f Flag) Term() string { return strings.TrimSuffix("--"+f.Name+" "+f.Value, " ") }

// Meaning returns the description of the flag with its default.
func (f Flag) Meaning() string {
	text := f.About
	if f.Repeats {
		text += " (repeatable)"
	}
	switch nought := f.Default == "0" || f.Default == "0s"; {
	case nought:
		return strings.Replace(text, "(0: ", "(default 0: ", 1)
	case f.Default != "" && !strings.Contains(text, "(default: "):
		text += " (default: " + f.Default + ")"
	}
	return text
}

// page is the layout of a help text.
type page struct{ strings.Builder }

func (p *page) line(s string)     { fmt.Fprintln(p, strings.TrimRight(s, " ")) }
func (p *page) head(title string) { p.line("\n" + title + ":") }

// entry writes the text next to the term if there is room, or else below it.
func (p *page) entry(term, text string, indent int) {
	if term = "  " + term; utf8.RuneCountInString(term) > indent {
		p.line(term)
		term = ""
	}
	for _, l := range Wrap(text, width-indent-2) {
		p.line(fmt.Sprintf("%-*s", indent+2, term) + l)
		term = ""
	}
}

// text writes paragraphs. Lines that begin with a space are kept as they are.
func (p *page) text(s string) {
	for _, par := range paragraphs(s) {
		if strings.HasPrefix(par, " ") {
			p.line(par)
			continue
		}
		p.line(strings.Join(Wrap(par, width), "\n"))
	}
}

// paragraphs joins the lines of paragraphs. Empty lines and those that begin with a space are kept.
func paragraphs(s string) (list []string) {
	joins := false
	for line := range strings.Lines(s) {
		line = strings.TrimRight(line, "\n ")
		text := line != "" && line[0] != ' '
		if text && joins {
			list[len(list)-1] += " " + line
		} else {
			list = append(list, line)
		}
		joins = text
	}
	return list
}

// Wrap breaks text into lines. A word that is too long gets a line of its own.
func Wrap(text string, width int) []string {
	lines := []string{""}
	for word := range strings.FieldsSeq(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case utf8.RuneCountInString(*last+" "+word) > width:
			lines = append(lines, word)
		default:
			*last += " " + word
		}
	}
	return lines
}

// Line is a command line, which may be incomplete. The library's parser stops at the first argument and at the first
// mistake; Line knows the whole line.
type Line struct {
	Command *cli.Command      // the innermost that is named
	Given   map[string]string // flags with their values
	Args    []string
	Flag    *Flag // the last flag, if its value is missing
	// Swallowed are the words of the first flag whose value is a flag, too: the value was forgotten.
	Swallowed []string
	Word      string // what was typed of the word to complete; for --flag=WORD, the part after =
	Help      bool   // help is asked for, by --help or -h …
	HelpWord  bool   // … or by the word help
	plain     bool   // the line has --
	words     []string
	rest      []string // the arguments, and --
	levels    []level  // the program, and the commands
}

// level is a command on the line, with the flags between its name and the next command.
type level struct {
	command *cli.Command
	flags   [][]string // each with its value
}

// ReadLine parses the words after the program's name.
func ReadLine(app *cli.App, words []string) *Line {
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
		if other, _, _ := strings.Cut(strings.TrimLeft(words[1], "-"), "="); IsFlag(words[1]) && l.flag(other) != nil &&
			l.Swallowed == nil {
			l.Swallowed = words[:2]
		}
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

// Advised adds the flags of the line that say where things are to the commands that a message names: so these find the
// same things.
func (l *Line) Advised(message string) string {
	return advised().ReplaceAllStringFunc(message, func(named string) string {
		c, name := l.levels[0].command, strings.TrimPrefix(named, "arbiter ")
		if name != "--resume" {
			c = c.Command(name)
		}
		for _, flag := range []string{"cwd", "state-dir"} {
			value := l.Given[flag]
			if c != nil && value != "" && flagNamed(c, flag) != nil && !strings.Contains(message, "--"+flag) {
				named += " --" + flag + " " + words.Quote(value)
			}
		}
		return named
	})
}

var advised = Pattern(`\barbiter (--resume|[a-z]+)`)

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

// Roff writes the manual page, section 1, in the macros of man(7).
func Roff(w io.Writer, app *cli.App, words Words, version string) error {
	r := &roff{}
	all := All(app)
	root := all[0]
	// The line without arguments: no hyphenation or justification of commands.
	fmt.Fprintf(r, ".TH \"%s\" \"1\" \"\" \"%s\" \"\"\n.nh\n.ad l\n", strings.ToUpper(app.Name),
		escape(app.Name+" "+version))
	r.section("NAME")
	r.line(escape(app.Name + " - " + root.Usage))
	r.section("SYNOPSIS")
	r.line(escape(strings.Join(Synopsis(root), "\n.br\n")))
	r.section("DESCRIPTION")
	r.text(root.Description)
	r.section("OPTIONS")
	r.line("Flags of arbiter without a command.")
	flags(r, root)
	r.section("COMMANDS")
	for _, c := range all[1:] {
		r.line(`.SS "` + c.HelpName + `"`)
		for _, s := range Synopsis(c) {
			r.line(`\fB` + escape(s) + "\\fR\n.br")
		}
		r.line(".PP")
		r.text(strings.ToUpper(c.Usage[:1]) + c.Usage[1:] + ".\n\n" + c.Description)
		flags(r, c)
	}
	for _, s := range []struct {
		title string
		list  []Entry
	}{{"EXIT STATUS", words.Exits}, {"SIGNALS", words.Signals}, {"ENVIRONMENT", words.Environment},
		{"FILES", words.Files}, {"EXAMPLES", words.Examples}} {
		r.section(s.title)
		for _, e := range s.list {
			r.entry(e.Term, e.Text, 0)
		}
	}
	r.section("SEE ALSO")
	r.line(`\fBclaude\fR(1), \fBbwrap\fR(1)`)
	_, err := io.WriteString(w, r.String())
	return err
}

// roff is the layout of the manual page.
type roff struct{ strings.Builder }

func (r *roff) line(s string)        { fmt.Fprintln(r, s) }
func (r *roff) section(title string) { r.line(`.SH "` + title + `"`) }
func (r *roff) head(title string)    { r.line(".PP\n" + escape(title) + ":") }

func (r *roff) entry(term, text string, _ int) {
	r.line(".TP\n\\fB" + escape(term) + "\\fR\n" + escape(text))
}

// text writes paragraphs. Lines that begin with a space are kept as they are.
func (r *roff) text(s string) {
	kept, gap := false, false
	for _, p := range paragraphs(strings.TrimSpace(s)) {
		code := strings.HasPrefix(p, " ")
		switch {
		case p == "":
			gap = true
			continue
		case code && !kept:
			r.line(".PP\n.RS 4\n.nf")
		case !code && kept:
			r.line(".fi\n.RE\n.PP")
		case gap && kept:
			r.line("")
		case gap:
			r.line(".PP")
		}
		kept, gap = code, false
		r.line(escape(strings.TrimPrefix(p, "  ")))
	}
	if kept {
		r.line(".fi\n.RE")
	}
}

// escape escapes text for roff: hyphens that can be copied, no request at the beginning of a line, and ASCII only,
// because groff does not expect UTF-8 without an option.
func escape(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", "\\(ga", "^", `\(ha`, "~", `\(ti`).Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	var b strings.Builder
	for _, c := range s {
		if c < utf8.RuneSelf {
			b.WriteRune(c)
		} else {
			fmt.Fprintf(&b, `\[u%04X]`, c) // groff(7), mandoc_char(7)
		}
	}
	return b.String()
}

// The scripts ask the program for each completion, through the command Ask. They have no commands or flags of their
// own.
//
//go:embed shell
var scripts embed.FS

// Ask is the hidden command that completion scripts call: `arbiter __complete SHELL LINE [BREAKS]`. LINE is the command
// line up to the cursor, and BREAKS the characters at which bash breaks words.
const Ask = "__complete"

// Shells are the shells with a completion script.
var Shells = []string{"bash", "zsh", "fish"}

// ShellScript returns the completion script of a shell.
func ShellScript(shell string) (string, error) {
	text, err := scripts.ReadFile("shell/completion." + shell)
	if err != nil {
		return "", fmt.Errorf("there is no completion for %q: use one of %s", shell, strings.Join(Shells, ", "))
	}
	return string(text), nil
}

// Complete writes the completions of a line for a shell: one word per line, and at the end which files to add. For
// bash, each word starts after the last word break in it.
func Complete(w io.Writer, app *cli.App, shell, line, breaks string, values Values) {
	words := Split(line)
	last := len(words) - 1
	word := words[last]
	o := ReadLine(app, words[min(1, last):last]).offer(word, values)
	skip := 0
	if shell == "bash" {
		skip = strings.LastIndexAny(word, breaks) + 1
	}
	for _, e := range o.Words {
		switch {
		case strings.ContainsAny(e.Term, " \t\n'\"\\$`();&|<>*?[]#~!{}"): // it would need quotes
		case shell == "bash":
			fmt.Fprintln(w, e.Term[min(skip, len(e.Term)):])
		default:
			fmt.Fprintf(w, "%s\t%s\n", e.Term, Wrap(e.Text, 70)[0])
		}
	}
	switch {
	case o.Files:
		fmt.Fprintln(w, ":files")
	case o.Dirs:
		fmt.Fprintln(w, ":dirs")
	}
}

// wordParts matches what words of a command line consist of, and the space between words. A quote may be open.
var wordParts = Pattern(`(?s)[ \t]+|'([^']*)'?|"((?:[^"\\]|\\.)*)"?|\\(.?)|[^ \t'"\\]+`)

// Split splits a line into words like a shell, as far as quotes are concerned. The last word is the one being typed;
// it is empty after a space.
func Split(line string) []string {
	words, inside := []string{""}, false
	for _, m := range wordParts().FindAllStringSubmatch(line, -1) {
		word := &words[len(words)-1]
		switch part := m[0]; part[0] {
		case ' ', '\t':
			if inside {
				words = append(words, "")
			}
			inside = false
			continue
		case '"':
			*word += strings.NewReplacer(`\\`, `\`, `\`, "").Replace(m[2])
		case '\'', '\\':
			*word += m[1] + m[3]
		default:
			*word += part
		}
		inside = true
	}
	return words
}

// Meant returns a question with the known words that word may stand for, or "" if there are none, or too many. They
// are those with the fewest typing errors, at most one per three letters, and those that start with word. (The
// library's suggestions name a word however far it is.)
func Meant(word string, known []string) string {
	var near []string
	best := max(1, len(word)/3)
	for _, k := range known {
		n := words.Slips(word, k)
		if len(word) > 1 && strings.HasPrefix(k, word) {
			n = min(n, 1)
		}
		if n < best {
			best, near = n, nil
		}
		if n == best {
			near = append(near, k)
		}
	}
	if len(near) == 0 || len(near) > 3 {
		return ""
	}
	slices.Sort(near)
	return "did you mean " + strings.Join(near, " or ") + "?"
}

// Root returns the program itself as a command. HelpName is the path of each command, such as arbiter sessions show.
func Root(app *cli.App) *cli.Command {
	app.Setup() // it would change the names later
	root := &cli.Command{
		Name: app.Name, HelpName: app.Name, Usage: app.Usage, UsageText: app.UsageText, Description: app.Description,
		ArgsUsage: app.ArgsUsage, Flags: app.Flags, Subcommands: app.Commands,
	}
	for _, c := range root.Subcommands {
		c.HelpName = root.Name + " " + c.Name
		for _, sub := range c.Subcommands {
			sub.HelpName = c.HelpName + " " + sub.Name
		}
	}
	return root
}

// All returns the program and its commands, each before its subcommands.
func All(app *cli.App) []*cli.Command {
	list := []*cli.Command{Root(app)}
	for _, c := range list[0].VisibleCommands() {
		list = append(append(list, c), c.VisibleCommands()...)
	}
	return list
}

// Synopsis returns the possible invocations of a command.
func Synopsis(c *cli.Command) []string {
	list := []string{strings.TrimSpace(c.HelpName + " [flags] " + c.ArgsUsage)}
	if c.UsageText != "" {
		list = strings.Split(c.UsageText, "\n")
	} else if len(c.Subcommands) > 0 {
		list = append(list, c.HelpName+" COMMAND [flags]")
	}
	return list
}

// Flag has the documentation of a flag.
type Flag struct {
	Name     string
	Value    string // placeholder: RUN, DIR, on|auto|off; empty: it takes no value
	About    string
	Default  string // empty: no default, or About has it
	Env      string
	Category string
	Repeats  bool
}

var helpFlag = Flag{Name: "help", About: "show this help"}

// Flags returns the flags of a command.
func Flags(c *cli.Command) (list []Flag) {
	for _, f := range c.VisibleFlags() {
		list = append(list, FlagDoc(f))
	}
	return list
}

// FlagDoc reads the documentation of a flag, which must be one of urfave/cli. If the usage begins with the
// placeholder and a colon, both are removed from About.
func FlagDoc(flag cli.Flag) Flag {
	d := flag.(interface {
		cli.DocGenerationFlag
		cli.CategorizableFlag
	})
	t := Flag{Name: flag.Names()[0], About: d.GetUsage(), Category: d.GetCategory()}
	if s, ok := flag.(cli.DocGenerationSliceFlag); ok {
		t.Repeats = s.IsSliceFlag()
	}
	if len(d.GetEnvVars()) > 0 {
		t.Env = d.GetEnvVars()[0]
	}
	if !d.TakesValue() {
		return t
	}
	t.Value, t.Default = "TEXT", strings.Trim(d.GetDefaultText(), `"`)
	switch f := flag.(type) {
	case *cli.IntFlag, *cli.Float64Flag:
		t.Value = "N"
	case *cli.DurationFlag:
		t.Value, t.Default = "TIME", brief(f.Value.String())
	}
	if before, rest, ok := strings.Cut(t.About, "`"); ok {
		value, after, _ := strings.Cut(rest, "`")
		t.Value, t.About = value, before+value+after
		if text, ok := strings.CutPrefix(after, ": "); ok && before == "" {
			t.About = text
		}
	}
	return t
}

// brief formats a duration without zero parts: 10m, not 10m0s.
func brief(d string) string {
	if s, ok := strings.CutSuffix(d, "m0s"); ok {
		d = s + "m"
	}
	if s, ok := strings.CutSuffix(d, "h0m"); ok {
		d = s + "h"
	}
	return d
}

// Choices returns the words that a value must be one of; nil: any value.
func Choices(value string) []string {
	if !strings.Contains(value, "|") || value != strings.ToLower(value) {
		return nil
	}
	return strings.Split(value, "|")
}
