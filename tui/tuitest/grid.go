package tuitest

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/uniseg"
)

// place is one cell. A covered cell, the second half of a wide one, has no text and the style of the first.
type place struct {
	text  string
	width int
	style tcell.Style
}

// grid returns what was last painted. It is shared, and must not be changed.
func (s *Stage) grid() [][]place { return s.Screen.grid() }

// gridOf reads what was painted, row by row.
func gridOf(front painting) [][]place {
	grid := make([][]place, front.h)
	for y := range grid {
		grid[y] = make([]place, front.w)
		for x := 0; x < front.w; x++ {
			p := placeOf(front.cells[y*front.w+x])
			grid[y][x] = p
			for ; p.width > 1 && x+1 < front.w; p.width-- {
				x++
				grid[y][x] = place{style: p.style}
			}
		}
	}
	return grid
}

func placeOf(c painted) place {
	p := place{text: c.text, style: c.style, width: 1}
	if len(c.text) == 1 && ' ' <= c.text[0] && c.text[0] <= '~' {
		return p
	}
	if p.text == "" || p.text == "\x00" {
		p.text = " "
	}
	p.width = max(uniseg.StringWidth(p.text), 1)
	return p
}

func rowText(row []place) string {
	var b strings.Builder
	for _, p := range row {
		b.WriteString(p.text)
	}
	return strings.TrimRight(b.String(), " ")
}

// framed returns the grid's text between lines, so that blanks are visible.
func framed(grid [][]place) string {
	var b strings.Builder
	for _, row := range grid {
		b.WriteByte('|')
		for _, p := range row {
			b.WriteString(p.text)
		}
		b.WriteString("|\n")
	}
	return b.String()
}

// unsound finds a cell that no terminal could show unchanged.
func unsound(grid [][]place) string {
	for y, row := range grid {
		for x, p := range row {
			if p.width == 1 && len(p.text) == 1 && ' ' <= p.text[0] && p.text[0] <= '~' {
				continue
			}
			switch {
			case strings.ContainsFunc(p.text, unicode.IsControl):
				return fmt.Sprintf("a control character at %d,%d: %q", x, y, p.text)
			case x+p.width > len(row):
				return fmt.Sprintf("%q is cut in two at %d,%d", p.text, x, y)
			case p.text != "" && uniseg.GraphemeClusterCount(p.text) != 1:
				return fmt.Sprintf("%q in one cell at %d,%d", p.text, x, y)
			}
		}
	}
	return ""
}

// unframed finds a frame that is not closed. A frame begins with its upper left corner.
func unframed(grid [][]place) string {
	for y, row := range grid {
		for x, p := range row {
			if p.text != "╭" {
				continue
			}
			right := slices.IndexFunc(row[x:], func(p place) bool { return p.text == "╮" })
			if right < 0 {
				return fmt.Sprintf("the frame at %d,%d has no right corner", x, y)
			}
			below := y + 1
			for below < len(grid) && strings.Contains("│├", grid[below][x].text) &&
				strings.Contains("│┤", grid[below][x+right].text) {
				below++
			}
			if below == len(grid) || grid[below][x].text != "╰" || grid[below][x+right].text != "╯" {
				return fmt.Sprintf("the frame at %d,%d is interrupted in row %d", x, y, below)
			}
		}
	}
	return ""
}
