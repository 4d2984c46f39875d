package view

import (
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// buffer is the text, the cursor in it, and where its rows begin.
type buffer struct {
	text   string
	at     int // the cursor: a byte, always at the edge of a cluster
	anchor int // the other end of the selection; -1: there is none
	want   int // the column that moving up and down tries to keep; -1: none

	columns   int   // for which rows are laid out; 0: not yet
	starts    []int // where each row begins; the first is 0
	chipWidth func(id int) int

	undone, redone []version
	typing         bool // the last change may be extended
}

// version is a text that can be restored, with its cursor.
type version struct {
	text string
	at   int
}

// Bounds of what can be undone.
const (
	undoSteps = 1000
	undoBytes = 8 << 20
)

// lay sets the width. The last column is reserved for the cursor.
func (e *buffer) lay(width int) {
	columns := max(width-1, 1)
	if columns == e.columns {
		return
	}
	e.columns = columns
	e.starts = e.breaks(e.text)
}

// breaks returns the starts of the rows of a text.
func (e *buffer) breaks(s string) []int {
	starts, w := append(e.starts[:0], 0), e.walk(s)
	column, offset := 0, 0
	edge, edgeColumn := -1, 0 // the last possible break
	begin := 0                // of this row
	for w.rest != "" {
		p := w.next()
		if p.text == "\n" {
			offset++
			starts = append(starts, offset)
			column, edge, begin = 0, -1, offset
			continue
		}
		n := min(p.columns(column), e.columns)
		for column > 0 && column+n > e.columns && p.text != " " && p.text != "\t" {
			if edge > begin {
				begin, column = edge, column-edgeColumn
			} else {
				begin, column = offset, 0
			}
			starts = append(starts, begin)
			edge = -1
		}
		column += n
		offset += len(p.text)
		if p.ends {
			edge, edgeColumn = offset, column
		}
	}
	return starts
}

// splice replaces text[from:to], and lays the rows out again. A long paste is a chip, so the text is short.
func (e *buffer) splice(from, to int, s string) {
	e.text = e.text[:from] + s + e.text[to:]
	if e.columns > 0 {
		e.starts = e.breaks(e.text)
	}
}

// replace is an edit by the person at the keyboard: it can be undone, typed letters as whole words. The cursor goes
// behind the new text.
func (e *buffer) replace(from, to int, s string, typed bool) {
	if from == to && s == "" {
		return
	}
	if !typed || !e.typing || from != to || e.at != from {
		e.undone = append(e.undone, version{e.text, e.at})
	}
	e.redone = nil
	held := 0
	for _, v := range e.undone {
		held += len(v.text)
	}
	for len(e.undone) > undoSteps || held > undoBytes && len(e.undone) > 1 {
		held -= len(e.undone[0].text)
		e.undone = slices.Delete(e.undone, 0, 1)
	}
	e.splice(from, to, s)
	e.at, e.anchor, e.want = e.edge(from+len(s)), -1, -1
	e.typing = typed && s != " " && s != "\n"
}

func (e *buffer) step(from, to *[]version) {
	n := len(*from)
	if n == 0 {
		return
	}
	v := (*from)[n-1]
	*from, *to = (*from)[:n-1], append(*to, version{e.text, e.at})
	e.splice(0, len(e.text), v.text)
	e.at, e.anchor, e.want, e.typing = e.edge(v.at), -1, -1, false
}

// selected returns the selection, in bytes; if there is none, both are the cursor.
func (e *buffer) selected() (from, to int) {
	if e.anchor < 0 {
		return e.at, e.at
	}
	return min(e.at, e.anchor), max(e.at, e.anchor)
}

// row returns the number of the row that contains a byte.
func (e *buffer) row(at int) int {
	if e.columns == 0 {
		e.lay(80)
	}
	return sort.SearchInts(e.starts, at+1) - 1
}

// bounds returns the bytes of a row, without its newline; soft reports that it ends only because it is
// full.
func (e *buffer) bounds(row int) (from, to int, soft bool) {
	from, to = e.starts[row], len(e.text)
	if row+1 < len(e.starts) {
		to = e.starts[row+1]
		if e.text[to-1] == '\n' {
			return from, to - 1, false
		}
		return from, to, true
	}
	return from, to, false
}

// column returns the column of a byte within its row.
func (e *buffer) column(at int) int {
	from := e.starts[e.row(at)]
	w, column := e.walk(e.text[from:at]), 0
	for w.rest != "" {
		column += min(w.next().columns(column), e.columns)
	}
	return column
}

// find returns the byte nearest to a column of a row.
func (e *buffer) find(row, column int) int {
	from, to, soft := e.bounds(row)
	w, at, x := e.walk(e.text[from:to]), from, 0
	for w.rest != "" {
		p := w.next()
		n := min(p.columns(x), e.columns)
		if x+n > column && n > 0 || soft && w.rest == "" {
			break
		}
		at += len(p.text)
		x += n
	}
	return at
}

// edge returns the first edge of a cluster at or after a byte.
func (e *buffer) edge(at int) int {
	if at <= 0 || at >= len(e.text) {
		return max(min(at, len(e.text)), 0)
	}
	from := e.starts[e.row(at)]
	for w := e.walk(e.text[from:]); from < at; {
		from += len(w.next().text)
	}
	return from
}

// left and right return the neighbouring edges.
func (e *buffer) left(at int) int {
	if at == 0 {
		return 0
	}
	from := e.starts[e.row(at-1)]
	for w := e.walk(e.text[from:]); ; {
		next := from + len(w.next().text)
		if next >= at {
			return from
		}
		from = next
	}
}

func (e *buffer) right(at int) int {
	if at >= len(e.text) {
		return len(e.text)
	}
	w := e.walk(e.text[at:])
	return at + len(w.next().text)
}

// lineStart and lineEnd return the ends of the line, which may have many rows.
func (e *buffer) lineStart(at int) int { return strings.LastIndexByte(e.text[:at], '\n') + 1 }

func (e *buffer) lineEnd(at int) int {
	if n := strings.IndexByte(e.text[at:], '\n'); n >= 0 {
		return at + n
	}
	return len(e.text)
}

// wordLeft returns the beginning of the previous word; word decides which runes belong to words.
func (e *buffer) wordLeft(at int, word func(rune) bool) int {
	begun := false
	for at > 0 {
		r, size := utf8.DecodeLastRuneInString(e.text[:at])
		if string(r) == chipClose {
			if begun {
				break
			}
			return max(strings.LastIndex(e.text[:at], chipOpen), 0)
		}
		if word(r) {
			begun = true
		} else if begun {
			break
		}
		at -= size
	}
	return e.edge(at)
}

// wordRight returns the end of the next word.
func (e *buffer) wordRight(at int, word func(rune) bool) int {
	begun := false
	for at < len(e.text) {
		if chip, _, ok := chipAt(e.text[at:]); ok {
			if begun {
				break
			}
			return at + len(chip)
		}
		r, size := utf8.DecodeRuneInString(e.text[at:])
		if word(r) {
			begun = true
		} else if begun {
			break
		}
		at += size
	}
	return e.edge(at)
}

// lettersEditor accepts the runes of words in prose; solid those of words in a shell.
func lettersEditor(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

func solid(r rune) bool { return !unicode.IsSpace(r) }

// move sets the cursor, and extends the selection or ends it.
func (e *buffer) move(to int, extend bool) {
	switch {
	case !extend:
		e.anchor = -1
	case e.anchor < 0:
		e.anchor = e.at
	}
	e.at, e.want, e.typing = to, -1, false
	if e.anchor == e.at {
		e.anchor = -1
	}
}

// A chip is represented in the text by its number between two noncharacters, which sanitised text never
// contains.
const (
	chipOpen  = "\ufdd0"
	chipClose = "\ufdd1"
)

// editorTabStop is how many columns a tab reaches over at most, as in package cell.
const editorTabStop = 4

func chipText(id int) string { return chipOpen + strconv.Itoa(id) + chipClose }

// chipAt returns the chip at the beginning of s: its text and its number.
func chipAt(s string) (cluster string, id int, ok bool) {
	if !strings.HasPrefix(s, chipOpen) {
		return "", 0, false
	}
	end := strings.Index(s[:min(len(s), 32)], chipClose)
	if end < 0 {
		return "", 0, false
	}
	id, err := strconv.Atoi(s[len(chipOpen):end])
	return s[:end+len(chipClose)], id, err == nil
}

// walker iterates over the clusters of a text. It assumes that the text begins with a whole cluster.
type walker struct {
	rest  string
	state int
	label func(id int) int // columns of a chip
}

// editorPiece is one cluster: what the cursor steps over.
type editorPiece struct {
	text  string
	width int  // in columns; that of a tab depends on its column
	id    int  // of a chip, else 0
	ends  bool // a line may be broken after it
}

func (e *buffer) walk(s string) walker { return walker{rest: s, state: -1, label: e.chipWidth} }

// next returns the next cluster; rest must not be empty.
func (w *walker) next() editorPiece {
	s := w.rest
	if c := s[0]; c < 0x80 && (len(s) == 1 || s[1] < 0x80) {
		w.rest, w.state = s[1:], -1
		p := editorPiece{text: s[:1], width: 1}
		switch {
		case c < ' ' || c == 0x7f:
			p.width = 0
			p.ends = c == '\t'
		case c == ' ':
			p.ends = len(s) == 1 || s[1] != ' '
		case c == '-':
			p.ends = len(s) > 1 && (s[1]|0x20 >= 'a' && s[1]|0x20 <= 'z')
		}
		return p
	}
	if cluster, id, ok := chipAt(s); ok {
		w.rest, w.state = s[len(cluster):], -1
		return editorPiece{text: cluster, width: w.label(id), id: id, ends: true}
	}
	cluster, rest, bounds, state := uniseg.StepString(s, w.state)
	if at := strings.Index(cluster, chipOpen); at > 0 { // behind a mark that combines with the following character
		w.rest, w.state = s[at:], -1
		return editorPiece{text: s[:at], width: uniseg.StringWidth(s[:at]), ends: true}
	}
	w.rest, w.state = rest, state
	return editorPiece{
		text: cluster, width: bounds >> uniseg.ShiftWidth,
		ends: bounds&uniseg.MaskLine == uniseg.LineCanBreak || strings.HasPrefix(rest, chipOpen),
	}
}

// columns returns the width of a cluster that begins in a column.
func (p editorPiece) columns(at int) int {
	if p.text == "\t" {
		return editorTabStop - at%editorTabStop
	}
	return p.width
}
