package markdown

import (
	"strconv"
	"strings"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// MinSideBySide is the minimum width for two texts beside each other.
const MinSideBySide = 100

// SideBySide shows a hunk with line numbers, the old text on the left and the new one on the right. A long hunk is cut,
// and the rest is counted.
func (c *Comparison) SideBySide(h Hunk, o Options) []render.Line {
	d := c.differ(o)
	s := sides{differ: &d, digits: len(strconv.Itoa(max(len(c.a), len(c.b), 1))), a: c.a, b: c.b}
	edits := h.edits
	for i := 0; i < len(edits); i++ {
		e := edits[i]
		if e.op == same {
			for n := range e.n {
				s.row(e.a+n, e.b+n, false)
			}
			continue
		}
		var deleted, inserted edit
		for ; i < len(edits) && edits[i].op != same; i++ { // removed and added lines at one place
			if edits[i].op == removed {
				deleted = edits[i]
			} else {
				inserted = edits[i]
			}
		}
		i--
		for n := range max(deleted.n, inserted.n) {
			s.row(pick(deleted, deleted.a, n), pick(inserted, inserted.b, n), true)
		}
	}
	return d.end()
}

// pick returns the number of a line of an edit, from 0; -1 if it does not exist.
func pick(e edit, first, n int) int {
	if n >= e.n {
		return -1
	}
	return first + n
}

// sides lays out two texts beside each other.
type sides struct {
	*differ
	digits int // of a line number
	a, b   []string
}

// row shows a line of each text; -1 stands for no line.
func (s *sides) row(a, b int, changed bool) {
	if s.shown++; s.shown > maxDiffRows {
		s.left++
		return
	}
	half := (s.lay.width - 1) / 2
	removed, added := render.Of(render.DiffRemove, "-"), render.Of(render.DiffAdd, "+")
	if !changed {
		removed, added = render.Of(render.Dim, " "), render.Of(render.Dim, " ")
	}
	left := s.half(s.a, s.before, a, half, removed)
	right := s.half(s.b, s.after, b, s.lay.width-1-half, added)
	if gap := half - left.Width(); gap > 0 {
		left = left.Append(render.Base, strings.Repeat(" ", gap))
	}
	line := append(left.Append(render.Frame, s.lay.glyphs.Vertical), right...)
	s.out = append(s.out, line)
}

// half lays out a line behind its number and its sign, in so many columns.
func (s *sides) half(text []string, styled []render.Line, n, columns int, sign render.Line) render.Line {
	if n < 0 {
		return nil
	}
	number := strconv.Itoa(n + 1)
	head := append(render.Of(render.Dim, strings.Repeat(" ", s.digits-len(number))+number), sign...)
	role := sign[0].Role
	if role == render.Dim {
		role = render.Code
	}
	line := changedLine(text, styled, n, role)
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
