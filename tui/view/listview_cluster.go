package view

import (
	"strings"
	"unicode"
	"unicode/utf8"

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

// word returns the columns of the word at a column. A blank is a word of its own.
func word(l render.Line, at int) (from, to int) {
	type piece struct {
		col, width int
		in         bool
		text       string
	}
	var pieces []piece
	hit := -1
	clusters(l, func(cluster string, col, width int) bool {
		if col <= at && at < col+width {
			hit = len(pieces)
		}
		pieces = append(pieces, piece{col, width, inWord(cluster), cluster})
		return col < at+maxWord
	})
	if hit < 0 {
		return at, at
	}
	first, last := hit, hit
	if pieces[hit].in {
		for first > 0 && pieces[first-1].in {
			first--
		}
		for last+1 < len(pieces) && pieces[last+1].in {
			last++
		}
		// Final marks of a sentence are not part of the word.
		for last > hit && strings.Contains(".:?", pieces[last].text) {
			last--
		}
	}
	return pieces[first].col, pieces[last].col + pieces[last].width
}

const maxWord = 4096

// inWord reports whether a cluster belongs to a word when a person copies it: names, paths and addresses
// are whole words.
func inWord(cluster string) bool {
	r, _ := utf8.DecodeRuneInString(cluster)
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-./:@~+#%&=?$", r)
}
