package view

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

import (
	"fmt"
	"strings"

	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/render"
)

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
	OnChange  func()               // the text has changed, and perhaps the rows that it needs
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

// SetLook changes how it is drawn.
func (c *Editor) SetLook(look *render.Look) { c.look = look }

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
	c.changed()
}

// Insert writes at the cursor as a short paste does, such as a path that was picked.
func (c *Editor) Insert(text string) {
	c.closePopup()
	c.insert(sanitize.Text(text), false)
	c.complete(false)
	c.changed()
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

func (c *Editor) changed() {
	if c.OnChange != nil {
		c.OnChange()
	}
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
	n := c.chips.expandedSize(raw)
	if n > c.MaxBytes {
		c.notice(tooLong(n, c.MaxBytes))
		return false
	}
	text := strings.TrimRight(c.chips.expand(raw), " \t\n")
	if strings.TrimSpace(text) == "" {
		return false
	}
	submitted := text
	switch {
	case c.Plain:
		if c.OnSend == nil || !c.OnSend(text) {
			return false
		}
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
		if c.OnCommand == nil || !c.OnCommand(cmd) {
			return false
		}
	default:
		if strings.HasPrefix(raw, "//") {
			text = literal(text)
		}
		if c.OnSend == nil || !c.OnSend(text) {
			return false
		}
	}
	// A callback may have set the next text already.
	if c.ed.text == raw {
		c.ed.reset("")
	}
	c.hist.add(submitted)
	c.prune()
	c.changed()
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

// Selection returns the selected text.
func (c *Editor) Selection() string {
	from, to := c.ed.selected()
	return c.chips.expand(c.ed.text[from:to])
}

// kill deletes and remembers it for Ctrl+Y.
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
	c.changed()
}
