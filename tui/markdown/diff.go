package markdown

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// maxDiffRows is how many lines of source a difference shows.
const maxDiffRows = 2000

// Diff shows what an edit removes and adds, with context unchanged lines around each change. It counts the
// lines that are not shown.
func Diff(old, new, lang string, o Options, context int) []render.Line {
	c := Compare(old, new, lang, max(context, 0))
	d := c.differ(o)
	at := 0
	skip := func(to int) {
		if to == at+1 {
			d.context(edit{b: at, text: c.b[at:to]}, 0) // its count would take as much room
			return
		}
		d.note(to-at, "")
	}
	for _, h := range c.Hunks {
		skip(h.After)
		d.hunk(c, h)
		at = h.After + h.AfterLines
	}
	if len(c.Hunks) == 0 {
		return d.lay.fit(render.Wrap(render.Of(render.Dim, "(no line differs)"), d.lay.width))
	}
	if d.left == 0 {
		skip(len(c.b))
	}
	return d.end()
}

// sourceLines splits a text. A newline at its end does not begin another line.
func sourceLines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// roles returns the text with the roles of its language.
func roles(lang, src string, n int) []render.Line {
	if n == 0 || find(lang) == nil {
		return nil
	}
	return Highlight(lang, src)[:n]
}

// differ lays out edits.
type differ struct {
	lay           layout
	before, after []render.Line // the texts with their roles, if their language is known
	out           []render.Line
	shown, left   int // lines
}

// rows shows n lines that are only in one of the texts, beginning at from.
func (d *differ) rows(role render.Role, sign string, text []string, styled []render.Line, from, n int) {
	for i := range n {
		d.row(role, sign, changedLine(text, styled, from+i, role))
	}
}

// changedLine returns a line that is only in one of the texts. Its tokens keep the roles of their language;
// text without one gets the role of the change.
func changedLine(text []string, styled []render.Line, n int, role render.Role) render.Line {
	if n >= len(styled) {
		return render.Of(role, strings.TrimSuffix(text[n], "\r"))
	}
	line := slices.Clone(styled[n])
	for i := range line {
		if line[i].Role == render.Code {
			line[i].Role = role
		}
	}
	return line
}

func (d *differ) context(e edit, i int) {
	line := render.Of(render.Code, e.text[i])
	if d.after != nil && e.b+i < len(d.after) {
		line = d.after[e.b+i]
	}
	d.row(render.Dim, "  ", line)
}

// row shows one line behind its sign.
func (d *differ) row(role render.Role, sign string, line render.Line) {
	if d.shown++; d.shown > maxDiffRows {
		d.left++
		return
	}
	l := d.lay
	if l.width < roomy {
		sign = sign[:1]
	}
	if l.width < 3 {
		sign = ""
	}
	l.width -= len(sign)
	rest := strings.Repeat(" ", max(len(sign)-1, 0)) + l.glyphs.Ellipsis
	if sign == "" {
		rest = ""
	}
	rows := prefixed(l.fit(render.Cut(line, l.width)), render.Of(role, sign), render.Of(render.Dim, rest))
	d.out = append(d.out, rows...)
}

// note reports how many lines are not shown, if there are any.
func (d *differ) note(n int, more string) {
	g := d.lay.glyphs
	if n <= 0 {
		return
	}
	text := fmt.Sprintf("%s %d lines", g.Ellipsis, n)
	if n == 1 {
		text = g.Ellipsis + " 1 line"
	}
	text = render.Shorten(strings.TrimSpace(text+" "+more), d.lay.width, g.Ellipsis)
	d.out = append(d.out, render.Of(render.DiffHunk, text))
}
