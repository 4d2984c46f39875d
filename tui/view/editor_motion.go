package view

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

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

// vertical moves the cursor by a row, and reports whether there was one.
func (e *buffer) vertical(by int) bool {
	row := e.row(e.at)
	if row+by < 0 || row+by >= len(e.starts) {
		return false
	}
	if e.want < 0 {
		e.want = e.column(e.at)
	}
	e.at = e.find(row+by, e.want)
	e.typing = false
	return true
}

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
