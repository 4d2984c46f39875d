package terminal

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// arms are the lines of a box-drawing character, from the middle of the cell up, right,
// down and left: ' ' none, '-' light, '=' heavy.
var arms = map[rune]string{
	'│': "- - ", '┃': "= = ",
	'┌': " -- ", '┐': "  --", '└': "--  ", '┘': "-  -",
	'├': "--- ", '┤': "- --", '┬': " ---", '┴': "-- -", '┼': "----",
	'┏': " == ", '┓': "  ==", '┗': "==  ", '┛': "=  =",
	'┣': "=== ", '┫': "= ==", '┳': " ===", '┻': "== =", '╋': "====",
	'╴': "   -", '╵': "-   ", '╶': " -  ", '╷': "  - ", '╸': "   =", '╹': "=   ", '╺': " =  ", '╻': "  = ",
	'┝': "-=- ", '┥': "- -=", '┠': "=-= ", '┨': "= =-", '┿': "-=-=",
}

// round are rounded corners, as curves from one edge to the other.
var round = map[rune]string{
	'╭': "M4.5 20V14Q4.5 10 9 10",
	'╮': "M4.5 20V14Q4.5 10 0 10",
	'╰': "M4.5 0V6Q4.5 10 9 10",
	'╯': "M4.5 0V6Q4.5 10 0 10",
}

// block is a part of a cell in eighths: left, top, and size.
type block struct{ x, y, w, h float64 }

var blocks = map[rune][]block{
	'█': {{0, 0, 8, 8}}, '▀': {{0, 0, 8, 4}}, '▐': {{4, 0, 4, 8}}, '▔': {{0, 0, 8, 1}}, '▕': {{7, 0, 1, 8}},
	'▖': {{0, 4, 4, 4}}, '▗': {{4, 4, 4, 4}}, '▘': {{0, 0, 4, 4}}, '▝': {{4, 0, 4, 4}},
	'▚': {{0, 0, 4, 4}, {4, 4, 4, 4}}, '▞': {{4, 0, 4, 4}, {0, 4, 4, 4}},
	'▙': {{0, 0, 4, 8}, {4, 4, 4, 4}}, '▛': {{0, 0, 4, 8}, {4, 0, 4, 4}}, '▜': {{0, 0, 8, 4}, {4, 4, 4, 4}},
	'▟': {{4, 0, 4, 8}, {0, 4, 4, 4}},
}

var shades = map[rune]string{'░': "0.25", '▒': "0.5", '▓': "0.75"}

// level reports whether the shape of a character is the same across the whole cell, so that a row of them
// is one shape.
func level(text string) bool {
	return text != "" && strings.Contains("─━█▀▔░▒▓▁▂▃▄▅▆▇", text)
}

// shape draws a character that fonts draw too short or too narrow to touch the next one, across so many
// cells. It reports whether the text is such a character.
func (d *drawing) shape(x, y int, text string, cells int, fill string) bool {
	runes := []rune(text)
	if len(runes) != 1 {
		return false
	}
	r, wide := runes[0], 8*float64(cells)
	switch {
	case r == '─':
		d.rect(x, y, 0, cellHeight/2-0.7, float64(cells*cellWidth), 1.4, fill)
	case r == '━':
		d.rect(x, y, 0, cellHeight/2-1.5, float64(cells*cellWidth), 3, fill)
	case arms[r] != "":
		d.arms(x, y, arms[r], fill)
	case round[r] != "":
		d.printf(`<path transform="translate(%d %d)" d="%s" fill="none" stroke-width="1.4" %s/>`+"\n", x*cellWidth,
			y*cellHeight, round[r], stroke(fill))
	case r >= '▁' && r <= '▇': // from the bottom
		n := float64(r - '▁' + 1)
		d.block(x, y, block{0, 8 - n, wide, n}, fill)
	case r >= '▉' && r <= '▏': // from the left
		d.block(x, y, block{0, 0, float64('▐' - r), 8}, fill)
	case blocks[r] != nil:
		for _, b := range blocks[r] {
			b.w += wide - 8 // of one that is level
			d.block(x, y, b, fill)
		}
	case shades[r] != "":
		fill, _, _ = strings.Cut(fill, " fill-opacity")
		d.block(x, y, block{0, 0, wide, 8}, fill+` fill-opacity="`+shades[r]+`"`)
	default:
		return false
	}
	return true
}

func (d *drawing) block(x, y int, b block, fill string) {
	d.rect(x, y, b.x*cellWidth/8, b.y*cellHeight/8, b.w*cellWidth/8, b.h*cellHeight/8, fill)
}

func (d *drawing) arms(x, y int, arms, fill string) {
	const midX, midY = cellWidth / 2.0, cellHeight / 2.0
	thick := map[byte]float64{' ': 0, '-': 1.4, '=': 3}
	up, right, down, left := thick[arms[0]], thick[arms[1]], thick[arms[2]], thick[arms[3]]
	vertical, horizontal := max(up, down), max(left, right)
	if vertical > 0 {
		from, to := midY-horizontal/2, midY+horizontal/2
		if up > 0 {
			from = 0
		}
		if down > 0 {
			to = cellHeight
		}
		d.rect(x, y, midX-vertical/2, from, vertical, to-from, fill)
	}
	if horizontal > 0 {
		from, to := midX-vertical/2, midX+vertical/2
		if left > 0 {
			from = 0
		}
		if right > 0 {
			to = cellWidth
		}
		d.rect(x, y, from, midY-horizontal/2, to-from, horizontal, fill)
	}
}

func isBraille(text string) bool {
	r, n := utf8.DecodeRuneInString(text)
	return n == len(text) && r >= 0x2800 && r <= 0x28ff
}

// braille draws dots: three rows of two, then a fourth, by their bits. All cells form one element, since
// whole pictures are drawn in dots.
func (d *drawing) braille(x, y int, cells []Cell, fill string) {
	var dots strings.Builder
	for i, c := range cells {
		r, _ := utf8.DecodeRuneInString(c.Text)
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
