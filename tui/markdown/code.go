package markdown

import (
	"strings"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// coder lays out a block of code line by line. A copy continues independently.
type coder struct {
	lay   layout
	lang  *language
	state state
}

// codeBlock lays a whole block out.
func (l layout) codeBlock(info, text string) []render.Line {
	c := coder{lay: l, lang: find(fenceMark{info: info}.lang())}
	var out []render.Line
	if info != "" {
		out = c.label(info, l.width)
	}
	for line := range strings.SplitSeq(text, "\n") {
		out = append(out, c.row(line, false, l.width)...)
	}
	return out
}

// bar returns the text before a row of code: for its first row, and for those it continues in.
func (c *coder) bar(width int) (first, rest string) {
	if width < roomy {
		return "", ""
	}
	g := c.lay.glyphs
	return g.Vertical + " ", g.Vertical + g.Ellipsis
}

// label returns the row that names the language.
func (c *coder) label(info string, width int) []render.Line {
	bar, _ := c.bar(width)
	text := render.Shorten(strings.ReplaceAll(info, "\t", " "), width-render.Width(bar), c.lay.glyphs.Ellipsis)
	return prefixed([]render.Line{render.Of(render.Dim, text)}, render.Of(render.Frame, bar), nil)
}

// row lays out a line of code. It is not wrapped at words, but cut at the edge.
func (c *coder) row(text string, continued bool, width int) []render.Line {
	l := c.lay
	first, rest := c.bar(width)
	l.width = width - render.Width(first)
	var line render.Line
	line, c.state = c.lang.line(strings.TrimRight(text, "\r"), c.state)
	lines := l.fit(render.Cut(line, l.width))
	if continued {
		first = rest
	}
	return prefixed(lines, render.Of(render.Frame, first), render.Of(render.Frame, rest))
}

// Highlight gives the text of each line of code its roles. Lines are not wrapped; tabs are kept.
func Highlight(lang, src string) []render.Line {
	var (
		out  []render.Line
		l    = find(lang)
		s    state
		line render.Line
	)
	for text := range strings.SplitSeq(src, "\n") {
		line, s = l.line(strings.TrimRight(text, "\r"), s)
		out = append(out, line)
	}
	return out
}
