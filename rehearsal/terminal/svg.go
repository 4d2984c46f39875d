package terminal

import (
	"fmt"
	"strings"
)

// Picture sets how a screen is drawn.
type Picture struct {
	Foreground, Background Color  // of the terminal; Default: light grey on near black
	Window                 bool   // draws a window with its title around the screen
	Title                  string // of the window; empty: the screen's own
	Label                  string // a description, for people who do not see it
}

// Sizes of a cell and what is around the cells, in pixels.
const (
	cellWidth  = 9
	cellHeight = 20
	baseline   = 15 // of the text, from the cell's top
	fontSize   = 15
	margin     = 12
	bar        = 32 // of the window
)

const fonts = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"

// SVG draws the visible screen: each character at its cell whatever the font, lines and blocks as shapes
// that touch one another.
func (s Screen) SVG(p Picture) string {
	if p.Foreground == 0 && p.Background == 0 {
		p.Foreground, p.Background = Default, Default
	}
	d := drawing{fg: hex(p.Foreground, "#d0d0d0"), bg: hex(p.Background, "#101014")}
	top := 0
	if p.Window {
		top = bar
	}
	w, h := s.Size.Columns*cellWidth+2*margin, s.Size.Rows*cellHeight+2*margin+top
	label := p.Label
	if label == "" {
		label = s.Title
	}
	d.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s" font-family="%s" font-size="%d">`+"\n",
		w, h, w, h, escapeXML(label), fonts, fontSize)
	radius := 0
	if p.Window {
		radius = 8
	}
	d.printf(`<rect width="%d" height="%d" rx="%d" fill="%s"/>`+"\n", w, h, radius, d.bg)
	if p.Window {
		d.window(w, p.Title, s.Title)
	}
	// Adjacent rectangles show no seam, even if the picture is scaled down.
	d.printf("<style>g rect{shape-rendering:crispEdges}</style>\n")
	d.printf(`<g transform="translate(%d %d)">`+"\n", margin, margin+top)
	for y, row := range s.Cells {
		d.grounds(y, row)
	}
	for y, row := range s.Cells {
		d.row(y, row)
	}
	if c := s.Cursor; c.Visible {
		d.printf(`<rect x="%d" y="%d" width="%d" height="%d" fill="%s" fill-opacity="0.55"/>`+"\n", c.X*cellWidth,
			c.Y*cellHeight, cellWidth, cellHeight, d.fg)
	}
	d.printf("</g>\n</svg>\n")
	return d.String()
}

// drawing collects the elements.
type drawing struct {
	strings.Builder
	fg, bg string
}

func (d *drawing) printf(format string, args ...any) { fmt.Fprintf(&d.Builder, format, args...) }

func (d *drawing) window(w int, titles ...string) {
	for i, fill := range []string{"#e0605a", "#dfb04a", "#5fb05f"} {
		d.printf(`<circle cx="%d" cy="%d" r="5.5" fill="%s"/>`+"\n", 20+18*i, bar/2+2, fill)
	}
	for _, title := range titles {
		if title != "" {
			d.printf(`<text x="%d" y="%d" text-anchor="middle" font-size="13" fill="%s" fill-opacity="0.7">%s</text>`+
				"\n", w/2, bar/2+7, d.fg, escapeXML(title))
			break
		}
	}
}

// paint holds the colours of a style.
type paint struct {
	fg, bg string // bg is empty where the ground is the terminal's
}

func (d *drawing) paint(s Style) paint {
	p := paint{fg: hex(s.Fg, d.fg), bg: hex(s.Bg, "")}
	if s.Reverse {
		p.bg, p.fg = p.fg, p.bg
		if p.fg == "" {
			p.fg = d.bg
		}
	}
	if s.Conceal {
		p.fg = ""
	}
	return p
}

func hex(c Color, otherwise string) string {
	r, g, b, ok := c.Values()
	if !ok {
		return otherwise
	}
	return fmt.Sprintf("#%02x%02x%02x", r, g, b)
}

// grounds draws the backgrounds, before the text: a wide glyph may extend over its cell.
func (d *drawing) grounds(y int, row []Cell) {
	for x := 0; x < len(row); {
		bg := d.paint(row[x].Style).bg
		end := x + 1
		for end < len(row) && d.paint(row[end].Style).bg == bg {
			end++
		}
		if bg != "" {
			d.printf(`<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`+"\n", x*cellWidth, y*cellHeight,
				(end-x)*cellWidth, cellHeight, bg)
		}
		x = end
	}
}

// row draws a row's text: ASCII characters in runs that are as long as their cells, others each at its own
// cell.
func (d *drawing) row(y int, row []Cell) {
	for x := 0; x < len(row); {
		c, end := row[x], x+1
		for end < len(row) && joins(c, row[end]) {
			end++
		}
		for end < len(row) && row[end].Width == 0 {
			end++
		}
		d.run(x, y, row[x:end])
		x = end
	}
}

// joins reports whether a cell is drawn together with one before it.
func joins(first, c Cell) bool {
	ascii := len(first.Text) == 1 && len(c.Text) == 1
	dots := isBraille(first.Text) && isBraille(c.Text)
	return first.Style == c.Style && first.Link == c.Link &&
		(ascii || dots || level(first.Text) && first.Text == c.Text)
}

func (d *drawing) run(x, y int, cells []Cell) {
	var b strings.Builder
	for _, c := range cells {
		b.WriteString(c.Text)
	}
	text, style, width := b.String(), cells[0].Style, len(cells)
	p := d.paint(style)
	if p.fg == "" {
		return
	}
	fill := fmt.Sprintf(`fill="%s"`, p.fg)
	if style.Faint {
		fill += ` fill-opacity="0.6"`
	}
	d.lines(x, y, width, style, fill)
	if isBraille(cells[0].Text) {
		d.braille(x, y, cells, fill)
		return
	}
	inner := strings.Trim(text, " ")
	if inner == "" || d.shape(x, y, cells[0].Text, width, fill) {
		return
	}
	// Blanks at the ends would be part of the length, and some viewers drop them.
	width -= len(text) - len(inner)
	x += strings.Index(text, inner)
	d.printf(`<text x="%d" y="%d" textLength="%d" lengthAdjust="spacingAndGlyphs" xml:space="preserve" %s%s>%s</text>`+
		"\n",
		x*cellWidth, y*cellHeight+baseline, width*cellWidth, fill, font(style), escapeXML(inner))
}

func font(s Style) string {
	var b strings.Builder
	if s.Bold {
		b.WriteString(` font-weight="bold"`)
	}
	if s.Italic {
		b.WriteString(` font-style="italic"`)
	}
	return b.String()
}

// lines draws the lines under and through the text.
func (d *drawing) lines(x, y, width int, s Style, fill string) {
	if s.Underline {
		d.rect(x, y, 0, 17.5, float64(width*cellWidth), 1, fill)
	}
	if s.Strikeout {
		d.rect(x, y, 0, 10, float64(width*cellWidth), 1, fill)
	}
}

// rect draws a rectangle by its place in a cell.
func (d *drawing) rect(x, y int, dx, dy, w, h float64, fill string) {
	d.printf(`<rect x="%g" y="%g" width="%g" height="%g" %s/>`+"\n", float64(x*cellWidth)+dx, float64(y*cellHeight)+dy,
		w, h, fill)
}

// escapeXML escapes text for XML; characters that XML does not allow become blanks.
func escapeXML(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '"':
			b.WriteString("&quot;")
		case r < ' ' || r == 0xfffe || r == 0xffff || r >= 0x7f && r <= 0x9f:
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
