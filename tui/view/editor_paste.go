package view

import (
	"fmt"
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
	case c.search == nil && c.OnPaste != nil && c.OnPaste(text):
		return
	case c.search != nil:
		line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		recall{c}.searchType(line)
		return
	case long(text):
		c.pasteChip(text)
	default:
		c.insert(text, false)
	}
	completer{c}.complete(false)
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
	c.endPopups(true)
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
	used := map[int]bool{}
	mark := func(raw string) {
		for {
			i := strings.Index(raw, chipOpen)
			if i < 0 {
				return
			}
			cluster, id, ok := chipAt(raw[i:])
			if !ok {
				cluster = chipOpen
			}
			used[id] = true
			raw = raw[i+len(cluster):]
		}
	}
	mark(c.ed.text)
	mark(c.killed)
	for _, draft := range c.hist.drafts {
		mark(draft)
	}
	if c.search != nil {
		mark(c.search.kept.text)
	}
	for id, chip := range c.chips.byID {
		if !used[id] {
			c.chips.bytes -= len(chip.text)
			delete(c.chips.byID, id)
		}
	}
	c.ed.undone, c.ed.redone, c.ed.held, c.ed.typing = nil, nil, 0, false
}

// expand replaces the chips by their pastes.
func (s *chips) expand(raw string) string {
	if !strings.Contains(raw, chipOpen) {
		return raw
	}
	var b strings.Builder
	b.Grow(len(raw) + s.expandedSize(raw))
	for raw != "" {
		i := strings.Index(raw, chipOpen)
		if i < 0 {
			break
		}
		b.WriteString(raw[:i])
		cluster, id, ok := chipAt(raw[i:])
		if !ok {
			cluster = chipOpen
		}
		b.WriteString(s.byID[id].text)
		raw = raw[i+len(cluster):]
	}
	b.WriteString(raw)
	return b.String()
}

// expandedSize returns the length of the expanded text in bytes.
func (s *chips) expandedSize(raw string) int {
	n := len(raw)
	for {
		i := strings.Index(raw, chipOpen)
		if i < 0 {
			return n
		}
		cluster, id, ok := chipAt(raw[i:])
		if !ok {
			cluster = chipOpen
		}
		n += len(s.byID[id].text) - len(cluster)
		raw = raw[i+len(cluster):]
	}
}
