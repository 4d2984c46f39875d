package manual

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
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
	p.line(strings.Join(wrap(c.HelpName+" - "+c.Usage, width-4), "\n    "))
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
			if same(f) {
				p.entry(f.Term(), f.text(), 24)
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

// text returns the description of the flag with its default and its environment variable.
func (f Flag) text() string {
	text := f.About
	if f.Repeats {
		text += " (repeatable)"
	}
	nought := (f.Default == "0" || f.Default == "0s") && !strings.Contains(text, "0: ")
	if f.Default != "" && !nought && !strings.Contains(text, "(default: ") {
		text += " (default: " + f.Default + ")"
	}
	if f.Env != "" {
		text += " [$" + f.Env + "]"
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
	for _, l := range wrap(text, width-indent-2) {
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
		p.line(strings.Join(wrap(par, width), "\n"))
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

// wrap breaks text into lines. A word that is too long gets a line of its own.
func wrap(text string, width int) []string {
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
