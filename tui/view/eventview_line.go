package view

import (
	"strings"

	"github.com/arbiter-cli/arbiter/tui/render"
)

const eventBlanks = "                                                                "

func spaces(n int) string {
	if n <= len(eventBlanks) {
		return eventBlanks[:max(n, 0)]
	}
	return strings.Repeat(" ", n)
}

// shorten returns a line, or its beginning and an ellipsis.
func (o EventOptions) shorten(l render.Line, columns int) render.Line {
	return l.Shorten(columns, o.Look.Glyphs.Ellipsis)
}

// shortenPath keeps the end of a path: the file's name says more than the first directories.
func (o EventOptions) shortenPath(path string, columns int) string {
	if render.Width(path) <= columns {
		return path
	}
	mark := o.Look.Glyphs.Ellipsis
	space := columns - render.Width(mark)
	for rest := path; ; {
		i := strings.IndexByte(rest[1:], '/')
		if i < 0 {
			break
		}
		if rest = rest[1+i:]; render.Width(rest) <= space {
			return mark + rest
		}
	}
	return render.Shorten(path, columns, mark)
}

// joined puts lines after one another, with a separator between them, on as many rows as they need.
func (o EventOptions) joined(parts []render.Line) []render.Line {
	var rows []render.Line
	var row render.Line
	gap := " " + o.Look.Glyphs.Separator + " "
	for _, p := range parts {
		switch {
		case len(row) == 0:
			row = append(row, p...)
		case row.Width()+render.Width(gap)+p.Width() <= o.width():
			row = append(append(row, render.Span{Text: gap, Role: render.Dim}), p...)
		default:
			rows = append(rows, row)
			row = append(render.Line(nil), p...)
		}
	}
	if len(row) > 0 {
		rows = append(rows, row)
	}
	var out []render.Line
	for _, r := range rows {
		out = append(out, render.Wrap(r, o.width())...)
	}
	return out
}

// inset moves lines to the right.
func inset(lines []render.Line, columns int) []render.Line {
	if columns <= 0 {
		return lines
	}
	for i, l := range lines {
		lines[i] = append(render.Line{{Text: spaces(columns), Role: render.Base}}, l...)
	}
	return lines
}

// step returns how far subordinate lines are indented; 0 if there is hardly any room.
func (o EventOptions) step() int {
	if o.width() < 8 {
		return 0
	}
	return 2
}
