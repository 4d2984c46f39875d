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
	d := differ{lay: layout{width: o.width(), glyphs: o.glyphs(), role: o.Role}}
	a, b := sourceLines(old), sourceLines(new)
	edits := compare(a, b)
	if unchanged(edits) {
		return d.noChange()
	}
	d.before, d.after = roles(lang, old, len(a)), roles(lang, new, len(b))
	for i, e := range edits {
		switch e.op {
		case removed:
			d.rows(render.DiffRemove, "- ", a, d.before, e.a, e.n)
		case added:
			d.rows(render.DiffAdd, "+ ", b, d.after, e.b, e.n)
		case same:
			d.around(e, max(context, 0), i == 0, i == len(edits)-1)
		}
	}
	return d.end()
}

func unchanged(edits []edit) bool { return len(edits) == 1 && edits[0].op == same }

func (d *differ) noChange() []render.Line {
	return d.lay.fit(render.Wrap(render.Of(render.Dim, "(no line differs)"), d.lay.width))
}

// kept returns how many of the first and of the last lines of an unchanged edit are shown: context lines
// around each change, and all of them if the count of the others would take as much room.
func (e edit) kept(context int, first, last bool) (head, tail int) {
	head, tail = min(context, e.n), min(context, e.n)
	if first {
		head = 0
	}
	if last {
		tail = 0
	}
	if head+tail+1 >= e.n {
		head = e.n - tail
	}
	return head, tail
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

// around shows context unchanged lines beside a change, and counts the others.
func (d *differ) around(e edit, context int, first, last bool) {
	head, tail := e.kept(context, first, last)
	skipped := e.n - head - tail
	for i := range head {
		d.context(e, i)
	}
	if skipped > 0 && d.left == 0 {
		d.note(skipped, "")
	}
	for i := e.n - tail; i < e.n; i++ {
		d.context(e, i)
	}
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

// note reports how many lines are not shown.
func (d *differ) note(n int, more string) {
	g := d.lay.glyphs
	text := fmt.Sprintf("%s %d lines", g.Ellipsis, n)
	if n == 1 {
		text = g.Ellipsis + " 1 line"
	}
	text = render.Shorten(strings.TrimSpace(text+" "+more), d.lay.width, g.Ellipsis)
	d.out = append(d.out, render.Of(render.DiffHunk, text))
}
