package view

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// This part of the package is the input of the screen: a multi-line editor with history, pastes of any size,
// completion and slash commands, and a list to pick from ([Picker]).
//
// The text is one string. A paste that is too long to read is represented in it by a chip, which is one
// character to the cursor and all of its text to [Editor.Text]. The text area of the widget library was
// tried and rejected: ordinary keys and pastes make it panic with wide clusters and several edits.
//
// All input – keys, pastes, history, candidates – passes package sanitize once, here. Only typed text is
// executed: a paste is never sent by itself, and a chip is never a command.
//
// Everything belongs to the goroutine that draws. No goroutines, no I/O.

// MaxBytes is the maximum length of a message, unless [Editor.MaxBytes] sets another one.
const MaxBytes = 1 << 20

// Editor is the input line. The callbacks may be nil; they run on the goroutine that handles the key.
type Editor struct {
	*tview.Box

	// OnSend receives a message, and OnCommand a slash command. If they return false, the text stays.
	OnSend func(text string) (sent bool)
	// OnPaste handles a paste before it is inserted, and reports whether it did; may be nil.
	OnPaste   func(text string) (taken bool)
	OnCommand func(cmd EditorCommand) (done bool)
	OnCopy    func(text string)
	OnNotice  func(text string)    // a refusal, to be shown to the person
	OnRecall  func(texts []string) // the person looks for one of the texts that were sent before, the oldest first
	// Completer returns candidates at once, later through SetCandidates, or both.
	Completer func(EditorContext) []Candidate
	MaxBytes  int
	Plain     bool // the text is never a command, even with a slash

	look        *render.Look
	placeholder string
	to          string
	strength    string
	toRole      render.Role

	ed       buffer
	top      int // the first row shown
	shown    view
	hist     editorHistory
	popup    popup
	chips    chips
	killed   string // the text last cut with a key, raw
	joiner   string // waits for the character that it joins
	dragging bool
}

// NewEditor returns an empty editor.
func NewEditor(look *render.Look) *Editor {
	c := &Editor{Box: tview.NewBox(), MaxBytes: MaxBytes, look: look, toRole: render.SpeakerHuman,
		chips: chips{byID: map[int]chip{}}}
	c.ed.anchor, c.ed.want = -1, -1
	c.ed.starts = []int{0}
	c.ed.chipWidth = func(id int) int { return len(c.chips.byID[id].label) } // labels are ASCII
	return c
}

// SetPlaceholder sets the text that is shown while the input is empty.
func (c *Editor) SetPlaceholder(text string) { c.placeholder = sanitize.Line(text, 400) }

// SetTo sets the recipient and the strength of the message: "to Orchestrator II", "steer". If both are
// empty, the plain prompt is shown. The role is that of the recipient.
func (c *Editor) SetTo(label, strength string, role render.Role) {
	c.to, c.strength, c.toRole = sanitize.Line(label, 80), sanitize.Line(strength, 20), role
}

// Text returns the text, with the pastes in full.
func (c *Editor) Text() string { return c.chips.expand(c.ed.text) }

// Empty reports whether there is no text.
func (c *Editor) Empty() bool { return c.ed.text == "" }

// SetText replaces the text and puts the cursor at its end. A text that is longer than a message may be
// becomes a chip. It can be undone.
func (c *Editor) SetText(text string) {
	c.closePopup()
	if text = sanitize.Text(text); len(text) > c.MaxBytes {
		if !c.canKeepPaste(len(text)) {
			return
		}
		text = c.chips.newChip(text)
	}
	c.ed.replace(0, len(c.ed.text), text, false)
}

// Begin replaces the text by the beginning of another one. What was written before is among the texts that Up shows.
func (c *Editor) Begin(text string) {
	c.hist.add(c.Text())
	c.SetText(text)
}

// Insert writes at the cursor as a short paste does, such as a path that was picked.
func (c *Editor) Insert(text string) {
	c.closePopup()
	c.insert(sanitize.Text(text), false)
	c.complete(false)
}

// Clear empties the input; it can be undone, and Up shows what was sent before.
func (c *Editor) Clear() {
	c.SetText("")
	c.hist.leave()
}

// Seed puts texts into the history, the oldest first.
func (c *Editor) Seed(texts []string) {
	for _, t := range texts {
		c.hist.add(t)
	}
}

// insert replaces the selection, if there is room.
func (c *Editor) insert(s string, typed bool) {
	if len(c.ed.text)+len(s) > c.MaxBytes {
		c.notice(tooLong(len(c.ed.text)+len(s), c.MaxBytes))
		return
	}
	from, to := c.ed.selected()
	c.ed.replace(from, to, s, typed)
}

func (c *Editor) notice(text string) {
	if c.OnNotice != nil {
		c.OnNotice(text)
	}
}

// tooLong returns the message for a text of n bytes of which at most most are allowed.
func tooLong(n, most int) string {
	return fmt.Sprintf("Too long, not sent (%s): save it in a file and name it with @. A message can have at most %s. "+
		"Nothing is lost.", words.Bytes(n), words.Bytes(most))
}

