// Package render draws text into the cells of a screen. It uses roles, not colours: a [Theme] gives each
// [Role] its style, [Glyphs] each mark its shape, and a [Canvas] is the only way to the screen – it draws
// only whole grapheme clusters, inside its own rectangle.
//
// Text is cut, measured and wrapped here by the widths that tcell uses for drawing, so that measured and
// drawn widths agree. Markup of the widget library has no meaning here, and control characters are never
// drawn.
//
// What agents write, Markdown, code and differences, becomes lines of roles here: [Markdown], [Highlight], [Diff].
//
// Values are immutable after they are made; everything belongs to the goroutine that draws.
package render

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/gdamore/tcell/v2"
)

// Look is how everything is drawn: one for a whole screen, whose content changes with the theme.
type Look struct {
	Theme  *Theme
	Glyphs *Glyphs
	Still  bool // no motion except that of news
}

// Canvas is a rectangle of a screen. Everything drawn on it stays inside of it.
type Canvas struct {
	Look       *Look
	screen     tcell.Screen
	x, y, w, h int
}

// On returns a canvas for a rectangle of the screen; the part outside of the screen is cut off.
func On(screen tcell.Screen, x, y, w, h int, look *Look) Canvas {
	sw, sh := screen.Size()
	return Canvas{Look: look, screen: screen, w: sw, h: sh}.Sub(x, y, w, h)
}

// Size returns the number of columns and rows.
func (c Canvas) Size() (columns, rows int) { return c.w, c.h }

// Origin returns the position of the canvas on the screen.
func (c Canvas) Origin() (x, y int) { return c.x, c.y }

// Sub returns a part of the canvas.
func (c Canvas) Sub(x, y, w, h int) Canvas {
	if x < 0 {
		x, w = 0, w+x
	}
	if y < 0 {
		y, h = 0, h+y
	}
	x, y = min(x, c.w), min(y, c.h)
	s := c
	s.x, s.y = c.x+x, c.y+y
	s.w, s.h = max(min(w, c.w-x), 0), max(min(h, c.h-y), 0)
	return s
}

// Clear fills the canvas with blanks in a role.
func (c Canvas) Clear(r Role) {
	style := c.Look.Theme.Style(r)
	if w, h := c.screen.Size(); c.x == 0 && c.y == 0 && c.w == w && c.h == h { // this is how most frames begin
		c.screen.Fill(' ', style)
		return
	}
	for y := range c.h {
		c.part(0, y)
		for x := range c.w {
			c.screen.Put(c.x+x, c.y+y, " ", style)
		}
	}
}

// part replaces a wide character that begins left of the column and extends over it by a blank: otherwise
// the terminal would draw it over the new text. It may be left of the canvas.
func (c Canvas) part(x, y int) {
	if x += c.x; x == 0 {
		return
	}
	if _, style, width := c.screen.Get(x-1, c.y+y); width > 1 {
		c.screen.Put(x-1, c.y+y, " ", style)
	}
}

// Text draws s from column x of row y on and returns the column after it. Text that does not fit is not
// drawn; a wide character that would be cut in two becomes a blank.
func (c Canvas) Text(x, y int, s string, r Role) int {
	if y < 0 || y >= c.h {
		return x + Width(s)
	}
	style, start := c.Look.Theme.Style(r), x
	if s != "" && x < c.w {
		c.part(max(x, 0), y)
	}
	for s != "" && x < c.w {
		var cluster string
		var width int
		cluster, s, width = first(s)
		if c.Look.Glyphs == ASCII && cluster[0] >= utf8.RuneSelf {
			r, _ := utf8.DecodeRuneInString(cluster)
			cluster = cmp.Or(plainer()[r], cluster)
		}
		if cluster == "\t" {
			cluster, width = "", tabStop-(x-start)%tabStop
		}
		if width == 0 || control(cluster) {
			continue
		}
		c.put(x, y, cluster, width, style)
		x += width
	}
	return x
}

// put draws a cluster. A cluster that is cut, or that is not one, becomes blank in the room that there is.
func (c Canvas) put(x, y int, cluster string, width int, style tcell.Style) {
	whole := x >= 0 && x+width <= c.w && cluster != ""
	switch {
	case whole && width > 2: // dashes of two or three ems, which terminals draw in one column
		cluster, whole = "—", false
	case whole && !utf8.ValidString(cluster): // a terminal may interpret such a byte as a control
		cluster = "\ufffd"
	case !whole:
		cluster = " "
	}
	for i := max(x, 0); i < min(x+width, c.w); i++ {
		if whole && i > x {
			cluster = " " // the rest of a wide character that was overwritten
		}
		c.screen.Put(c.x+i, c.y+y, cluster, style)
	}
}

