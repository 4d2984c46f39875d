package view

import (
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// Above these bounds a paste becomes a chip; the last one bounds all pastes together.
const (
	pasteLines = 8
	pasteRunes = 1000
	pasteBytes = 64 << 20
)

// chip is a paste that is not shown in full.
type chip struct {
	text  string
	label string
}

// chips are the pastes that a text contains, or that an undo would restore.
type chips struct {
	byID  map[int]chip
	last  int // the latest id
	bytes int // of all texts
}

// Paste inserts a paste into the text, or as a chip if it is long. Nothing of it is executed, and it never
// sends.
func (c *Editor) Paste(text string) {
	text = sanitize.Text(text)
	switch {
	case text == "":
		return
	case c.OnPaste != nil && c.OnPaste(text):
		return
	case long(text):
		c.pasteChip(text)
	default:
		c.insert(text, false)
	}
	c.complete(false)
	c.changed()
}

func long(text string) bool {
	return strings.Count(strings.TrimSuffix(text, "\n"), "\n") >= pasteLines ||
		len(text) > pasteRunes && utf8.RuneCountInString(text) > pasteRunes
}

func (c *Editor) pasteChip(text string) {
	if c.canKeepPaste(len(text)) {
		c.insert(c.chips.newChip(text), false)
	}
}

// InsertMark inserts a text at the cursor of an editor that behaves as one character: it is removed only as
// a whole.
func InsertMark(c *Editor, text string) {
	c.closePopup()
	text = sanitize.Line(text, 100)
	c.chips.last++
	c.chips.byID[c.chips.last] = chip{text: text, label: text}
	c.chips.bytes += len(text)
	c.insert(chipText(c.chips.last)+" ", false)
	c.changed()
}

// canKeepPaste reports whether a text can be kept as a chip, and shows a notice if not.
func (c *Editor) canKeepPaste(n int) bool {
	if c.chips.bytes+n > pasteBytes {
		c.prune()
	}
	if c.chips.bytes+n <= pasteBytes {
		return true
	}
	c.notice(fmt.Sprintf(
		"That text is too large (%s; %s more can be held): save it to a file and name the file with @.", words.Bytes(n),
		words.Bytes(pasteBytes-c.chips.bytes)))
	return false
}

// newChip keeps a text and returns the characters that represent it.
func (s *chips) newChip(text string) string {
	s.last++
	lines := strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1
	word := "lines"
	if lines == 1 {
		word = "line"
	}
	label := fmt.Sprintf("[paste %d: %s %s, %s]", s.last, words.Number(lines), word, words.Bytes(len(text)))
	s.byID[s.last] = chip{text: text, label: label}
	s.bytes += len(text)
	return chipText(s.last)
}

// prune drops the chips that are no longer in the text, and the undo history with them.
func (c *Editor) prune() {
	texts := []string{c.ed.text, c.killed}
	for _, draft := range c.hist.drafts {
		texts = append(texts, draft)
	}
	used := map[int]bool{}
	for _, raw := range texts {
		for _, id := range parts(raw) {
			used[id] = true
		}
	}
	for id, chip := range c.chips.byID {
		if !used[id] {
			c.chips.bytes -= len(chip.text)
			delete(c.chips.byID, id)
		}
	}
	c.ed.undone, c.ed.redone, c.ed.held, c.ed.typing = nil, nil, 0, false
}

// parts splits a text at its chips, each with its number; 0: the part is text.
func parts(raw string) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for raw != "" {
			i := strings.Index(raw, chipOpen)
			if i < 0 {
				i = len(raw)
			}
			if i > 0 && !yield(raw[:i], 0) {
				return
			}
			if raw = raw[i:]; raw == "" {
				return
			}
			cluster, id, ok := chipAt(raw)
			if !ok {
				cluster = chipOpen
			}
			if !yield(cluster, id) {
				return
			}
			raw = raw[len(cluster):]
		}
	}
}

// expand replaces the chips by their pastes.
func (s *chips) expand(raw string) string {
	if !strings.Contains(raw, chipOpen) {
		return raw
	}
	var b strings.Builder
	b.Grow(s.expandedSize(raw))
	for text, id := range parts(raw) {
		if strings.HasPrefix(text, chipOpen) {
			text = s.byID[id].text
		}
		b.WriteString(text)
	}
	return b.String()
}

// expandedSize returns the length of the expanded text in bytes.
func (s *chips) expandedSize(raw string) (n int) {
	for text, id := range parts(raw) {
		if strings.HasPrefix(text, chipOpen) {
			text = s.byID[id].text
		}
		n += len(text)
	}
	return n
}
