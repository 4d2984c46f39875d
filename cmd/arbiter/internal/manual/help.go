package manual

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
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

// Help writes the help of a command. words are used for the program itself only.
func Help(w io.Writer, c Command, words Words) {
	p := &page{}
	for i, l := range wrap(c.Name()+" - "+c.Usage, width-4) {
		p.line(strings.Repeat("    ", min(i, 1)) + l)
	}
	p.head("Usage")
	for _, s := range c.Synopsis {
		p.line("  " + s)
	}
	if c.Description != "" {
		p.line("")
		p.text(c.Description)
	}
	if len(c.Commands) > 0 {
		p.head("Commands")
		for _, b := range c.Commands {
			p.entry(b.Name, b.Usage, 12)
		}
	}
	flags, last := c.FlagDocs(), ""
	if len(c.Path) == 1 {
		last = flags[len(flags)-1].Category
	}
	flags = append(flags, Flag{Name: "help", About: "show this help", Category: last})
	for _, category := range categories(flags) {
		p.head(orElse(category, "Flags"))
		for _, f := range flags {
			if f.Category == category {
				p.entry(f.Term(), f.text(), 24)
			}
		}
	}
	if len(c.Path) == 1 {
		p.entries("Exit codes", words.Exits, 5)
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

// categories returns the categories of flags in the order of their first use.
func categories(flags []Flag) []string {
	var list []string
	for _, f := range flags {
		if !slices.Contains(list, f.Category) {
			list = append(list, f.Category)
		}
	}
	return list
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

// page collects lines.
type page struct{ strings.Builder }

func (p *page) line(s string)     { fmt.Fprintln(p, strings.TrimRight(s, " ")) }
func (p *page) head(title string) { p.line("\n" + title + ":") }

func (p *page) entries(title string, list []Entry, indent int) {
	if len(list) == 0 {
		return
	}
	p.head(title)
	for _, e := range list {
		p.entry(e.Term, e.Text, indent)
	}
}

// entry writes the text next to the term if there is room, or else below it.
func (p *page) entry(term, text string, indent int) {
	lines := wrap(text, width-indent-2)
	first := "  " + term
	if n := utf8.RuneCountInString(first); n <= indent {
		p.line(first + strings.Repeat(" ", indent+2-n) + lines[0])
		lines = lines[1:]
	} else {
		p.line(first)
	}
	for _, l := range lines {
		p.line(strings.Repeat(" ", indent+2) + l)
	}
}

// text writes paragraphs. Lines that begin with a space are kept as they are.
func (p *page) text(s string) {
	for _, par := range paragraphs(s) {
		if par.verbatim {
			p.line(par.text)
			continue
		}
		for _, l := range wrap(par.text, width) {
			p.line(l)
		}
	}
}

// paragraph is text to wrap, a verbatim line, or an empty separator.
type paragraph struct {
	text     string
	verbatim bool
}

func paragraphs(s string) (list []paragraph) {
	for line := range strings.Lines(s) {
		line = strings.TrimRight(line, "\n ")
		last := len(list) - 1
		switch {
		case line == "" || line[0] == ' ':
			list = append(list, paragraph{line, true})
		case last >= 0 && !list[last].verbatim:
			list[last].text += " " + line
		default:
			list = append(list, paragraph{text: line})
		}
	}
	return list
}

// wrap breaks text into lines. A word that is too long gets a line of its own.
func wrap(text string, width int) (lines []string) {
	line, n := "", 0
	for word := range strings.FieldsSeq(text) {
		size := utf8.RuneCountInString(word)
		if n > 0 && n+1+size > width {
			lines, line, n = append(lines, line), "", 0
		}
		if n > 0 {
			line, n = line+" ", n+1
		}
		line, n = line+word, n+size
	}
	return append(lines, line)
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
