package render

import (
	"strings"

	"github.com/rivo/uniseg"
)

// tabStop is the maximum width of a tab.
const tabStop = 4

// Prose is the maximum width of prose, however wide the window: longer lines are hard to read.
const Prose = 100

// Span is a piece of text in one role. Text holds no newline.
type Span struct {
	Text string
	Role Role
}

// Line is one row of spans, before or after it was wrapped.
type Line []Span

// Of returns a line of one span.
func Of(r Role, text string) Line { return Line{{Text: text, Role: r}} }

// Width returns how many columns a string takes.
func Width(s string) int {
	n := 0
	for len(s) > 0 {
		run := plain(s)
		n += run
		if s = s[run:]; s == "" {
			break
		}
		var cluster string
		var w int
		cluster, s, w = first(s)
		if cluster == "\t" {
			w = tabStop - n%tabStop
		}
		n += w
	}
	return n
}

// Width returns how many columns the line takes.
func (l Line) Width() int {
	n := 0
	for _, s := range l {
		n += Width(s.Text)
	}
	return n
}

// Text returns the line without its roles.
func (l Line) Text() string {
	if len(l) == 1 {
		return l[0].Text
	}
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Append returns the line with a text at its end, in the same span if the role is the same. The original
// line may share memory with it.
func (l Line) Append(r Role, text string) Line {
	if n := len(l); n > 0 && l[n-1].Role == r {
		l[n-1].Text += text
		return l
	}
	return append(l, Span{text, r})
}

// Clip returns the longest beginning of s that fits into so many columns, in whole clusters, and its width.
func Clip(s string, columns int) (string, int) {
	n, at := 0, 0
	for at < len(s) {
		cluster, _, w := first(s[at:])
		if cluster == "\t" {
			w = tabStop - n%tabStop
		}
		if n+w > columns {
			break
		}
		n += w
		at += len(cluster)
	}
	return s[:at], n
}

// Shorten returns the line, or its beginning and an ellipsis if it does not fit.
func (l Line) Shorten(columns int, ellipsis string) Line {
	if l.Width() <= columns {
		return l
	}
	space, short := columns-Width(ellipsis), Line{}
	if space < 0 {
		return nil
	}
	for _, s := range l {
		head, n := Clip(s.Text, space)
		space -= n
		if short = append(short, Span{head, s.Role}); len(head) < len(s.Text) {
			return short.Append(s.Role, ellipsis)
		}
	}
	return short
}

// Shorten returns s, or its beginning and an ellipsis if it does not fit.
func Shorten(s string, columns int, ellipsis string) string {
	if len(s) <= columns && plain(s) == len(s) || Width(s) <= columns {
		return s
	}
	head, _ := Clip(s, columns-Width(ellipsis))
	if columns < Width(ellipsis) {
		head, ellipsis = "", ""
	}
	return head + ellipsis
}

// plain returns the length of the run of printable ASCII at the beginning of s, without its last character
// if a combining mark may follow.
func plain(s string) int {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' {
			if c > '~' && i > 0 {
				return i - 1
			}
			return i
		}
	}
	return len(s)
}

// first returns the first grapheme cluster of s. A control character is a cluster of width 0.
func first(s string) (cluster, rest string, width int) {
	if c := s[0]; c >= ' ' && c <= '~' && (len(s) == 1 || s[1] < 0x80) {
		return s[:1], s[1:], 1
	}
	cluster, rest, width, _ = uniseg.FirstGraphemeClusterInString(s, -1)
	return cluster, rest, width
}
