package rich

import (
	"strings"

	"github.com/arbiter-cli/arbiter/tui/cell"
)

// coder lays out a block of code line by line. A copy goes on by itself.
type coder struct {
	lay   layout
	lang  *language
	state state
}

// codeBlock lays a whole block out.
func (l layout) codeBlock(info, text string) []cell.Line {
	c := coder{lay: l, lang: find(fenceMark{info: info}.lang())}
	var out []cell.Line
	if info != "" {
		out = c.label(info, l.width)
	}
	for line := range strings.SplitSeq(text, "\n") {
		out = append(out, c.row(line, false, l.width)...)
	}
	return out
}

// bar is what stands before a row of code: its first, and those it goes on in.
func (c *coder) bar(width int) (first, rest string) {
	if width < roomy {
		return "", ""
	}
	g := c.lay.glyphs
	return g.Vertical + " ", g.Vertical + g.Ellipsis
}

// label is the row that names the language.
func (c *coder) label(info string, width int) []cell.Line {
	bar, _ := c.bar(width)
	text := cell.Shorten(strings.ReplaceAll(info, "\t", " "), width-cell.Width(bar), c.lay.glyphs.Ellipsis)
	return prefixed([]cell.Line{cell.Of(cell.Dim, text)}, cell.Of(cell.Frame, bar), nil)
}

// row lays a line of code out. It is never wrapped at words, but cut at the edge.
func (c *coder) row(text string, goesOn bool, width int) []cell.Line {
	l := c.lay
	first, rest := c.bar(width)
	l.width = width - cell.Width(first)
	var line cell.Line
	line, c.state = c.lang.line(strings.TrimRight(text, "\r"), c.state)
	lines := l.fit(cell.Cut(line, l.width))
	if goesOn {
		first = rest
	}
	return prefixed(lines, cell.Of(cell.Frame, first), cell.Of(cell.Frame, rest))
}

// Highlight gives each line of code its roles. Lines are not wrapped; their tabs are
// tabs still.
func Highlight(lang, src string) []cell.Line {
	var (
		out  []cell.Line
		l    = find(lang)
		s    state
		line cell.Line
	)
	for text := range strings.SplitSeq(src, "\n") {
		line, s = l.line(strings.TrimRight(text, "\r"), s)
		out = append(out, line)
	}
	return out
}
