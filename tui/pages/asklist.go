package pages

import (
	"strings"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// AskList is the list of what a dialog can be about. It stands above all else of the dialog.
type AskList struct {
	Rows []AskRow
	At   int // the one that the dialog is about
}

// AskRow is a row of it. What stands at the right is kept, and the rest is shortened.
type AskRow struct {
	Left  render.Line
	Right string
}

// window is the part of a list that is in sight.
type window struct{ x, y, w, first, rows int }

// listed lays the list out for a height: as many rows as leave the most of it to what is asked, and a rule below where
// there is room.
func (a *Ask) listed(inner, h int) []render.Line {
	l := a.data.List
	a.listWindow = window{}
	if l == nil || len(l.Rows) == 0 {
		return nil
	}
	rows := min(len(l.Rows), max(h/5, 1))
	first := max(min(l.At-rows/2, len(l.Rows)-rows), 0)
	a.listWindow = window{first: first, rows: rows}
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
		right = -1 // it would leave no room
	}
	l := append(render.Line{mark}, r.Left.Shorten(max(inner-right-3, 0), a.look.Glyphs.Ellipsis)...)
	if right < 0 {
		return l
	}
	return append(l, render.Span{Text: strings.Repeat(" ", max(inner-l.Width()-right, 1)) + r.Right, Role: render.Dim})
}

// Row is the row of the list that is drawn at a place of the screen.
func (a *Ask) Row(x, y int) (int, bool) {
	w := a.listWindow
	if x < w.x || x >= w.x+w.w || y < w.y || y >= w.y+w.rows {
		return 0, false
	}
	return w.first + y - w.y, true
}

// Renew replaces the description of the same question: the current answer and what was read stay.
func (a *Ask) Renew(d AskData) {
	a.data, a.width = d, -1
	a.focus = max(min(a.focus, len(d.Choices)-1), 0)
}

// Follow scrolls the body to its end, as long as that may be when it is drawn.
func (a *Ask) Follow() { a.top = 1 << 30 }
