package terminal

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"image/color"
	"strings"
	"unicode"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"
)

// Picture sets how a screen is drawn.
type Picture struct {
	Foreground, Background color.Color // of the terminal; nil: light grey on near black
	Window                 bool        // draws a window with the screen's title around it
	Label                  string      // a description, for people who do not see it
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
	d := drawing{fg: hex(p.Foreground, "#d0d0d0"), bg: hex(p.Background, "#101014")}
	top, radius := 0, 0
	if p.Window {
		top, radius = bar, 8
	}
	w, h := s.Size.Columns*cellWidth+2*margin, s.Size.Rows*cellHeight+2*margin+top
	d.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s" font-family="%s" font-size="%d">`+"\n",
		w, h, w, h, escapeXML(cmp.Or(p.Label, s.Title)), fonts, fontSize)
	d.printf(`<rect width="%d" height="%d" rx="%d" fill="%s"/>`+"\n", w, h, radius, d.bg)
	if p.Window {
		for i, fill := range []string{"#e0605a", "#dfb04a", "#5fb05f"} {
			d.printf(`<circle cx="%d" cy="%d" r="5.5" fill="%s"/>`+"\n", 20+18*i, bar/2+2, fill)
		}
		d.printf(`<text x="%d" y="%d" text-anchor="middle" font-size="13" fill="%s" fill-opacity="0.7">%s</text>`+"\n", w/2,
			bar/2+7, d.fg, escapeXML(s.Title))
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

// paint returns the colours of a style. bg is empty where the ground is the terminal's, fg of concealed text.
func (d *drawing) paint(s uv.Style) (fg, bg string) {
	fg, bg = hex(s.Fg, d.fg), hex(s.Bg, "")
	if s.Attrs&uv.AttrReverse != 0 {
		fg, bg = cmp.Or(bg, d.bg), fg
	}
	if s.Attrs&uv.AttrConceal != 0 {
		fg = ""
	}
	return fg, bg
}

func hex(c color.Color, otherwise string) string {
	if c == nil {
		return otherwise
	}
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}

// grounds draws the backgrounds, before the text: a wide glyph may extend over its cell.
func (d *drawing) grounds(y int, row []uv.Cell) {
	for x := 0; x < len(row); {
		_, bg := d.paint(row[x].Style)
		end := x + 1
		for ; end < len(row); end++ {
			if _, other := d.paint(row[end].Style); other != bg {
				break
			}
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
func (d *drawing) row(y int, row []uv.Cell) {
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
func joins(first, c uv.Cell) bool {
	ascii := len(first.Content) == 1 && len(c.Content) == 1
	dots := isBraille(first.Content) && isBraille(c.Content)
	return first.Style == c.Style && first.Link == c.Link &&
		(ascii || dots || level(first.Content) && first.Content == c.Content)
}

func (d *drawing) run(x, y int, cells []uv.Cell) {
	var b strings.Builder
	for _, c := range cells {
		b.WriteString(c.Content)
	}
	text, style, width := b.String(), cells[0].Style, len(cells)
	fg, _ := d.paint(style)
	if fg == "" {
		return
	}
	fill := fmt.Sprintf(`fill="%s"`, fg)
	if style.Attrs&uv.AttrFaint != 0 {
		fill += ` fill-opacity="0.6"`
	}
	// The lines under and through the text.
	if style.Underline != uv.UnderlineNone {
		d.rect(x, y, 0, 17.5, float64(width*cellWidth), 1, fill)
	}
	if style.Attrs&uv.AttrStrikethrough != 0 {
		d.rect(x, y, 0, 10, float64(width*cellWidth), 1, fill)
	}
	if isBraille(cells[0].Content) {
		d.braille(x, y, cells, fill)
		return
	}
	inner := strings.Trim(text, " ")
	if inner == "" || d.shape(x, y, cells[0].Content, width, fill) {
		return
	}
	// Blanks at the ends would be part of the length, and some viewers drop them.
	width -= len(text) - len(inner)
	x += strings.Index(text, inner)
	if style.Attrs&uv.AttrBold != 0 {
		fill += ` font-weight="bold"`
	}
	if style.Attrs&uv.AttrItalic != 0 {
		fill += ` font-style="italic"`
	}
	d.printf(`<text x="%d" y="%d" textLength="%d" lengthAdjust="spacingAndGlyphs" xml:space="preserve" %s>%s</text>`+
		"\n", x*cellWidth, y*cellHeight+baseline, width*cellWidth, fill, escapeXML(inner))
}

// rect draws a rectangle by its place in a cell.
func (d *drawing) rect(x, y int, dx, dy, w, h float64, fill string) {
	d.printf(`<rect x="%g" y="%g" width="%g" height="%g" %s/>`+"\n", float64(x*cellWidth)+dx, float64(y*cellHeight)+dy,
		w, h, fill)
}

// escapeXML escapes text for XML; characters that XML does not allow, and other control characters, become blanks.
func escapeXML(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == 0xfffe || r == 0xffff {
			return ' '
		}
		return r
	}, text))) // a Builder fails at nothing
	return b.String()
}

// arms are the lines of a box-drawing character, from the middle of the cell up, right, down and left.
var arms = map[string][4]bool{
	"│": {true, false, true, false}, "└": {true, true, false, false}, "├": {true, true, true, false},
	"┤": {true, false, true, true}, "┬": {false, true, true, true}, "┴": {true, true, false, true},
	"┼": {true, true, true, true},
}

// round are rounded corners, as curves from one edge to the other.
var round = map[string]string{
	"╭": "M4.5 20V14Q4.5 10 9 10",
	"╮": "M4.5 20V14Q4.5 10 0 10",
	"╰": "M4.5 0V6Q4.5 10 9 10",
	"╯": "M4.5 0V6Q4.5 10 0 10",
}

// bars are rectangles: left, top and size. Those of the first three are the same across the whole cell, so that a row
// of them is one shape.
var bars = map[string][4]float64{
	"─": {0, 9.3, cellWidth, 1.4}, "━": {0, 8.5, cellWidth, 3}, "█": {0, 0, cellWidth, cellHeight},
	"╸": {0, 8.5, cellWidth / 2.0, 3}, "▌": {0, 0, cellWidth / 2.0, cellHeight}, "▎": {0, 0, cellWidth / 4.0, cellHeight},
}

func level(text string) bool { return bars[text][2] == cellWidth }

// shape draws a character that fonts draw too short or too narrow to touch the next one, across so many
// cells. It reports whether the text is such a character.
func (d *drawing) shape(x, y int, text string, cells int, fill string) bool {
	const midX, midY, light = cellWidth / 2.0, cellHeight / 2.0, 1.4
	bar, isBar := bars[text]
	arm, isArms := arms[text]
	switch {
	case isBar:
		d.rect(x, y, bar[0], bar[1], bar[2]*float64(cells), bar[3], fill)
	case round[text] != "":
		d.printf(`<path transform="translate(%d %d)" d="%s" fill="none" stroke-width="1.4" %s/>`+"\n", x*cellWidth,
			y*cellHeight, round[text], stroke(fill))
	case isArms:
		for i, at := range [4][4]float64{
			{midX - light/2, 0, light, midY + light/2}, {midX, midY - light/2, midX, light},
			{midX - light/2, midY - light/2, light, midY + light/2}, {0, midY - light/2, midX, light},
		} {
			if arm[i] {
				d.rect(x, y, at[0], at[1], at[2], at[3], fill)
			}
		}
	}
	return isBar || isArms || round[text] != ""
}

func isBraille(text string) bool {
	r, n := utf8.DecodeRuneInString(text)
	return n == len(text) && r >= 0x2800 && r <= 0x28ff
}

// braille draws dots: three rows of two, then a fourth, by their bits. All cells form one element, since
// whole pictures are drawn in dots.
func (d *drawing) braille(x, y int, cells []uv.Cell, fill string) {
	var dots strings.Builder
	for i, c := range cells {
		r, _ := utf8.DecodeRuneInString(c.Content)
		for bit, at := range [8][2]float64{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}, {0, 3}, {1, 3}} {
			if (r-0x2800)&(1<<bit) != 0 {
				fmt.Fprintf(&dots, "M%g %gh0", float64((x+i)*cellWidth)+2.25+4.5*at[0],
					float64(y*cellHeight)+2.5+5*at[1])
			}
		}
	}
	if dots.Len() > 0 {
		d.printf(`<path d="%s" stroke-linecap="round" stroke-width="2.6" %s/>`+"\n", dots.String(), stroke(fill))
	}
}

// stroke converts a fill to the colour of lines.
func stroke(fill string) string { return strings.ReplaceAll(fill, "fill", "stroke") }