// Send sends the text, or executes it if it is a slash command. It reports whether the text was accepted;
// otherwise it stays unchanged.
func (c *Editor) Send() bool {
	c.closePopup()
	raw := c.ed.text
	text := c.chips.expand(raw)
	if len(text) > c.MaxBytes {
		c.notice(tooLong(len(text), c.MaxBytes))
		return false
	}
	text = strings.TrimRight(text, " \t\n")
	if strings.TrimSpace(text) == "" {
		return false
	}
	submitted, accept := text, c.OnSend
	switch {
	case c.Plain:
	case slash(raw) && strings.Contains(firstWord(raw), chipOpen):
		c.notice("A paste is not a command: write a space between the command and the paste, or begin with \"//\" to " +
			"send it as text.")
		return false
	case slash(raw):
		cmd, err := ParseSlash(text)
		if err != nil {
			c.notice(Sentence(err.Error()))
			return false
		}
		accept = func(string) bool { return c.OnCommand != nil && c.OnCommand(cmd) }
	case strings.HasPrefix(raw, "//"):
		text = text[1:]
	}
	if accept == nil || !accept(text) {
		return false
	}
	// A callback may have set the next text already.
	if c.ed.text == raw {
		c.ed.text, c.ed.at, c.ed.anchor, c.ed.want = "", 0, -1, -1
		c.ed.starts = []int{0}
	}
	c.hist.add(submitted)
	c.prune()
	return true
}

// Sentence returns s with a capital first letter and a final mark.
func Sentence(s string) string {
	if s == "" {
		return s
	}
	if last := s[len(s)-1]; last != '.' && last != '?' && last != '"' {
		s += "."
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// Copy returns the selection, with its pastes in full, and Cut also removes it.
func (c *Editor) Copy() string {
	from, to := c.ed.selected()
	text := c.chips.expand(c.ed.text[from:to])
	if text != "" && c.OnCopy != nil {
		c.OnCopy(text)
	}
	return text
}

func (c *Editor) Cut() string {
	text := c.Copy()
	from, to := c.ed.selected()
	c.kill(from, to)
	return text
}

func (c *Editor) kill(from, to int) {
	if from == to {
		return
	}
	c.killed = c.ed.text[from:to]
	c.delete(from, to)
}

func (c *Editor) delete(from, to int) {
	c.ed.replace(from, to, "", false)
	c.complete(true)
}

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

func (c *Editor) turn(to int) bool {
	text, ok := c.hist.turn(to, c.ed.text)
	if ok {
		c.ed.replace(0, len(c.ed.text), text, false)
		c.closePopup()
	}
	return ok
}

// Browsing reports whether an earlier text is shown.
func (c *Editor) Browsing() bool { return c.hist.at < len(c.hist.entries) }

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
	byID map[int]chip
	last int // the latest id
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
	case strings.Count(strings.TrimSuffix(text, "\n"), "\n") >= pasteLines ||
		len(text) > pasteRunes && utf8.RuneCountInString(text) > pasteRunes:
		if c.canKeepPaste(len(text)) {
			c.insert(c.chips.newChip(text), false)
		}
	default:
		c.insert(text, false)
	}
	c.complete(false)
}

// InsertMark inserts a text at the cursor of an editor that behaves as one character: it is removed only as
// a whole.
func InsertMark(c *Editor, text string) {
	c.closePopup()
	text = sanitize.Line(text, 100)
	c.insert(c.chips.keep(text, text)+" ", false)
}

// canKeepPaste reports whether a text can be kept as a chip, and shows a notice if not.
func (c *Editor) canKeepPaste(n int) bool {
	if c.chips.bytes()+n > pasteBytes {
		c.prune()
	}
	space := pasteBytes - c.chips.bytes()
	if n > space {
		c.notice(fmt.Sprintf("That text is too large (%s; %s more can be held): save it to a file and name the file "+
			"with @.", words.Bytes(n), words.Bytes(space)))
	}
	return n <= space
}

// bytes returns how long all texts are.
func (s *chips) bytes() (n int) {
	for _, c := range s.byID {
		n += len(c.text)
	}
	return n
}

// keep keeps a text, and returns the characters that represent it.
func (s *chips) keep(text, label string) string {
	s.last++
	s.byID[s.last] = chip{text, label}
	return chipText(s.last)
}

