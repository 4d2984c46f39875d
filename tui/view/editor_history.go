package view

import (
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
)

// Bounds of what is remembered.
const (
	historyEntries = 1000
	historyBytes   = 4 << 20
)

// editorHistory is what was sent before, and the unsent text while the person browses. Changes to an old entry
// are kept until something is sent.
type editorHistory struct {
	entries []string // oldest first
	bytes   int
	at      int            // the entry shown; len(entries): the unsent text
	drafts  map[int]string // changed texts, raw, by entry
}

// add appends a text and drops the drafts.
func (h *editorHistory) add(text string) {
	if text = sanitize.Text(text); strings.TrimSpace(text) != "" &&
		(len(h.entries) == 0 || h.entries[len(h.entries)-1] != text) {
		h.entries = append(h.entries, text)
		h.bytes += len(text)
		drop := 0
		for len(h.entries)-drop > historyEntries || h.bytes > historyBytes && len(h.entries)-drop > 1 {
			h.bytes -= len(h.entries[drop])
			drop++
		}
		h.entries = slices.Delete(h.entries, 0, drop)
	}
	h.leave()
}

// leave returns to a new unsent text.
func (h *editorHistory) leave() { h.at, h.drafts = len(h.entries), nil }

// show returns the text of an entry as it was last seen.
func (h *editorHistory) show(i int) string {
	if draft, ok := h.drafts[i]; ok {
		return draft
	}
	if i < len(h.entries) {
		return h.entries[i]
	}
	return ""
}

// turn goes to another entry; raw is the current text of the editor.
func (h *editorHistory) turn(to int, raw string) (string, bool) {
	if to < 0 || to > len(h.entries) || to == h.at {
		return "", false
	}
	if raw != h.show(h.at) {
		if h.drafts == nil {
			h.drafts = map[int]string{}
		}
		h.drafts[h.at] = raw
	}
	h.at = to
	return h.show(to), true
}

// replaceAll makes an entry of the history the text.
func (c *Editor) replaceAll(text string) {
	c.ed.replace(0, len(c.ed.text), text, false)
	c.closePopup()
}

// older and newer move through the history; they report whether there was such an entry.
func (c *Editor) older() bool { return c.turn(c.hist.at - 1) }
func (c *Editor) newer() bool { return c.turn(c.hist.at + 1) }

func (c *Editor) turn(to int) bool {
	text, ok := c.hist.turn(to, c.ed.text)
	if ok {
		c.replaceAll(text)
		c.changed()
	}
	return ok
}

// Browsing reports whether an earlier text is shown.
func (c *Editor) Browsing() bool { return c.hist.at < len(c.hist.entries) }
