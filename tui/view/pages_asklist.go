package view

import (
	"strings"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// AskList is the list of items that a dialog can be about. It is at the top of the dialog.
type AskList struct {
	Rows []AskRow
	At   int // the current item
}

// AskRow is a row of it. The right part is kept, and the left part is shortened.
type AskRow struct {
	Left  render.Line
	Right string
}

// pageWindow is the visible part of a list.
type pageWindow struct{ x, y, w, first, rows int }

// listed lays out the list for a height: few rows, so that most of the height is left to the question, and
// a rule below if there is room.
func (a *Ask) listed(inner, h int) []render.Line {
	l := a.data.List
	a.listWindow = pageWindow{}
	if l == nil || len(l.Rows) == 0 {
		return nil
	}
	rows := min(len(l.Rows), max(h/5, 1))
	first := max(min(l.At-rows/2, len(l.Rows)-rows), 0)
	a.listWindow = pageWindow{first: first, rows: rows}
	var lines []render.Line
	for i, r := range l.Rows[first : first+rows] {
		lines = append(lines, a.listRow(r, first+i == l.At, inner))
	}
	if h >= 14 {
		lines = append(lines, render.Of(render.Frame, strings.Repeat(a.look.Glyphs.Horizontal, inner)))
	}
	return lines
}

func (a *Ask) listRow(r AskRow, at bool, inner int) render.Line {
	mark := render.Span{Text: "  ", Role: render.Base}
	if at {
		mark = render.Span{Text: a.look.Glyphs.Chosen + " ", Role: render.Key}
	}
	right := render.Width(r.Right)
	if right > inner/3 {
		right = -1 // otherwise no room would be left
	}
	l := append(render.Line{mark}, r.Left.Shorten(max(inner-right-3, 0), a.look.Glyphs.Ellipsis)...)
	if right < 0 {
		return l
	}
	return append(l, render.Span{Text: strings.Repeat(" ", max(inner-l.Width()-right, 1)) + r.Right, Role: render.Dim})
}

// Row returns the row of the list that is drawn at a place of the screen.
func (a *Ask) Row(x, y int) (int, bool) {
	w := a.listWindow
	if x < w.x || x >= w.x+w.w || y < w.y || y >= w.y+w.rows {
		return 0, false
	}
	return w.first + y - w.y, true
}

// Renew replaces the description of the same question: the current answer and the reading state stay.
func (a *Ask) Renew(d AskData) {
	a.data, a.width = d, -1
	a.focus = max(min(a.focus, len(d.Choices)-1), 0)
}

// Follow scrolls the body to its end when it is drawn.
func (a *Ask) Follow() { a.top = 1 << 30 }
