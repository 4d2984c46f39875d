package view

import (
	"slices"
	"sort"
	"strings"
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
	held           int  // bytes of both
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
	e.starts = e.breaks(append(e.starts[:0], 0), 0, e.text)
}

// breaks appends the starts of the rows of s, which begins a row itself and is at offset base of the text.
func (e *buffer) breaks(starts []int, base int, s string) []int {
	w := e.walk(s)
	column, offset := 0, 0
	edge, edgeColumn := -1, 0 // the last possible break
	begin := 0                // of this row
	for w.rest != "" {
		if n := letterRun(w.rest, e.columns-column); n > 0 {
			w.rest, w.state = w.rest[n:], -1
			column += n
			offset += n
			continue
		}
		p := w.next()
		if p.text == "\n" {
			offset++
			starts = append(starts, base+offset)
			column, edge, begin = 0, -1, offset
			continue
		}
		n := min(p.columns(column), e.columns)
		for column > 0 && column+n > e.columns && !p.blank() {
			if edge > begin {
				begin, column = edge, column-edgeColumn
			} else {
				begin, column = offset, 0
			}
			starts = append(starts, base+begin)
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

// letterRun returns how many of the first bytes of s, up to most, are clusters of their own after which no
// line is broken. This holds for most bytes of most texts.
func letterRun(s string, most int) int {
	for i := range min(len(s)-1, most) {
		if c := s[i]; c <= ' ' || c == '-' || c >= 0x7f || s[i+1] >= 0x80 {
			return i
		}
	}
	return max(min(len(s)-1, most), 0)
}

// splice replaces text[from:to] and updates the rows: it breaks only the affected lines again.
func (e *buffer) splice(from, to int, s string) {
	delta := len(s) - (to - from)
	e.text = e.text[:from] + s + e.text[to:]
	if e.columns == 0 {
		return
	}
	begin := strings.LastIndexByte(e.text[:from], '\n') + 1
	end := len(e.text)
	if n := strings.IndexByte(e.text[from+len(s):], '\n'); n >= 0 {
		end = from + len(s) + n
	}
	first := sort.SearchInts(e.starts, begin)
	last := sort.SearchInts(e.starts, end-delta+1)
	fresh := e.breaks([]int{begin}, begin, e.text[begin:end])
	for i := last; i < len(e.starts); i++ {
		e.starts[i] += delta
	}
	e.starts = slices.Replace(e.starts, first, last, fresh...)
}

// replace is an edit by the person at the keyboard: it can be undone, typed letters as whole words. The cursor goes
// behind the new text.
func (e *buffer) replace(from, to int, s string, typed bool) {
	if from == to && s == "" {
		return
	}
	if !typed || !e.typing || from != to || e.at != from {
		e.undone = append(e.undone, version{e.text, e.at})
		e.held += len(e.text)
	}
	e.forget(&e.redone)
	for len(e.undone) > undoSteps || e.held > undoBytes && len(e.undone) > 1 {
		e.held -= len(e.undone[0].text)
		e.undone = slices.Delete(e.undone, 0, 1)
	}
	e.splice(from, to, s)
	e.at, e.anchor, e.want = e.edge(from+len(s)), -1, -1
	e.typing = typed && s != " " && s != "\n"
}

func (e *buffer) forget(list *[]version) {
	for _, v := range *list {
		e.held -= len(v.text)
	}
	*list = nil
}

// undo reverts the last edit, and redo applies it again.
func (e *buffer) undo() bool { return e.step(&e.undone, &e.redone) }
func (e *buffer) redo() bool { return e.step(&e.redone, &e.undone) }

func (e *buffer) step(from, to *[]version) bool {
	n := len(*from)
	if n == 0 {
		return false
	}
	v := (*from)[n-1]
	*from, *to = (*from)[:n-1], append(*to, version{e.text, e.at})
	e.held += len(e.text) - len(v.text)
	e.splice(0, len(e.text), v.text)
	e.at, e.anchor, e.want, e.typing = e.edge(v.at), -1, -1, false
	return true
}

// reset sets a new text without any undo history.
func (e *buffer) reset(text string) {
	e.text, e.at, e.anchor, e.want = text, len(text), -1, -1
	e.undone, e.redone, e.held, e.typing = nil, nil, 0, false
	if e.columns > 0 {
		e.starts = e.breaks(append(e.starts[:0], 0), 0, text)
	}
}

// selected returns the selection, in bytes; if there is none, both are the cursor.
func (e *buffer) selected() (from, to int) {
	if e.anchor < 0 {
		return e.at, e.at
	}
	return min(e.at, e.anchor), max(e.at, e.anchor)
}
