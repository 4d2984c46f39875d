package markdown

import (
	"strconv"
	"strings"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// MinSideBySide is the width from which two texts fit beside each other.
const MinSideBySide = 100

// SideBySide shows two texts beside each other, with line numbers: what an edit takes away on the left, what it puts in
// on the right, and so many lines of what stays around each change. What is not shown is counted.
func SideBySide(old, new, lang string, o Options, context int) []render.Line {
	d := differ{lay: layout{width: o.width(), glyphs: o.glyphs(), role: o.Role}}
	a, b := sourceLines(old), sourceLines(new)
	s := sides{differ: &d, digits: len(strconv.Itoa(max(len(a), len(b), 1))),
		before: roles(lang, old, len(a)), after: roles(lang, new, len(b)), a: a, b: b}
	edits := compare(a, b)
	if unchanged(edits) {
		return d.noChange()
	}
	for i := 0; i < len(edits); i++ {
		e := edits[i]
		if e.op == same {
			s.same(e, context, i == 0, i == len(edits)-1)
			continue
		}
		var gone, came edit
		for ; i < len(edits) && edits[i].op != same; i++ { // what is taken away and put in at one place
			if edits[i].op == removed {
				gone = edits[i]
			} else {
				came = edits[i]
			}
		}
		i--
		for n := range max(gone.n, came.n) {
			s.row(pick(gone, gone.a, n), pick(came, came.b, n), true)
		}
	}
	if d.left > 0 {
		d.note(d.left, "more")
	}
	return d.out
}

// pick is the number of a line of an edit, from 0; -1: it has not as many.
func pick(e edit, first, n int) int {
	if n >= e.n {
		return -1
	}
	return first + n
}

// sides lays two texts out beside each other.
type sides struct {
	*differ
	digits        int // of a line number
	a, b          []string
	before, after []render.Line // the texts with their roles, if their language is known
}

// same shows what stays around a change.
func (s *sides) same(e edit, context int, first, last bool) {
	head, tail := e.kept(context, first, last)
	for i := range e.n {
		if i == head && head+tail < e.n && s.left == 0 {
			s.note(e.n-head-tail, "")
		}
		if i < head || i >= e.n-tail {
			s.row(e.a+i, e.b+i, false)
		}
	}
}

// row shows a line of each text; -1 is none.
func (s *sides) row(a, b int, changed bool) {
	if s.shown++; s.shown > maxDiffRows {
		s.left++
		return
	}
	half := (s.lay.width - 1) / 2
	left := s.half(s.a, s.before, a, half, render.DiffRemove, changed)
	right := s.half(s.b, s.after, b, s.lay.width-1-half, render.DiffAdd, changed)
	if gap := half - left.Width(); gap > 0 {
		left = left.Append(render.Base, strings.Repeat(" ", gap))
	}
	line := append(left.Append(render.Frame, s.lay.glyphs.Vertical), right...)
	s.out = append(s.out, line)
}

// half is a line behind its number, in so many columns.
func (s *sides) half(text []string, styled []render.Line, n, columns int, role render.Role, changed bool) render.Line {
	if n < 0 {
		return nil
	}
	number := strconv.Itoa(n + 1)
	head := render.Of(render.Dim, strings.Repeat(" ", s.digits-len(number))+number+" ")
	line := render.Of(role, strings.TrimSuffix(text[n], "\r"))
	if !changed {
		line = render.Of(render.Code, strings.TrimSuffix(text[n], "\r"))
		if n < len(styled) {
			line = styled[n]
		}
	}
	free := max(columns-s.digits-1, 1)
	rows := render.Cut(line, free)
	switch {
	case len(rows) == 0:
		return head
	case len(rows) > 1:
		rows[0] = render.Cut(line, max(free-1, 1))[0].Append(render.Dim, s.lay.glyphs.Ellipsis)
	}
	return append(head, rows[0]...)
}
