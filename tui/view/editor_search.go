package view

import (
	"strings"
	"unicode"

	"github.com/arbiter-cli/arbiter/sanitize"
)

// editorSearch is an incremental search of the history in progress. The editor shows what was found; the previous
// text and its undo history are kept.
type editorSearch struct {
	needle string
	at     int  // the entry found; -1: none yet
	failed bool // no entry, or no further one, contains the needle
	kept   buffer
}

// needleRunes bounds what is searched for.
const needleRunes = 200

// recall shows texts of the history in the editor.
type recall struct{ *Editor }

// Search begins to search the history backwards.
func (c *Editor) Search() {
	if c.search != nil {
		return
	}
	completer{c}.closePopup()
	c.search = &editorSearch{at: -1, kept: c.ed}
	recall{c}.preview(c.ed.text, c.ed.at)
}

// Searching reports whether a search of the history is in progress.
func (c *Editor) Searching() bool { return c.search != nil }

// preview shows a text in an editor of its own.
func (h recall) preview(text string, cursor int) {
	h.ed = buffer{columns: h.ed.columns, chipWidth: h.ed.chipWidth}
	h.ed.reset(text)
	if h.ed.columns == 0 {
		h.ed.starts = []int{0}
	}
	h.ed.at = h.ed.edge(cursor)
	h.changed()
}

// seek looks for the needle from an entry on, and reports whether it was found. Otherwise the previous
// result stays.
func (h recall) seek(from, by int) bool {
	s := h.search
	i, ok := h.hist.find(s.needle, from, by)
	if s.failed = !ok; ok {
		s.at = i
		text := h.hist.entries[i]
		at, n := indexFold(text, s.needle)
		h.preview(text, at+n)
	}
	return ok
}

// anew searches again after the needle has changed. While it is not found, the text is that from before the
// search.
func (h recall) anew(from int) {
	if s := h.search; s.needle == "" || !h.seek(from, -1) {
		s.at, s.failed = -1, s.needle != ""
		h.preview(s.kept.text, s.kept.at)
	}
}

// searchType appends to the needle: the current entry may still contain it.
func (h recall) searchType(text string) {
	s := h.search
	s.needle = sanitize.Line(s.needle+text, needleRunes)
	from := len(h.hist.entries) - 1
	if s.at >= 0 {
		from = s.at
	}
	h.anew(from)
}

// searchErase shortens the needle, and searches from the beginning.
func (h recall) searchErase() {
	if s := h.search; s.needle != "" {
		runes := []rune(s.needle)
		s.needle = string(runes[:len(runes)-1])
		h.anew(len(h.hist.entries) - 1)
	}
}

// searchNext goes to an older or newer entry that contains the needle.
func (h recall) searchNext(by int) {
	s := h.search
	if s.at >= 0 {
		h.seek(s.at+by, by)
	}
}

// searchEnd keeps what was found as the text, or restores the previous text.
func (h recall) searchEnd(keep bool) {
	s, cursor := h.search, h.ed.at
	h.search = nil
	h.ed = s.kept
	if keep && s.at >= 0 {
		if text, ok := h.hist.turn(s.at, h.ed.text); ok {
			h.replaceAll(text, cursor)
		}
	}
	h.changed()
}

// replaceAll makes an entry of the history the text.
func (c *Editor) replaceAll(text string, cursor int) {
	c.ed.replace(0, len(c.ed.text), text, false)
	c.ed.at = c.ed.edge(cursor)
	completer{c}.closePopup()
}

// older and newer move through the history; they report whether there was such an entry.
func (h recall) older() bool { return h.turn(h.hist.at - 1) }
func (h recall) newer() bool { return h.turn(h.hist.at + 1) }

func (h recall) turn(to int) bool {
	text, ok := h.hist.turn(to, h.ed.text)
	if ok {
		h.replaceAll(text, len(text))
		h.changed()
	}
	return ok
}

// indexFold returns where a needle is in a text, ignoring case, and its length there.
func indexFold(text, needle string) (at, size int) {
	n := []rune(strings.ToLower(needle))
	if len(n) == 0 {
		return 0, 0
	}
	for i := range text {
		j, k := i, 0
		for _, r := range text[i:] {
			if k == len(n) || unicode.ToLower(r) != n[k] {
				break
			}
			j += len(string(r))
			k++
		}
		if k == len(n) {
			return i, j - i
		}
	}
	return -1, 0
}