// newChip keeps a paste and returns the characters that represent it.
func (s *chips) newChip(text string) string {
	lines := strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1
	return s.keep(text, fmt.Sprintf("[paste %d: %s, %s]", s.last+1, words.Count(lines, "line"), words.Bytes(len(text))))
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
	maps.DeleteFunc(c.chips.byID, func(id int, _ chip) bool { return !used[id] })
	c.ed.undone, c.ed.redone, c.ed.typing = nil, nil, false
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

func (s *chips) expand(raw string) string {
	if !strings.Contains(raw, chipOpen) {
		return raw
	}
	var b strings.Builder
	for text, id := range parts(raw) {
		if strings.HasPrefix(text, chipOpen) {
			text = s.byID[id].text
		}
		b.WriteString(text)
	}
	return b.String()
}

// gutter is the width of the prompt and a space, left of the text.
const gutter = 2

// view is where the text was last drawn, for the mouse.
type view struct{ x, y, w, h int }

// Rows returns how many rows the editor needs at a width, at most max.
func (c *Editor) Rows(width, max int) int {
	c.ed.lay(textWidth(width))
	rows := len(c.ed.starts)
	if c.headed() {
		rows++
	}
	return min(rows, max)
}

func textWidth(width int) int {
	if width > 2*gutter {
		return width - gutter
	}
	return max(width, 1)
}

func (c *Editor) headed() bool { return c.to != "" || c.strength != "" }

// header returns the row above the text: the recipient and the strength of the message. If there is too little room,
// the name is shortened, never the strength.
func (c *Editor) header(width int) render.Line {
	if c.strength == "" {
		return render.Of(c.toRole, render.Shorten(c.to, width, c.look.Glyphs.Ellipsis))
	}
	role := cmp.Or(map[string]render.Role{"stop": render.Bad, "steer": render.Warn}[c.strength], render.Dim)
	end := render.Of(role, c.strength)
	if c.to == "" {
		return end
	}
	end = append(render.Of(render.Dim, " "+c.look.Glyphs.Separator+" "), end...)
	return append(render.Of(c.toRole, render.Shorten(c.to, width-end.Width(), c.look.Glyphs.Ellipsis)), end...)
}

// Draw draws the editor into its rectangle.
func (c *Editor) Draw(screen tcell.Screen) {
	x, y, w, h := c.GetRect()
	canvas := render.On(screen, x, y, w, h, c.look)
	if w, h = canvas.Size(); w == 0 || h == 0 {
		c.shown = view{}
		return
	}
	canvas.Clear(render.Input)
	switch {
	case c.headed() && h > 1:
		canvas.Sub(0, 0, w, 1).Line(0, 0, c.header(w))
		canvas = canvas.Sub(0, 1, w, h-1)
		h--
	case c.headed(): // one row for both: the header has the left half at most
		header := c.header(max(w/2-1, 0))
		left := min(header.Width()+1, w/2)
		canvas.Sub(0, 0, left, 1).Line(0, 0, header)
		canvas = canvas.Sub(left, 0, w-left, 1)
		w -= left
	}
	if w > 2*gutter {
		canvas.Text(0, 0, c.look.Glyphs.Prompt, c.toRole)
		canvas = canvas.Sub(gutter, 0, w-gutter, h)
	}
	c.drawText(canvas)
}

func (c *Editor) drawText(canvas render.Canvas) {
	w, h := canvas.Size()
	x, y := canvas.Origin()
	c.shown = view{x, y, w, h}
	if w == 0 || h == 0 {
		return
	}
	ed := &c.ed
	ed.lay(w)
	if ed.text == "" && c.placeholder != "" {
		canvas.Text(0, 0, render.Shorten(c.placeholder, w, c.look.Glyphs.Ellipsis), render.Placeholder)
	}
	row := ed.row(ed.at)
	c.top = max(min(c.top, row, len(ed.starts)-h), 0)
	c.top = max(c.top, row-h+1)
	marks := c.marks()
	for i := range h {
		if c.top+i < len(ed.starts) {
			c.drawRow(canvas.Sub(0, i, w, 1), c.top+i, marks)
		}
	}
	if c.HasFocus() {
		canvas.Cursor(min(ed.column(ed.at), w-1), row-c.top)
	}
}

// editorMarks are the parts of the text that are drawn in another role.
type editorMarks struct{ from, until, name int }

func (c *Editor) marks() (m editorMarks) {
	text := c.ed.text
	m.from, m.until = c.ed.selected()
	if word := firstWord(text[:min(len(text), 64)]); slash(text) && !c.Plain {
		if _, ok := Lookup(word[1:]); ok {
			m.name = len(word)
		}
	}
	return m
}

func (m editorMarks) role(at int, p editorPiece) render.Role {
	switch {
	case at >= m.from && at < m.until:
		return render.Selection
	case p.id > 0:
		return render.Code
	case at < m.name:
		return render.Key
	}
	return render.Input
}

func (c *Editor) drawRow(canvas render.Canvas, row int, m editorMarks) {
	ed := &c.ed
	at, to, _ := ed.bounds(row)
	w, x := ed.walk(ed.text[at:to]), 0
	for w.rest != "" {
		p := w.next()
		n := min(p.columns(x), ed.columns)
		switch role := m.role(at, p); {
		case p.id > 0:
			canvas.Text(x, 0, render.Shorten(c.chips.byID[p.id].label, n, c.look.Glyphs.Ellipsis), role)
		case p.text == "\t":
			canvas.Text(x, 0, strings.Repeat(" ", n), role)
		case n > 0:
			canvas.Text(x, 0, p.text, role)
		}
		x += n
		at += len(p.text)
	}
}
