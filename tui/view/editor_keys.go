package view

import (
	"slices"
	"strings"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/tui/keys"
)

// Escape ends the innermost operation: the popup, the selection. It reports whether there was
// anything to end.
func (c *Editor) Escape() bool {
	switch {
	case c.PopupOpen():
		c.closePopup()
	case c.ed.anchor >= 0:
		c.ed.anchor = -1
	default:
		return false
	}
	return true
}

// Key handles a key and reports whether it has a meaning here. The owner handles the others: Esc with
// nothing to end, Enter with an empty text, Ctrl+C, Up without an older entry.
func (c *Editor) Key(e *tcell.EventKey) bool {
	name, letter := keys.Name(e), e.Key() == tcell.KeyRune
	if !letter {
		c.joiner = ""
	}
	if c.PopupOpen() && c.popupKey(name) {
		return true
	}
	switch {
	case letter && e.Modifiers()&(tcell.ModAlt|tcell.ModMeta|tcell.ModCtrl) == 0:
		c.typed(e.Rune())
	case name == "Enter" && e.Modifiers() == 0:
		if strings.TrimSpace(c.ed.text) == "" {
			return false
		}
		c.Send()
	case strings.HasSuffix(name, "Enter") || name == "Ctrl+J":
		c.insert("\n", true)
		c.closePopup()
	case name == "Tab":
		c.complete(true)
		if len(c.popup.list) == 1 {
			c.accept()
		}
		return c.popup.ctx.Kind != EditorNothing || !c.Empty()
	case name == "Esc":
		return c.Escape()
	case name == "Ctrl+R":
		if c.OnRecall != nil {
			c.OnRecall(c.hist.entries)
		}
	default:
		return c.edit(name)
	}
	return true
}

// typed inserts a character. One that is not a character on its own waits for the next, or belongs to the
// previous one: it is checked together with that.
func (c *Editor) typed(r rune) {
	if r == '\u200d' || r == '\u200c' {
		c.joiner = string(r)
		return
	}
	from, _ := c.ed.selected()
	before := c.ed.text[max(c.ed.lineStart(from), from-64):from]
	if i := strings.LastIndex(before, chipClose); i >= 0 {
		before = before[i+len(chipClose):]
	}
	before = strings.ToValidUTF8(before, "")
	s := c.joiner + string(r)
	c.joiner = ""
	clean, ok := strings.CutPrefix(sanitize.Text(before+s), before)
	if !ok {
		clean = sanitize.Text(string(r))
	}
	if clean == "" {
		return
	}
	c.insert(clean, true)
	c.complete(true)
}

// popupKey handles a key while candidates are shown. Enter inserts a candidate only if that cannot
// surprise: an incomplete command name, or a candidate chosen with the arrows.
func (c *Editor) popupKey(name string) bool {
	switch {
	case name == "Up" || name == "Shift+Tab" || name == "Ctrl+P":
		c.choose(-1)
	case name == "Down" || name == "Ctrl+N":
		c.choose(1)
	case name == "Tab":
		c.accept()
	case name == "Enter" && !c.popup.exact() && (c.popup.moved || c.popup.ctx.Kind == EditorName):
		c.accept()
	default:
		return false
	}
	return true
}

// editorKey are keys that move the cursor to a place, or delete up to it.
type editorKey struct {
	names string
	does  keyEffect
	to    func(e *buffer) int
}

// keyEffect is what such a key does. What it cuts, Ctrl+Y puts back.
type keyEffect int

const (
	moves    keyEffect = iota // with Shift, it selects
	deletes                   // the selection, or up to the place
	cuts                      // likewise
	cutsLine                  // up to the place, whatever is selected
)

var editorKeys = []editorKey{
	{"Left Ctrl+B", moves, func(e *buffer) int { return e.left(e.at) }},
	{"Right Ctrl+F", moves, func(e *buffer) int { return e.right(e.at) }},
	{"Ctrl+Left Alt+Left Alt+b", moves, func(e *buffer) int { return e.wordLeft(e.at, lettersEditor) }},
	{"Ctrl+Right Alt+Right Alt+f", moves, func(e *buffer) int { return e.wordRight(e.at, lettersEditor) }},
	{"Home Ctrl+A", moves, func(e *buffer) int { return e.lineStart(e.at) }},
	{"End Ctrl+E", moves, func(e *buffer) int { return e.lineEnd(e.at) }},
	{"Ctrl+Home Alt+Home", moves, func(*buffer) int { return 0 }},
	{"Ctrl+End Alt+End", moves, func(e *buffer) int { return len(e.text) }},
	{"Backspace", deletes, func(e *buffer) int { return e.left(e.at) }},
	{"Delete Ctrl+Delete Ctrl+D", deletes, func(e *buffer) int { return e.right(e.at) }},
	{"Alt+Backspace", cuts, func(e *buffer) int { return e.wordLeft(e.at, lettersEditor) }},
	{"Alt+Delete Alt+d", cuts, func(e *buffer) int { return e.wordRight(e.at, lettersEditor) }},
	{"Ctrl+W", cuts, func(e *buffer) int { return e.wordLeft(e.at, solid) }},
	{"Ctrl+U", cutsLine, func(e *buffer) int { // at the beginning of a line, the newline before it
		return min(e.lineStart(e.at), max(e.at-1, 0))
	}},
	{"Ctrl+K", cutsLine, func(e *buffer) int { // at the end of a line, its newline
		return max(e.lineEnd(e.at), min(e.at+1, len(e.text)))
	}},
}

