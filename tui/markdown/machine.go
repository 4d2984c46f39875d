package markdown

import (
	"strings"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// Maximum length of a piece and of a line, after which they are cut anywhere.
const (
	pieceLimit = 6 << 10
	tableLimit = 16 << 10
)

// kind is the kind of a piece.
type kind uint8

const (
	none  kind = iota
	prose      // blocks at the left margin
	item       // of a list at the left margin
	rest       // the rest of an item after a block of code
	flow       // a paragraph that was cut
	fence      // code, laid out line by line
)

// machine cuts a text into pieces, line by line, and lays out each when it ends. It is a value: a copy
// continues independently, as long as only the lines of one are used.
type machine struct {
	lay     layout
	src     string
	at      int // how much of src was consumed
	out     []render.Line
	hopeful bool // the text continues: open elements look like closed ones

	inside bool // the next segment continues a line that was cut
	blank  bool // the line before was blank
	gap    bool // an empty line precedes the next output

	kind      kind // of the open piece
	from, end int  // where it is in src; end is after its last line that is not blank
	last      int  // where its last line begins
	base      int  // columns by which its lines are moved to the left
	raw       bool // HTML, up to a blank line
	fluid     bool // its last line may be a paragraph's
	head      string
	cutTable  bool // the head was not in the piece itself

	list   list
	fence  fenceMark
	coder  coder
	empty  bool // no line of the code was output yet
	before kind // of the piece before
}

// list is the open list at the left margin.
type list struct {
	open   bool
	mark   marker
	number int // of the current item
	offset int // column where its contents begin
	hang   int // column where they are shown
}

func newMachine(o Options) machine {
	return machine{lay: layout{width: o.width(), glyphs: o.glyphs(), role: o.Role}}
}

// tail consumes all complete lines, and returns the incomplete one.
func (m *machine) tail() (from, to, next int, whole bool) {
	for {
		from = m.at
		to, next, whole = m.segment()
		if next < 0 {
			return from, to, to, false
		}
		m.at = next
		m.feed(from, to, next, whole)
	}
}

// segment finds the next line, or the first part of a very long one. next is negative if the line is
// incomplete.
func (m *machine) segment() (to, next int, whole bool) {
	ahead := m.src[m.at:]
	if len(ahead) > pieceLimit {
		ahead = ahead[:pieceLimit]
	}
	if i := strings.IndexByte(ahead, '\n'); i >= 0 {
		return m.at + i, m.at + i + 1, true
	}
	if len(m.src)-m.at <= pieceLimit {
		return len(m.src), -1, false
	}
	if i := strings.LastIndexByte(ahead[pieceLimit/2:], ' '); i >= 0 {
		return m.at + pieceLimit/2 + i + 1, m.at + pieceLimit/2 + i + 1, false
	}
	cut := pieceLimit
	for cut > pieceLimit-utf8.UTFMax && !utf8.RuneStart(m.src[m.at+cut]) {
		cut--
	}
	return m.at + cut, m.at + cut, false
}

// line is one line of the text.
type line struct {
	from, to, next int
	indent         int
	text           string // after the indentation
}

// feed handles a line, or a part of one.
func (m *machine) feed(from, to, next int, whole bool) {
	continued := m.inside
	m.inside = !whole && to == next && to < len(m.src)
	if from == to && !whole {
		return
	}
	l := line{from: from, to: to, next: next}
	l.indent, l.text = indentation(m.src[from:to])
	switch {
	case continued:
		m.more(l)
	case m.kind == fence && m.code(l):
	case l.text == "":
		m.blank, m.fluid = true, false
	case m.list.open && l.indent >= m.list.offset:
		m.within(l)
	case m.list.open && m.beside(l):
	default:
		m.top(l)
	}
	if continued || l.text != "" {
		m.blank = false
	}
}

// more continues a line that was cut.
func (m *machine) more(l line) {
	if m.kind == fence {
		m.put(m.coder.row(m.src[l.from:l.to], true, m.widthAt(m.base)), m.indent(m.base))
		return
	}
	m.close()
	m.open(flow, l)
	m.gap = false
	m.extend(l)
}

// within handles a line that belongs to the open item.
func (m *machine) within(l line) {
	if m.fenced(l, true) {
		return
	}
	_, marked := parseMarker(l.text)
	switch {
	case m.kind == none, m.kind == flow && m.blank, m.kind == rest && l.indent < m.base && (m.blank || marked):
		m.close()
		m.open(rest, l)
		m.base = l.indent
	case m.full():
		m.cut(l)
		return
	}
	m.extend(l)
}

// beside handles a line to the left of the open item's contents: another item, or a lazy continuation of a
// paragraph. Otherwise the list has ended.
func (m *machine) beside(l line) bool {
	if mark, ok := parseMarker(l.text); ok && l.indent < 4 && !isRule(l.text) {
		m.item(l, mark)
		return true
	}
	if m.fluid && !m.blank && !startsBlock(l.text) {
		if m.full() {
			m.cut(l)
		} else {
			m.extend(l)
		}
		return true
	}
	m.close()
	m.list.open = false
	return false
}

// top handles a line at the left margin.
func (m *machine) top(l line) {
	fresh := m.kind == none || m.blank
	if l.indent < 4 && (fresh || !m.raw) {
		if m.fenced(l, false) {
			return
		}
		if mark, ok := parseMarker(l.text); ok && !isRule(l.text) && (fresh || mark.interrupts()) {
			m.item(l, mark)
			return
		}
		if isHeading(l.text) {
			m.close()
			m.open(prose, l)
			m.extend(l)
			if !m.inside {
				m.close()
			}
			return
		}
	}
	switch {
	case m.kind == none, m.blank && (l.indent < 4 || m.kind != prose):
		m.close()
		m.open(prose, l)
		m.raw = l.indent < 4 && startsHTML(l.text)
	case m.full():
		m.cut(l)
		return
	}
	m.extend(l)
}

// item opens an item of the list at the left margin. If the item cannot belong to that list, it opens a new
// list.
func (m *machine) item(l line, mark marker) {
	m.close()
	if m.list.open && m.list.mark.same(mark) {
		m.list.number++
	} else {
		m.list = list{open: true, number: mark.number}
	}
	m.list.mark, m.list.offset = mark, l.indent+mark.offset
	m.list.hang = m.lay.hang(mark, m.list.number)
	m.open(item, l)
	if !m.fenced(l, true) {
		m.extend(l)
	}
}

// fenced opens a block of code if the line begins one, alone or after markers of items.
func (m *machine) fenced(l line, marked bool) bool {
	skip, mark, ok := findFence(l.text)
	if !ok || skip > 0 && !marked {
		return false
	}
	gap := m.blank
	if skip > 0 {
		if m.kind == none {
			m.open(rest, l)
			m.base = l.indent
		}
		l.to += skip - len(l.text)
		l.next = l.to
		m.extend(l)
		gap = false
	}
	m.close()
	if !m.list.open {
		gap = true
	}
	m.kind, m.fence, m.gap, m.empty = fence, mark, gap, true
	m.base = l.indent + skip
	m.coder = coder{lay: m.lay, lang: find(mark.lang())}
	if mark.info != "" {
		m.put(m.coder.label(mark.info, m.widthAt(m.base)), m.indent(m.base))
	}
	return true
}

// code handles a line while a block of code is open, and reports whether the line belongs to it.
func (m *machine) code(l line) bool {
	if m.list.open && l.text != "" && l.indent < m.list.offset {
		m.close()
		return false
	}
	if m.fence.closes(l) {
		if !m.inside {
			m.close()
		}
		return true
	}
	text, _ := dedent(m.src[l.from:l.to], m.base)
	m.put(m.coder.row(text, false, m.widthAt(m.base)), m.indent(m.base))
	return true
}

// full reports whether the piece has to be cut.
func (m *machine) full() bool {
	if m.head != "" {
		return m.end-m.from > tableLimit
	}
	return m.end-m.from > pieceLimit
}

// cut ends a piece that is too long before a line.
func (m *machine) cut(l line) {
	head, fluid := m.head, m.fluid && !m.blank && !m.raw && (m.kind == flow || isText(m.src[m.last:m.end]))
	blank := m.blank
	m.close()
	switch {
	case head != "" && !blank:
		m.open(prose, l)
		m.head, m.cutTable = head, true
	case fluid:
		m.open(flow, l)
	case m.list.open && l.indent >= m.list.offset:
		m.open(rest, l)
		m.base = l.indent
	default:
		m.open(prose, l)
	}
	m.gap = blank
	m.extend(l)
}

// open begins a piece.
func (m *machine) open(k kind, l line) {
	m.kind, m.from, m.end, m.last, m.base, m.raw, m.head, m.cutTable = k, l.from, l.from, l.from, 0, false, "", false
	switch {
	case k == rest, k == item && m.before != none && m.before != fence:
		m.gap = m.blank
	default:
		m.gap = true
	}
}

// extend adds a line to the piece.
func (m *machine) extend(l line) {
	if m.kind == prose && m.head == "" && !m.blank && m.last < l.from {
		if isTable(m.src[m.last:m.end], m.src[l.from:l.to]) {
			m.head = m.src[m.last:l.next]
		}
	}
	m.last, m.end, m.fluid = l.from, l.to, true
	if l.to < l.next {
		m.end = l.next
	}
}

// close lays out the open piece.
func (m *machine) close() {
	k, text := m.kind, ""
	if k != none && k != fence {
		text = dedentAll(m.src[m.from:m.end], m.base)
		if m.hopeful && m.end == len(m.src) && !m.raw {
			text = closeOpen(text)
		}
	}
	m.kind, m.fluid = none, false
	switch k {
	case none:
		return
	case prose:
		if m.cutTable {
			text = m.head + text
		}
		m.put(m.lay.blocks(text, 0), "")
	case item:
		m.put(m.lay.blocks(text, m.list.number), "")
	case rest:
		lay := m.lay
		lay.width = m.widthAt(m.base)
		m.put(lay.blocks(text, 0), m.indent(m.base))
	case flow:
		lay := m.lay
		lay.width = m.widthAt(m.list.offset)
		m.put(lay.paragraph(trimLines(text), lay.role), m.indent(m.list.offset))
	case fence:
		if m.empty {
			m.put(m.coder.row("", false, m.widthAt(m.base)), m.indent(m.base))
		}
		if m.list.open {
			k = rest
		}
	}
	m.before = k
}

// widthAt returns the width of something that begins at a column of the source.
func (m *machine) widthAt(column int) int { return m.lay.width - len(m.indent(column)) }

// indent returns the blanks before something that begins at a column of the source.
func (m *machine) indent(column int) string {
	if !m.list.open {
		return ""
	}
	return strings.Repeat(" ", max(min(column-m.list.offset+m.list.hang, m.lay.width/3), 0))
}

// put appends lines to the output.
func (m *machine) put(lines []render.Line, indent string) {
	if len(lines) == 0 {
		return
	}
	if m.gap && len(m.out) > 0 {
		m.out = append(m.out, nil)
	}
	m.gap = false
	m.empty = false
	for _, l := range lines {
		if indent != "" && len(l) > 0 {
			l = append(render.Line{{Text: indent, Role: m.lay.role}}, l...)
		}
		m.out = append(m.out, l)
	}
}
