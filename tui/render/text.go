package render

import (
	"slices"
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

// Apart returns the line with another one at the right edge of so many columns, if there is room for both.
func (l Line) Apart(right Line, columns int) Line {
	gap := columns - l.Width() - right.Width()
	if gap <= 0 || len(right) == 0 {
		return l
	}
	return append(append(slices.Clip(l), Span{strings.Repeat(" ", gap), Base}), right...)
}

// Behind puts a head before the first of some lines, and indents the others by its width.
func Behind(head Line, lines []Line) []Line {
	below := Of(Base, strings.Repeat(" ", head.Width()))
	for i, l := range lines {
		lines[i] = append(slices.Clip(head), l...)
		head = below
	}
	return lines
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
	return Of(Base, s).Shorten(columns, ellipsis).Text()
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

// Wrap breaks a line into lines of at most so many columns, at the places that Unicode allows (UAX #14) except
// the hyphens of a flag, and inside of a word only if the word alone is too long. Tabs become spaces. The spaces at a
// break are dropped. An empty line stays one empty line.
func Wrap(l Line, columns int) []Line {
	w := wrapper{columns: max(columns, 1)}
	for _, s := range l {
		w.span(s)
	}
	w.flushWord()
	return w.done()
}

// WrapText wraps a text of several lines in one role.
func WrapText(r Role, text string, columns int) []Line {
	var lines []Line
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, Wrap(Of(r, line), columns)...)
	}
	return lines
}

// Cut breaks a line at exactly so many columns: for code, in which spaces matter.
func Cut(l Line, columns int) []Line {
	w := wrapper{columns: max(columns, 1)}
	for _, s := range l {
		for rest := s.Text; rest != ""; {
			var cluster string
			var width int
			cluster, rest, width = first(rest)
			if cluster == "\t" {
				for range tabStop - w.used%tabStop {
					w.put(" ", s.Role, 1)
				}
				continue
			}
			w.put(cluster, s.Role, width)
		}
	}
	return w.done()
}

// wrapper fills lines. A word may span several spans.
type wrapper struct {
	columns int
	lines   []Line
	line    Line   // without its last span
	last    []byte // the text of the last span, grown in place
	lastIn  Role   // its role
	used    int    // columns of line
	word    Line   // text that must not be separated from its beginning
	width   int    // of word
	blank   int    // spaces between line and word
	role    Role   // of those
}

func (w *wrapper) span(s Span) {
	state := -1
	for rest := s.Text; rest != ""; {
		var segment string
		segment, rest, _, state = uniseg.FirstLineSegmentInString(rest, state)
		text := strings.TrimRight(segment, " \t")
		w.add(text, s.Role)
		if blanks := len(segment) - len(text); blanks > 0 {
			w.flushWord()
			for i := range blanks {
				if segment[len(text)+i] == '\t' {
					w.blank += tabStop - (w.used+w.blank)%tabStop
				} else {
					w.blank++
				}
			}
			w.role = s.Role
		} else if rest != "" && !w.inFlag() {
			w.flushWord()
		}
	}
}

// add makes text part of the current word.
func (w *wrapper) add(text string, r Role) {
	if text == "" {
		return
	}
	text = strings.ReplaceAll(text, "\t", " ")
	w.word = w.word.Append(r, text)
	w.width += Width(text)
}

// inFlag reports whether the current word ends at a hyphen of a flag such as --resume: a person types a flag as it
// stands, so it stays on one line.
func (w *wrapper) inFlag() bool {
	if len(w.word) == 0 || !strings.HasSuffix(w.word[len(w.word)-1].Text, "-") {
		return false
	}
	return strings.HasPrefix(strings.TrimLeft(w.word[0].Text, "([{'\"`"), "-")
}

// flushWord puts the current word on this line, or on the next.
func (w *wrapper) flushWord() {
	if len(w.word) == 0 {
		return
	}
	word, width := w.word, w.width
	w.word, w.width = nil, 0
	if w.used > 0 && w.used+w.blank+width > w.columns {
		w.newLine()
	} else {
		if w.used == 0 { // better less of an indent than a broken word
			w.blank = min(w.blank, max(w.columns-width, w.columns/2))
		}
		for w.blank > 0 {
			w.blank--
			w.put(" ", w.role, 1)
		}
	}
	for _, s := range word {
		if w.used+Width(s.Text) <= w.columns {
			w.put(s.Text, s.Role, Width(s.Text))
			continue
		}
		for rest := s.Text; rest != ""; {
			var cluster string
			var n int
			cluster, rest, n = first(rest)
			w.put(cluster, s.Role, n)
		}
	}
}

func (w *wrapper) newLine() {
	w.closeSpan()
	w.lines = append(w.lines, w.line)
	w.line, w.used, w.blank = nil, 0, 0
}

func (w *wrapper) closeSpan() {
	if len(w.last) > 0 {
		w.line = append(w.line, Span{string(w.last), w.lastIn})
		w.last = w.last[:0]
	}
}

func (w *wrapper) done() []Line {
	w.closeSpan()
	return append(w.lines, w.line)
}

func (w *wrapper) put(cluster string, r Role, width int) {
	if w.used > 0 && w.used+width > w.columns {
		w.newLine()
	}
	w.append(cluster, r)
	w.used += width
}

func (w *wrapper) append(text string, r Role) {
	if w.lastIn != r {
		w.closeSpan()
		w.lastIn = r
	}
	w.last = append(w.last, text...)
}
