package view

import (
	"strings"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// gutter is the width of the prompt and a space, left of the text.
const gutter = 2

// view is where the text was last drawn, for the mouse.
type view struct{ x, y, w, h int }

// Rows returns how many rows the editor needs at a width, at most max.
func (c *Editor) Rows(width, max int) int {
	c.ed.lay(textWidth(width))
	rows := len(c.ed.starts)
	if c.headed() {
		rows++
	}
	return min(rows, max)
}

func textWidth(width int) int {
	if width > 2*gutter {
		return width - gutter
	}
	return max(width, 1)
}

// headed reports whether there is a row above the text.
func (c *Editor) headed() bool { return c.to != "" || c.strength != "" }

// header returns the row above the text: the recipient and the strength of the message. If there is too little room,
// the name is shortened, never the strength.
func (c *Editor) header(width int) render.Line {
	if c.strength == "" {
		return render.Of(c.toRole, render.Shorten(c.to, width, c.look.Glyphs.Ellipsis))
	}
	end := render.Of(strengthRole(c.strength), c.strength)
	if c.to == "" {
		return end
	}
	end = append(render.Of(render.Dim, " "+c.look.Glyphs.Separator+" "), end...)
	return append(render.Of(c.toRole, render.Shorten(c.to, width-end.Width(), c.look.Glyphs.Ellipsis)), end...)
}

func strengthRole(s string) render.Role {
	switch s {
	case "stop":
		return render.Bad
	case "steer":
		return render.Warn
	}
	return render.Dim
}

// Draw draws the editor into its rectangle.
func (c *Editor) Draw(screen tcell.Screen) {
	x, y, w, h := c.GetRect()
	canvas := render.On(screen, x, y, w, h, c.look)
	if w, h = canvas.Size(); w == 0 || h == 0 {
		c.shown = view{}
		return
	}
	canvas.Clear(render.Input)
	switch {
	case c.headed() && h > 1:
		canvas.Sub(0, 0, w, 1).Line(0, 0, c.header(w))
		canvas = canvas.Sub(0, 1, w, h-1)
		h--
	case c.headed(): // one row for both: the header has the left half at most
		header := c.header(max(w/2-1, 0))
		left := min(header.Width()+1, w/2)
		canvas.Sub(0, 0, left, 1).Line(0, 0, header)
		canvas = canvas.Sub(left, 0, w-left, 1)
		w -= left
	}
	if w > 2*gutter {
		canvas.Text(0, 0, c.look.Glyphs.Prompt, c.toRole)
		canvas = canvas.Sub(gutter, 0, w-gutter, h)
	}
	c.drawText(canvas)
}

// drawText draws the rows around the cursor.
func (c *Editor) drawText(canvas render.Canvas) {
	w, h := canvas.Size()
	x, y := canvas.Origin()
	c.shown = view{x, y, w, h}
	if w == 0 || h == 0 {
		return
	}
	ed := &c.ed
	ed.lay(w)
	if ed.text == "" && c.placeholder != "" {
		canvas.Text(0, 0, render.Shorten(c.placeholder, w, c.look.Glyphs.Ellipsis), render.Placeholder)
	}
	row := ed.row(ed.at)
	c.top = max(min(c.top, row, len(ed.starts)-h), 0)
	c.top = max(c.top, row-h+1)
	marks := c.marks()
	for i := range h {
		if c.top+i < len(ed.starts) {
			c.drawRow(canvas.Sub(0, i, w, 1), c.top+i, marks)
		}
	}
	if c.HasFocus() {
		canvas.Cursor(min(ed.column(ed.at), w-1), row-c.top)
	}
}

// editorMarks are the parts of the text that are drawn in another role.
type editorMarks struct{ from, until, name int }

func (c *Editor) marks() (m editorMarks) {
	text := c.ed.text
	m.from, m.until = c.ed.selected()
	if word := firstWord(text[:min(len(text), 64)]); slash(text) && !c.Plain {
		if _, ok := Lookup(word[1:]); ok {
			m.name = len(word)
		}
	}
	return m
}

func (m editorMarks) role(at int, p editorPiece) render.Role {
	switch {
	case at >= m.from && at < m.until:
		return render.Selection
	case p.id > 0:
		return render.Code
	case at < m.name:
		return render.Key
	}
	return render.Input
}

func (c *Editor) drawRow(canvas render.Canvas, row int, m editorMarks) {
	ed := &c.ed
	at, to, _ := ed.bounds(row)
	w, x := ed.walk(ed.text[at:to]), 0
	for w.rest != "" {
		p := w.next()
		n := min(p.columns(x), ed.columns)
		switch role := m.role(at, p); {
		case p.id > 0:
			canvas.Text(x, 0, render.Shorten(c.chips.byID[p.id].label, n, c.look.Glyphs.Ellipsis), role)
		case p.text == "\t":
			canvas.Text(x, 0, strings.Repeat(" ", n), role)
		case n > 0:
			canvas.Text(x, 0, p.text, role)
		}
		x += n
		at += len(p.text)
	}
}
