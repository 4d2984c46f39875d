package manual

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
)

// Roff writes the manual page, section 1, in the macros of man(7).
func Roff(w io.Writer, app *cli.App, words Words, version string) error {
	r := &roff{}
	r.macro("TH", strings.ToUpper(app.Name), "1", "", app.Name+" "+version, "")
	all := All(app)
	root := all[0]
	r.line(".nh\n.ad l") // do not hyphenate or justify commands
	r.section("NAME")
	r.line(app.Name + ` \- ` + escape(root.Usage))
	r.section("SYNOPSIS")
	for i, s := range root.Synopsis {
		if i > 0 {
			r.line(".br")
		}
		r.line(escape(s))
	}
	r.section("DESCRIPTION")
	r.text(root.Description)
	r.section("OPTIONS")
	r.flags(root)
	r.section("COMMANDS")
	for _, c := range all[1:] {
		r.macro("SS", c.Name())
		for _, s := range c.Synopsis {
			r.line(`\fB` + escape(s) + `\fR`)
			r.line(".br")
		}
		r.line(".PP")
		r.text(strings.ToUpper(c.Usage[:1]) + c.Usage[1:] + ".\n\n" + c.Description)
		r.flags(c)
	}
	for _, s := range []struct {
		title string
		list  []Entry
	}{{"EXIT STATUS", words.Exits}, {"SIGNALS", words.Signals}, {"ENVIRONMENT", words.Environment},
		{"FILES", words.Files}, {"EXAMPLES", words.Examples}} {
		r.section(s.title)
		for _, e := range s.list {
			r.entry(e.Term, e.Text)
		}
	}
	r.section("SEE ALSO")
	r.line(`\fBclaude\fR(1), \fBbwrap\fR(1)`)
	_, err := io.WriteString(w, r.String())
	return err
}

// roff collects lines.
type roff struct{ strings.Builder }

func (r *roff) line(s string) { fmt.Fprintln(r, s) }

func (r *roff) macro(name string, args ...string) {
	for i, a := range args {
		args[i] = `"` + strings.ReplaceAll(escape(a), `"`, `\(dq`) + `"`
	}
	r.line("." + name + " " + strings.Join(args, " "))
}

func (r *roff) section(title string) { r.macro("SH", title) }

func (r *roff) entry(term, text string) {
	r.line(".TP")
	r.line(`\fB` + escape(term) + `\fR`)
	r.line(escape(text))
}

// flags writes the flags of a command, under their headings.
func (r *roff) flags(c Command) {
	flags := c.FlagDocs()
	for i, category := range categories(flags) {
		if category != "" {
			if i > 0 {
				r.line(".PP")
			}
			r.line(escape(category) + ":")
		}
		for _, f := range flags {
			if f.Category == category {
				r.entry(f.Term(), f.text())
			}
		}
	}
}

// text writes paragraphs. Lines that begin with a space are kept as they are.
func (r *roff) text(s string) {
	kept, gap := false, false
	for _, p := range paragraphs(strings.TrimSpace(s)) {
		if p.text == "" {
			gap = true
			continue
		}
		switch {
		case p.verbatim && !kept:
			r.line(".PP\n.RS 4\n.nf")
		case !p.verbatim && kept:
			r.line(".fi\n.RE\n.PP")
		case gap && kept:
			r.line("")
		case gap:
			r.line(".PP")
		}
		kept, gap = p.verbatim, false
		r.line(escape(strings.TrimPrefix(p.text, "  ")))
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