// edit handles the keys that change the text or move in it.
func (c *Editor) edit(name string) bool {
	ed := &c.ed
	name, extend := strings.Replace(name, "Shift+", "", 1), strings.Contains(name, "Shift+")
	name = strings.Replace(name, "Ctrl+Alt+", "Ctrl+", 1)
	if letter, ok := strings.CutPrefix(name, "Alt+"); ok && len(letter) == 1 {
		name = "Alt+" + strings.ToLower(letter)
	}
	if from, to := ed.selected(); from != to && !extend { // the selection ends at its side
		if at, ok := map[string]int{"Left": from, "Ctrl+B": from, "Right": to, "Ctrl+F": to}[name]; ok {
			ed.move(at, false)
			c.complete(false)
			return true
		}
	}
	switch name {
	case "Up", "Ctrl+Up", "Ctrl+P":
		return c.vertical(-1, extend)
	case "Down", "Ctrl+Down", "Ctrl+N":
		return c.vertical(1, extend)
	case "Ctrl+_", "Ctrl+/", "Ctrl+-":
		ed.step(&ed.undone, &ed.redone)
		c.closePopup()
		return true
	case "Alt+_", "Alt+/":
		ed.step(&ed.redone, &ed.undone)
		c.closePopup()
		return true
	case "Alt+w":
		c.Copy()
	case "Alt+x":
		c.Cut()
	case "Ctrl+Y":
		c.insert(c.killed, false)
	default:
		i := slices.IndexFunc(editorKeys, func(k editorKey) bool { return slices.Contains(strings.Fields(k.names), name) })
		if i < 0 {
			return false
		}
		return c.use(editorKeys[i], extend)
	}
	c.complete(false)
	return true
}

func (c *Editor) use(k editorKey, extend bool) bool {
	from, to := c.ed.selected()
	at := k.to(&c.ed)
	if k.does == cutsLine || from == to {
		from, to = min(c.ed.at, at), max(c.ed.at, at)
	}
	switch k.does {
	case moves:
		c.ed.move(at, extend)
		c.complete(false)
	case deletes:
		c.delete(from, to)
	case cuts, cutsLine:
		c.kill(from, to)
	}
	return true
}

// vertical moves by a row; from the first or last row it moves through the history.
func (c *Editor) vertical(by int, extend bool) bool {
	ed := &c.ed
	row := ed.row(ed.at) + by
	switch {
	case row >= 0 && row < len(ed.starts):
		want := ed.want
		if want < 0 {
			want = ed.column(ed.at)
		}
		ed.move(ed.find(row, want), extend)
		ed.want = want
	case !extend:
		ed.anchor = -1
		return c.turn(c.hist.at + by)
	}
	c.closePopup()
	return true
}

// MouseHandler sets the cursor on a click and selects on a drag. The owner handles the wheel.
func (c *Editor) MouseHandler() func(tview.MouseAction, *tcell.EventMouse,
	func(tview.Primitive)) (bool, tview.Primitive) {
	return c.WrapMouseHandler(func(action tview.MouseAction, e *tcell.EventMouse,
		setFocus func(tview.Primitive)) (bool, tview.Primitive) {
		x, y := e.Position()
		if !c.InRect(x, y) && !c.dragging {
			return false, nil
		}
		switch action {
		case tview.MouseLeftDown:
			setFocus(c)
			c.closePopup()
			c.dragging = true
			c.ed.move(c.byteAt(x, y), e.Modifiers()&tcell.ModShift != 0)
			return true, c
		case tview.MouseMove:
			if c.dragging {
				c.ed.move(c.byteAt(x, y), true)
				return true, c
			}
		case tview.MouseLeftUp:
			c.dragging = false
			return true, nil
		}
		return false, nil
	})
}

// byteAt returns the place in the text under a cell of the screen.
func (c *Editor) byteAt(x, y int) int {
	ed, v := &c.ed, c.shown
	if v.w == 0 || v.h == 0 {
		return ed.at
	}
	ed.lay(v.w)
	row := c.top + max(min(y-v.y, v.h-1), 0)
	if row >= len(ed.starts) {
		return len(ed.text)
	}
	return ed.find(row, max(x-v.x, 0))
}
