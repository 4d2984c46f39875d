package view

import (
	"strings"
	"unicode/utf8"

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
	if o.Open || len(text) <= eventtext.MaxFullText {
		lines = o.markdown(r, text)
		if len(lines) <= keep+foldSlack {
			return lines, false
		}
		if o.Open {
			return lines, true
		}
		return append(lines[:keep:keep], o.more(len(lines)-keep, 0)), true
	}
	head := eventtext.Beginning(text, keep)
	lines = o.markdown(r, head)
	if len(lines) > keep {
		lines = lines[:keep:keep]
	}
	rest := text[len(head):]
	return append(lines, o.more(strings.Count(rest, "\n"), len(rest))), true
}

// output lays out the output of a program, with its lines and spaces unchanged.
func (o EventOptions) output(r render.Role, text string, keep int) (lines []render.Line, foldable bool) {
	text = strings.TrimRight(text, "\n \t")
	most, folded := keep+foldSlack, 0
	for pos := 0; pos < len(text); pos++ {
		end := pos + strings.IndexByte(text[pos:], '\n')
		if end < pos {
			end = len(text)
		}
		for first := true; first || pos < end; first = false {
			if len(lines) == keep {
				folded = pos
			}
			if len(lines) == most && !o.Open {
				n := strings.Count(text[folded:], "\n")
				if folded == 0 || text[folded-1] == '\n' {
					n++
				}
				return append(lines[:keep], o.more(n, len(text)-folded)), true
			}
			row, n := o.row(text[pos:end])
			lines = append(lines, render.Of(r, row))
			pos += n
		}
	}
	return lines, len(lines) > most
}

// row returns the part of a source line that fits into one row, and its length in bytes.
func (o EventOptions) row(line string) (row string, n int) {
	width := o.width()
	if ascii(line, width+1) {
		row = line[:min(width, len(line))]
		return row, len(row)
	}
	row, _ = render.Clip(line, width)
	switch {
	case strings.IndexByte(row, '\t') >= 0 || line != "" && line[0] == '\t':
		return o.tabbed(line)
	case row == "" && line != "":
		return o.tooWide(line)
	}
	return row, len(row)
}

// tooWide replaces a character that is wider than the row.
func (o EventOptions) tooWide(line string) (row string, n int) {
	const widest = 8 // more columns than any character takes
	for columns := 2; columns < widest; columns++ {
		if wide, _ := render.Clip(line, columns); wide != "" {
			return o.Look.Glyphs.Ellipsis, len(wide)
		}
	}
	_, n = utf8.DecodeRuneInString(line)
	return o.Look.Glyphs.Ellipsis, n
}

// eventTabStop is as far as a tab reaches at most.
const eventTabStop = 4

// tabbed is row for a line with tabs in it.
func (o EventOptions) tabbed(line string) (row string, n int) {
	width := o.width()
	var b strings.Builder
	used := 0
	for n < len(line) && used < width {
		if line[n] == '\t' {
			stop := min(eventTabStop-used%eventTabStop, width-used)
			b.WriteString(spaces(stop))
			used += stop
			n++
			continue
		}
		most := min(len(line)-n, 4*width)
		end := strings.IndexByte(line[n:n+most], '\t')
		if end < 0 {
			for end = most; n+end < len(line) && line[n+end]&0xc0 == 0x80; {
				end++
			}
		}
		part, columns := render.Clip(line[n:n+end], width-used)
		if part == "" {
			if used == 0 {
				mark, wide := o.tooWide(line[n:])
				return mark, n + wide
			}
			break
		}
		b.WriteString(part)
		used += columns
		n += len(part)
	}
	return b.String(), n
}

// more returns the line that replaces the folded lines.
func (o EventOptions) more(lines, bytes int) render.Line {
	text := words.Count(lines, "more line")
	if lines < 1 {
		text = words.Bytes(bytes) + " more"
	}
	return o.shorten(render.Line{{Text: o.Look.Glyphs.Folded + " " + text, Role: render.Dim}}, o.width())
}

// code breaks highlighted lines at the width.
func (o EventOptions) code(lines []render.Line) []render.Line {
	out := make([]render.Line, 0, len(lines))
	for _, l := range lines {
		out = o.cut(out, l)
	}
	return out
}

// cut appends a line, broken at the width. The texts of the pieces are shared, not copied.
func (o EventOptions) cut(out []render.Line, l render.Line) []render.Line {
	width := o.width()
	var row render.Line
	used := 0
	for _, s := range l {
		rest := s.Text
		if strings.IndexByte(rest, '\t') >= 0 {
			rest = expand(rest, used)
		}
		for rest != "" {
			part, n := render.Clip(rest, width-used)
			if part != "" {
				row, used, rest = append(row, render.Span{Text: part, Role: s.Role}), used+n, rest[len(part):]
				if rest == "" {
					break
				}
			} else if used == 0 {
				wide, n := o.tooWide(rest)
				row, rest = append(row, render.Span{Text: wide, Role: s.Role}), rest[n:]
			}
			out, row, used = append(out, row), nil, 0
		}
	}
	if len(row) > 0 || len(l) == 0 || l.Width() == 0 {
		out = append(out, row)
	}
	return out
}

// expand replaces tabs by spaces, in a text that begins at a column.
func expand(text string, column int) string {
	var b strings.Builder
	for {
		part, rest, found := strings.Cut(text, "\t")
		b.WriteString(part)
		column += render.Width(part)
		if !found {
			return b.String()
		}
		n := eventTabStop - column%eventTabStop
		b.WriteString(spaces(n))
		column += n
		text = rest
	}
}

// ascii reports whether the first n bytes of a text, or all if it is shorter, are printable ASCII
// characters.
func ascii(s string, n int) bool {
	for i := range min(n, len(s)) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
