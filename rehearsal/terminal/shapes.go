package terminal

import "strings"

// arms are the lines of a box-drawing character, from the middle of the cell up, right,
// down and left: ' ' none, '-' light, '=' heavy.
var arms = map[rune]string{
	'─': " - -", '│': "- - ", '━': " = =", '┃': "= = ",
	'┌': " -- ", '┐': "  --", '└': "--  ", '┘': "-  -",
	'├': "--- ", '┤': "- --", '┬': " ---", '┴': "-- -", '┼': "----",
	'┏': " == ", '┓': "  ==", '┗': "==  ", '┛': "=  =",
	'┣': "=== ", '┫': "= ==", '┳': " ===", '┻': "== =", '╋': "====",
	'╴': "   -", '╵': "-   ", '╶': " -  ", '╷': "  - ", '╸': "   =", '╹': "=   ", '╺': " =  ", '╻': "  = ",
	'┝': "-=- ", '┥': "- -=", '┠': "=-= ", '┨': "= =-", '┿': "-=-=",
}

// round are corners, as the curve from one edge to the other.
var round = map[rune]string{
	'╭': "M4.5 20V14Q4.5 10 9 10",
	'╮': "M4.5 20V14Q4.5 10 0 10",
	'╰': "M4.5 0V6Q4.5 10 9 10",
	'╯': "M4.5 0V6Q4.5 10 0 10",
}

// block is a part of a cell in eighths: from the left, from the top, and how far.
type block struct{ x, y, w, h float64 }

var blocks = map[rune][]block{
	'█': {{0, 0, 8, 8}}, '▀': {{0, 0, 8, 4}}, '▐': {{4, 0, 4, 8}}, '▔': {{0, 0, 8, 1}}, '▕': {{7, 0, 1, 8}},
	'▖': {{0, 4, 4, 4}}, '▗': {{4, 4, 4, 4}}, '▘': {{0, 0, 4, 4}}, '▝': {{4, 0, 4, 4}},
	'▚': {{0, 0, 4, 4}, {4, 4, 4, 4}}, '▞': {{4, 0, 4, 4}, {0, 4, 4, 4}},
	'▙': {{0, 0, 4, 8}, {4, 4, 4, 4}}, '▛': {{0, 0, 4, 8}, {4, 0, 4, 4}}, '▜': {{0, 0, 8, 4}, {4, 4, 4, 4}}, '▟': {{4, 0, 4, 8}, {0, 4, 4, 4}},
}

var shades = map[rune]string{'░': "0.25", '▒': "0.5", '▓': "0.75"}

// shape draws a character that fonts draw too short or too narrow to touch the next
// one. It reports whether the text is one.
func (d *drawing) shape(x, y int, text, fill string) bool {
	runes := []rune(text)
	if len(runes) != 1 {
		return false
	}
	r := runes[0]
	switch {
	case arms[r] != "":
		d.arms(x, y, arms[r], fill)
	case round[r] != "":
		stroke := strings.ReplaceAll(strings.ReplaceAll(fill, "fill-opacity", "stroke-opacity"), "fill=", "stroke=")
		d.printf(`<path transform="translate(%d %d)" d="%s" fill="none" stroke-width="1.4" %s/>`+"\n", x*cellWidth, y*cellHeight, round[r], stroke)
	case r >= '▁' && r <= '▇': // from the bottom
		n := float64(r - '▁' + 1)
		d.block(x, y, block{0, 8 - n, 8, n}, fill)
	case r >= '▉' && r <= '▏': // from the left
		d.block(x, y, block{0, 0, float64('▐' - r), 8}, fill)
	case blocks[r] != nil:
		for _, b := range blocks[r] {
			d.block(x, y, b, fill)
		}
	case shades[r] != "":
		fill, _, _ = strings.Cut(fill, " fill-opacity")
		d.block(x, y, block{0, 0, 8, 8}, fill+` fill-opacity="`+shades[r]+`"`)
	case r >= 0x2800 && r <= 0x28ff:
		d.braille(x, y, int(r-0x2800), fill)
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

// braille draws dots: three rows of two, then a fourth, by their bits.
func (d *drawing) braille(x, y, bits int, fill string) {
	for i, at := range [8][2]float64{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}, {0, 3}, {1, 3}} {
		if bits&(1<<i) != 0 {
			d.printf(`<circle cx="%g" cy="%g" r="1.2" %s/>`+"\n", float64(x*cellWidth)+2.5+4*at[0], float64(y*cellHeight)+4+4*at[1], fill)
		}
	}
}
