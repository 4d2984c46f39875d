package view

import (
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// How much a folded card shows, in lines.
const (
	foldBody   = 12
	foldBrief  = 3 // for texts of minor importance
	foldResult = 4 // of a tool
	foldSlack  = 2 // if so few lines would be folded, they are shown
)

// body lays out prose, folded to keep lines unless the card is open. It reports whether the text is longer
// than that.
func (o EventOptions) body(r render.Role, text string, keep int) (lines []render.Line, foldable bool) {
	text = strings.Trim(text, "\n")
	if strings.TrimSpace(text) == "" {
		return nil, false
	}
	return o.folded(text, keep, func(text string) []render.Line { return o.markdown(r, text) })
}

// words is like body for plain text.
func (o EventOptions) words(r render.Role, text string, keep int) (lines []render.Line, foldable bool) {
	return o.folded(text, keep, func(text string) []render.Line { return render.WrapText(r, text, o.prose()) })
}

func (o EventOptions) folded(text string, keep int, lay func(string) []render.Line) ([]render.Line, bool) {
	head, rest := text, ""
	if !o.Open && len(text) > eventtext.MaxFullText {
		head = eventtext.Beginning(text, keep)
		rest = text[len(head):]
	}
	lines := lay(head)
	switch {
	case rest != "":
		return append(lines[:min(keep, len(lines))], o.more(strings.Count(rest, "\n"), len(rest))), true
	case len(lines) <= keep+foldSlack:
		return lines, false
	case o.Open:
		return lines, true
	}
	return append(lines[:keep:keep], o.more(len(lines)-keep, 0)), true
}

// output lays out the output of a program, with its lines and spaces unchanged.
func (o EventOptions) output(r render.Role, text string, keep int) (lines []render.Line, foldable bool) {
	text = strings.TrimRight(text, "\n \t")
	most, hidden, below := keep+foldSlack, 0, 0 // lines and bytes from the first folded line on
	for rest := text; rest != ""; {
		line, after, _ := strings.Cut(rest, "\n")
		if room := 4 * o.width() * (most + 1); !o.Open && len(line) > room { // the rest of it is folded
			line, after = strings.ToValidUTF8(line[:room], ""), rest[room:]
		}
		first := len(lines)
		lines = append(lines, o.code(render.Of(r, line))...)
		if first <= keep && len(lines) > keep {
			hidden, below = strings.Count(rest, "\n"), len(rest)
			if first == keep {
				hidden++
			}
		}
		if len(lines) > most && !o.Open {
			return append(lines[:keep:keep], o.more(hidden, below)), true
		}
		rest = after
	}
	return lines, len(lines) > most
}

// more returns the line that replaces the folded lines.
func (o EventOptions) more(lines, bytes int) render.Line {
	text := words.Count(lines, "more line")
	if lines < 1 {
		text = words.Bytes(bytes) + " more"
	}
	return o.shorten(render.Line{{Text: o.Look.Glyphs.Folded + " " + text, Role: render.Dim}}, o.width())
}

// code breaks lines of code, or of an output, at the width.
func (o EventOptions) code(lines ...render.Line) (out []render.Line) {
	for _, l := range lines {
		for _, row := range render.Cut(l, o.width()) {
			out = append(out, o.shorten(row, o.width())) // a single character may be wider
		}
	}
	return out
}
