package markdown

import (
	"strings"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// coder gives the lines of a block of code their roles, one after the other.
type coder struct {
	lang  *language
	state state
	begun bool // the block has its label
}

func (c *coder) line(text string) (line render.Line) {
	line, c.state = c.lang.line(strings.TrimRight(text, "\r"), c.state)
	return line
}

// codeBlock lays out a block of code. Lines are not wrapped at words, but cut at the edge.
func (l layout) codeBlock(info, text string) []render.Line {
	bar, rest := l.glyphs.Vertical+" ", l.glyphs.Vertical+l.glyphs.Ellipsis
	if l.width < roomy {
		bar, rest = "", ""
	}
	l.width -= render.Width(bar)
	var out []render.Line
	c := l.code
	switch {
	case c == nil:
		c = &coder{}
		fallthrough
	case !c.begun:
		c.lang, c.begun = find(languageOf(info)), true
		if info != "" {
			label := render.Shorten(strings.ReplaceAll(info, "\t", " "), l.width, l.glyphs.Ellipsis)
			out = prefixed([]render.Line{render.Of(render.Dim, label)}, render.Of(render.Frame, bar), nil)
		}
	case text == "": // all its lines are laid out
		return nil
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		lines := l.fit(render.Cut(c.line(line), l.width))
		out = append(out, prefixed(lines, render.Of(render.Frame, bar), render.Of(render.Frame, rest))...)
	}
	return out
}

// languageOf returns the name of the language that the info string of a block of code begins with.
func languageOf(info string) string {
	name := strings.TrimLeft(info, "{. ")
	if i := strings.IndexAny(name, " \t,:{}"); i >= 0 {
		name = name[:i]
	}
	return name
}

// Highlight gives the text of each line of code its roles. Lines are not wrapped; tabs are kept.
func Highlight(lang, src string) []render.Line {
	c := coder{lang: find(lang)}
	var out []render.Line
	for text := range strings.SplitSeq(src, "\n") {
		out = append(out, c.line(text))
	}
	return out
}
