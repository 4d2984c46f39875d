package view

import (
	"strings"
	"unicode"

	"github.com/rivo/uniseg"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// clusters calls f with each cluster that a canvas draws of a line, and the column where it begins, until f
// returns false.
func clusters(l render.Line, f func(cluster string, col, width int) bool) {
	col := 0
	for _, s := range l {
		for rest, state := s.Text, -1; rest != ""; {
			var cluster string
			var width int
			cluster, rest, width, state = uniseg.FirstGraphemeClusterInString(rest, state)
			if cluster == "\t" {
				cluster, width = " ", 1
			}
			if width == 0 || strings.ContainsFunc(cluster, unicode.IsControl) {
				continue
			}
			if !f(cluster, col, width) {
				return
			}
			col += width
		}
	}
}

// slice returns the text between two columns, including wide characters that are only partly between them.
func slice(l render.Line, from, to int) string {
	var b strings.Builder
	clusters(l, func(cluster string, col, width int) bool {
		if col >= to {
			return false
		}
		if col+width > from {
			b.WriteString(cluster)
		}
		return true
	})
	return b.String()
}

// snap extends columns to whole clusters, and limits them to the text.
func snap(l render.Line, from, to int) (int, int) {
	first, last := -1, 0
	clusters(l, func(_ string, col, width int) bool {
		if col >= to {
			return false
		}
		if col+width > from {
			if first < 0 {
				first = col
			}
			last = col + width
		}
		return true
	})
	return max(first, 0), last
}

// maxMatched is how many columns of a row are searched.
const maxMatched = 4096
