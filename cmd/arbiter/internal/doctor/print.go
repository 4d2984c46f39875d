package doctor

import (
	"fmt"
	"io"
	"slices"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// Style is how a report is printed for a person.
type Style struct {
	ASCII  bool
	Colour bool
}

// maxLine bounds found and fixes; only an unusually long path exceeds it.
const maxLine = 1000

var (
	signs = map[State][2]string{OK: {"✓", "+"}, Note: {"·", "-"}, Warn: {"!", "!"}, Fail: {"✗", "x"}}
	// colours are from the terminal's own palette, so that they fit its background.
	colours = map[State]string{OK: "32", Note: "36", Warn: "33", Fail: "31"}
)

// Print writes the report as lines for a person.
func (r Report) Print(w io.Writer, s Style) error {
	p := printer{w: w, s: s}
	area, width := "", 0
	for _, f := range r.Findings {
		width = max(width, len([]rune(f.Name)))
	}
	for _, f := range r.Findings {
		if f.Area != area {
			if area != "" {
				p.line("")
			}
			area = f.Area
			p.line("%s", p.painted("1", area))
		}
		p.line("%s %-*s  %s", p.sign(f.State), width, f.Name, sanitize.Line(sanitize.Redact(f.Found), maxLine))
		if f.Fix != "" {
			p.line("  %-*s  %s %s", width, "", p.arrow(), sanitize.Line(f.Fix, maxLine))
		}
	}
	p.line("")
	over := r.State
	if over == Note {
		over = OK
	}
	p.line("%s %s", p.sign(over), r.verdict())
	return p.err
}

// verdict returns the last line.
func (r Report) verdict() string {
	warnings := ""
	if n := r.Counts[Warn]; n > 0 {
		warnings = ", " + words.Count(n, "warning")
	}
	if n := r.Counts[Fail]; n > 0 {
		text := "A run cannot start here, or would fail: " + words.Count(n, "failure") + warnings + "."
		if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.State == Fail && f.Area != AreaClaude }) {
			text += " A rehearsal can: arbiter --rehearse"
		}
		return text
	}
	return "A run can start here" + warnings + "."
}

// printer keeps the first write error.
type printer struct {
	w   io.Writer
	s   Style
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

func (p *printer) sign(s State) string {
	if p.s.ASCII {
		return p.painted(colours[s], signs[s][1])
	}
	return p.painted(colours[s], signs[s][0])
}

func (p *printer) arrow() string {
	if p.s.ASCII {
		return "->"
	}
	return "→"
}

func (p *printer) painted(colour, text string) string {
	if !p.s.Colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}