// control reports whether a cluster contains characters that a terminal interprets. Sanitised text never
// does.
func control(cluster string) bool {
	return strings.IndexFunc(cluster, func(r rune) bool { return r < ' ' || r >= 0x7f && r <= 0x9f }) >= 0
}

// Line draws a line from column x of row y on and returns the column after it.
func (c Canvas) Line(x, y int, l Line) int {
	for _, s := range l {
		x = c.Text(x, y, s.Text, s.Role)
	}
	return x
}

// Lines draws one line a row from row y on, and returns the row after them.
func (c Canvas) Lines(y int, lines []Line) int {
	for _, l := range lines {
		c.Line(0, y, l)
		y++
	}
	return y
}

// Center draws a line in the middle of a row.
func (c Canvas) Center(y int, l Line) { c.Line(max((c.w-l.Width())/2, 0), y, l) }

// Right draws a line at the right end of a row.
func (c Canvas) Right(y int, l Line) { c.Line(max(c.w-l.Width(), 0), y, l) }

// Rule draws a horizontal line across row y.
func (c Canvas) Rule(y int, r Role) { c.Text(0, y, strings.Repeat(c.Look.Glyphs.Horizontal, c.w), r) }

// Frame draws a border with a title around the canvas, and returns the inside.
func (c Canvas) Frame(title Line, r Role) Canvas {
	if c.w < 2 || c.h < 2 {
		return c.Sub(0, 0, 0, 0)
	}
	g := c.Look.Glyphs
	bar := strings.Repeat(g.Horizontal, c.w-2)
	c.Text(0, 0, g.TopLeft+bar+g.TopRight, r)
	c.Text(0, c.h-1, g.BottomLeft+bar+g.BottomRight, r)
	for y := 1; y < c.h-1; y++ {
		c.Text(0, y, g.Vertical, r)
		c.Text(c.w-1, y, g.Vertical, r)
	}
	if len(title) > 0 && c.w > 6 {
		title = title.Shorten(c.w-6, g.Ellipsis)
		head := c.Sub(2, 0, min(title.Width()+2, c.w-4), 1)
		x := head.Text(0, 0, " ", r)
		head.Text(head.Line(x, 0, title), 0, " ", r)
	}
	return c.Sub(1, 1, c.w-2, c.h-2)
}

// Restyle gives n columns of row y another role and leaves their text.
func (c Canvas) Restyle(x, y, n int, r Role) {
	style := c.Look.Theme.Style(r)
	for i := max(x, 0); i < min(x+n, c.w) && y >= 0 && y < c.h; {
		text, _, width := c.screen.Get(c.x+i, c.y+y)
		if i+width > c.w {
			break
		}
		c.screen.Put(c.x+i, c.y+y, text, style)
		for j := 1; j < width; j++ {
			c.screen.Put(c.x+i+j, c.y+y, " ", style)
		}
		i += max(width, 1)
	}
}

// Cursor puts the terminal's cursor at a cell, if it is one of the canvas.
func (c Canvas) Cursor(x, y int) {
	if x >= 0 && y >= 0 && x < c.w && y < c.h {
		c.screen.ShowCursor(c.x+x, c.y+y)
	}
}

// Dots is a drawing of dots, two by four per cell, in braille characters. A dot has a value that says to
// what it belongs; 0 is not a dot. The highest value in a cell determines how the cell is drawn.
type Dots struct {
	columns, rows int
	values        []uint8
}

// NewDots returns an empty drawing of so many cells.
func NewDots(columns, rows int) *Dots { return &Dots{columns, rows, make([]uint8, columns*rows*8)} }

// Set gives a dot a value, unless it has a higher one. Dots outside are ignored.
func (d *Dots) Set(x, y int, value uint8) {
	if x >= 0 && y >= 0 && x < d.columns*2 && y < d.rows*4 {
		dot := &d.values[y*d.columns*2+x]
		*dot = max(*dot, value)
	}
}

// Erase removes a dot.
func (d *Dots) Erase(x, y int) {
	if x >= 0 && y >= 0 && x < d.columns*2 && y < d.rows*4 {
		d.values[y*d.columns*2+x] = 0
	}
}

// Lines returns the rows of the drawing. roles are those of the values, from 0 on.
func (d *Dots) Lines(roles ...Role) []Line {
	bits := [8]rune{0x01, 0x08, 0x02, 0x10, 0x04, 0x20, 0x40, 0x80}
	lines := make([]Line, d.rows)
	for row := range d.rows {
		for column := range d.columns {
			glyph, best := rune(0x2800), uint8(0)
			for i, bit := range bits {
				if v := d.values[(row*4+i/2)*d.columns*2+column*2+i%2]; v != 0 {
					glyph, best = glyph|bit, max(best, v)
				}
			}
			text := string(glyph)
			if best == 0 {
				text = " "
			}
			lines[row] = lines[row].Append(roles[best], text)
		}
	}
	return lines
}
