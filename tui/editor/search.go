package editor

import (
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
)

// search is an incremental search in the history, under way. The editor shows what
// was found; what stood there is kept aside, with all that can be undone in it.
type search struct {
	needle string
	at     int  // the entry found; -1: none yet
	failed bool // there is none that holds the needle, or no further one
	kept   buffer
}

// needleRunes bounds what is searched for.
const needleRunes = 200

// Search begins to search the history backwards.
func (c *Editor) Search() {
	if c.search != nil {
		return
	}
	c.closePopup()
	c.search = &search{at: -1, kept: c.ed}
	c.preview(c.ed.text, c.ed.at)
}

// Searching reports whether a search of the history is under way.
func (c *Editor) Searching() bool { return c.search != nil }

// preview shows a text in an editor of its own.
func (c *Editor) preview(text string, cursor int) {
	c.ed = buffer{columns: c.ed.columns, chipWidth: c.ed.chipWidth}
	c.ed.reset(text)
	if c.ed.columns == 0 {
		c.ed.starts = []int{0}
	}
	c.ed.at = c.ed.edge(cursor)
	c.changed()
}

// seek looks for the needle from an entry on, and reports whether it is there. What
// was found before stays if it is not.
func (c *Editor) seek(from, by int) bool {
	s := c.search
	i, ok := c.hist.find(s.needle, from, by)
	if s.failed = !ok; ok {
		s.at = i
		text := c.hist.entries[i]
		at, n := indexFold(text, s.needle)
		c.preview(text, at+n)
	}
	return ok
}

// anew looks for a needle that has changed. While it is nowhere, the text is what it
// was before the search.
func (c *Editor) anew(from int) {
	if s := c.search; s.needle == "" || !c.seek(from, -1) {
		s.at, s.failed = -1, s.needle != ""
		c.preview(s.kept.text, s.kept.at)
	}
}

// searchType makes the needle longer: what was found may still hold it.
func (c *Editor) searchType(text string) {
	s := c.search
	s.needle = sanitize.Line(s.needle+text, needleRunes)
	from := len(c.hist.entries) - 1
	if s.at >= 0 {
		from = s.at
	}
	c.anew(from)
}

// searchErase makes it shorter, and begins anew.
func (c *Editor) searchErase() {
	if s := c.search; s.needle != "" {
		runes := []rune(s.needle)
		s.needle = string(runes[:len(runes)-1])
		c.anew(len(c.hist.entries) - 1)
	}
}

// searchNext goes to an older entry that holds the needle, or to a newer one.
func (c *Editor) searchNext(by int) {
	s := c.search
	if s.at >= 0 {
		c.seek(s.at+by, by)
	}
}

// searchEnd makes what was found the text, or puts back what stood there.
func (c *Editor) searchEnd(keep bool) {
	s, cursor := c.search, c.ed.at
	c.search = nil
	c.ed = s.kept
	if keep && s.at >= 0 {
		if text, ok := c.hist.turn(s.at, c.ed.text); ok {
			c.recall(text, cursor)
		}
	}
	c.changed()
}

// recall makes a text of the history the text.
func (c *Editor) recall(text string, cursor int) {
	c.ed.replace(0, len(c.ed.text), text, false)
	c.ed.at = c.ed.edge(cursor)
	c.closePopup()
}

// older and newer go through the history; they report whether there was a way to go.
func (c *Editor) older() bool { return c.turn(c.hist.at - 1) }
func (c *Editor) newer() bool { return c.turn(c.hist.at + 1) }

func (c *Editor) turn(to int) bool {
	text, ok := c.hist.turn(to, c.ed.text)
	if ok {
		c.recall(text, len(text))
		c.changed()
	}
	return ok
}

// indexFold is where a needle stands in a text, case aside, and how long it is there.
func indexFold(text, needle string) (at, size int) {
	n := []rune(strings.ToLower(needle))
	if len(n) == 0 {
		return 0, 0
	}
	for i := range text {
		j, k := i, 0
		for _, r := range text[i:] {
			if k == len(n) || fold(r) != n[k] {
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
