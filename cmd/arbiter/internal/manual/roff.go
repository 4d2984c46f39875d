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
