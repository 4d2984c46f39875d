package terminal

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

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
