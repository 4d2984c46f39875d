package markdown

import "strings"

// indentation returns the columns of blanks at the beginning of a line, and the text after them.
func indentation(s string) (columns int, text string) {
	for i := range len(s) {
		switch s[i] {
		case ' ':
			columns++
		case '\t':
			columns += 4 - columns%4
		case '\r', '\f', '\v':
		default:
			return columns, s[i:]
		}
	}
	return columns, ""
}

// dedent removes up to so many columns of blanks from the beginning of a line, and returns how many it
// removed.
func dedent(s string, columns int) (string, int) {
	n := 0
	for i := range len(s) {
		switch {
		case n >= columns:
			return strings.Repeat(" ", n-columns) + s[i:], columns
		case s[i] == ' ':
			n++
		case s[i] == '\t':
			n += 4 - n%4
		default:
			return s[i:], n
		}
	}
	return strings.Repeat(" ", max(n-columns, 0)), min(n, columns)
}

// dedentAll dedents each line.
func dedentAll(s string, columns int) string {
	if columns == 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for line := range strings.SplitAfterSeq(s, "\n") {
		line, _ = dedent(line, columns)
		b.WriteString(line)
	}
	return b.String()
}

// trimLines removes the blanks before each line, and the end of the last.
func trimLines(s string) string {
	return strings.TrimRight(dedentAll(s, len(s)), "\n")
}

// marker is the beginning of a list item.
type marker struct {
	char    byte // - + * . )
	ordered bool
	number  int
	offset  int // columns from the marker to the contents
	text    string
}

func (m marker) same(n marker) bool { return m.char == n.char }

// interrupts reports whether the item may follow a paragraph without a blank line.
func (m marker) interrupts() bool {
	return m.text != "" && (!m.ordered || m.number == 1)
}

// parseMarker reads the marker at the beginning of a line, after its indentation.
func parseMarker(s string) (marker, bool) {
	var m marker
	i := 0
	for i < len(s) && i < 9 && s[i] >= '0' && s[i] <= '9' {
		m.number = m.number*10 + int(s[i]-'0')
		i++
	}
	m.ordered = i > 0
	if i == len(s) {
		return m, false
	}
	m.char = s[i]
	if m.ordered != (m.char == '.' || m.char == ')') || !m.ordered && m.char != '-' && m.char != '+' && m.char != '*' {
		return m, false
	}
	i++
	if i < len(s) && s[i] != ' ' && s[i] != '\t' {
		return m, false
	}
	columns, text := indentation(s[i:])
	if text == "" || columns > 4 {
		columns = 1
	}
	m.offset, m.text = i+columns, text
	return m, true
}

// isRule reports whether a line is a thematic break.
func isRule(s string) bool {
	n := 0
	for i := range len(s) {
		switch {
		case s[i] == s[0] && (s[0] == '-' || s[0] == '*' || s[0] == '_'):
			n++
		case s[i] != ' ' && s[i] != '\t':
			return false
		}
	}
	return n > 2
}

func isHeading(s string) bool {
	n := run(s, '#')
	return n > 0 && n < 7 && (n == len(s) || s[n] == ' ' || s[n] == '\t')
}

func startsHTML(s string) bool {
	if len(s) < 2 || s[0] != '<' {
		return false
	}
	c := s[1] | 0x20
	return c >= 'a' && c <= 'z' || s[1] == '/' || s[1] == '!' || s[1] == '?'
}

// startsBlock reports whether a line cannot continue a paragraph.
func startsBlock(s string) bool {
	_, fence := parseFence(s)
	return fence || s[0] == '>' || isHeading(s) || isRule(s)
}

// isText reports whether a line can only belong to a paragraph.
func isText(s string) bool {
	columns, text := indentation(s)
	_, item := parseMarker(text)
	return text != "" && (columns < 4 || item) && text[0] != '>' && text[0] != '|'
}

// fenceMark opens a block of code.
type fenceMark struct {
	char byte // ` ~
	n    int
	info string
}

func parseFence(s string) (fenceMark, bool) {
	if s == "" || s[0] != '`' && s[0] != '~' {
		return fenceMark{}, false
	}
	f := fenceMark{char: s[0], n: run(s, s[0])}
	if f.n < 3 || f.char == '`' && strings.IndexByte(s[f.n:], '`') >= 0 {
		return fenceMark{}, false
	}
	f.info = strings.TrimSpace(s[f.n:])
	return f, true
}

// maxMarkers bounds the items that may begin on one line before a block of code.
const maxMarkers = 4

// findFence returns the fence at the beginning of a line, or after markers of items.
func findFence(s string) (skip int, f fenceMark, ok bool) {
	for range maxMarkers {
		if f, ok = parseFence(s[skip:]); ok {
			return skip, f, true
		}
		m, item := parseMarker(s[skip:])
		if !item || m.text == "" {
			break
		}
		skip = len(s) - len(m.text)
	}
	return 0, fenceMark{}, false
}

// closes reports whether a line closes the block of code.
func (f fenceMark) closes(l line) bool {
	n := run(l.text, f.char)
	return n >= f.n && strings.TrimSpace(l.text[n:]) == ""
}

// lang returns the name of the language.
func (f fenceMark) lang() string {
	name := strings.TrimLeft(f.info, "{. ")
	if i := strings.IndexAny(name, " \t,:{}"); i >= 0 {
		name = name[:i]
	}
	return name
}

// run returns how many times c occurs at the beginning of s.
func run(s string, c byte) int {
	n := 0
	for n < len(s) && s[n] == c {
		n++
	}
	return n
}
