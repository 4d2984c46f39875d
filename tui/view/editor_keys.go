package view

import (
	"strings"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/sanitize"
)

// InputHandler gives keys to the editor.
func (c *Editor) InputHandler() func(*tcell.EventKey, func(tview.Primitive)) {
	return c.WrapInputHandler(func(e *tcell.EventKey, _ func(tview.Primitive)) { c.Key(e) })
}

// PasteHandler gives pastes to it.
func (c *Editor) PasteHandler() func(string, func(tview.Primitive)) {
	return c.WrapPasteHandler(func(text string, _ func(tview.Primitive)) { c.Paste(text) })
}

// Escape ends the innermost operation: the popup, the selection. It reports whether there was
// anything to end.
func (c *Editor) Escape() bool {
	switch {
	case c.PopupOpen():
		completer{c}.closePopup()
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
	key, mod := normal(e)
	k := keyboard{c}
	if key != tcell.KeyRune {
		c.joiner = ""
	}
	if c.PopupOpen() && k.popupKey(key, mod) {
		return true
	}
	switch key {
	case tcell.KeyRune:
		if mod&(tcell.ModAlt|tcell.ModMeta) != 0 {
			return k.altKey(e.Rune())
		}
		if mod&tcell.ModCtrl != 0 {
			return false
		}
		k.typed(e.Rune())
		return true
	case tcell.KeyEnter:
		if mod&(tcell.ModShift|tcell.ModAlt|tcell.ModCtrl) != 0 {
			return k.newline()
		}
		if strings.TrimSpace(c.ed.text) == "" {
			return false
		}
		c.Send()
		return true
	case tcell.KeyCtrlJ:
		return k.newline()
	case tcell.KeyTab:
		return k.tab()
	case tcell.KeyEscape:
		return c.Escape()
	case tcell.KeyCtrlR:
		if c.OnRecall != nil {
			c.OnRecall(c.hist.entries)
		}
		return true
	case tcell.KeyCtrlUnderscore:
		c.ed.undo()
		return k.turned()
	}
	return k.moveKey(key, mod) || k.deleteKey(key, mod)
}

// keyboard implements the keys of an editor.
type keyboard struct{ *Editor }

// normal reverts changes that terminals and the screen library make to keys: Alt+Enter arrives as
// Ctrl+Alt+M, and Ctrl+_ also as the letter with Ctrl.
func normal(e *tcell.EventKey) (tcell.Key, tcell.ModMask) {
	key, mod := e.Key(), e.Modifiers()
	if key == tcell.KeyBackspace2 {
		key = tcell.KeyBackspace
	}
	if key == tcell.KeyRune && mod&tcell.ModCtrl != 0 {
		switch e.Rune() {
		case 'm', 'M', 'j', 'J':
			if mod&tcell.ModAlt != 0 {
				return tcell.KeyEnter, tcell.ModAlt
			}
		case 'h', 'H':
			if mod&tcell.ModAlt != 0 {
				return tcell.KeyBackspace, tcell.ModAlt
			}
		case '_', '/', '-':
			return tcell.KeyCtrlUnderscore, mod
		}
	}
	return key, mod
}

// typed inserts a character. One that is not a character on its own waits for the next, or belongs to the
// previous one: it is checked together with that.
func (k keyboard) typed(r rune) {
	if r == '\u200d' || r == '\u200c' {
		k.joiner = string(r)
		return
	}
	from, _ := k.ed.selected()
	before := k.ed.text[max(k.ed.lineStart(from), from-64):from]
	if i := strings.LastIndex(before, chipClose); i >= 0 {
		before = before[i+len(chipClose):]
	}
	before = strings.ToValidUTF8(before, "")
	s := k.joiner + string(r)
	k.joiner = ""
	clean, ok := strings.CutPrefix(sanitize.Text(before+s), before)
	if !ok {
		clean = sanitize.Text(string(r))
	}
	if clean == "" {
		return
	}
	k.insert(clean, true)
	completer(k).complete(true)
	k.changed()
}

func (k keyboard) newline() bool {
	k.insert("\n", true)
	completer(k).closePopup()
	k.changed()
	return true
}

// tab completes; with nothing to complete the owner handles it.
func (k keyboard) tab() bool {
	completer(k).complete(true)
	if len(k.popup.list) == 1 {
		completer(k).accept()
	}
	return k.popup.ctx.Kind != EditorNothing || !k.Empty()
}

// popupKey handles a key while candidates are shown. Enter inserts a candidate only if that cannot
// surprise: an incomplete command name, or a candidate chosen with the arrows.
func (k keyboard) popupKey(key tcell.Key, mod tcell.ModMask) bool {
	switch {
	case key == tcell.KeyUp || key == tcell.KeyBacktab || key == tcell.KeyCtrlP:
		completer(k).choose(-1)
	case key == tcell.KeyDown || key == tcell.KeyCtrlN:
		completer(k).choose(1)
	case key == tcell.KeyTab:
		completer(k).accept()
	case key == tcell.KeyEnter && mod == 0 && !k.popup.exact() && (k.popup.moved || k.popup.ctx.Kind == EditorName):
		completer(k).accept()
	default:
		return false
	}
	return true
}

func (k keyboard) altKey(r rune) bool {
	ed := &k.ed
	switch r {
	case 'b', 'B':
		ed.move(ed.wordLeft(ed.at, lettersEditor), false)
	case 'f', 'F':
		ed.move(ed.wordRight(ed.at, lettersEditor), false)
	case 'd', 'D':
		k.kill(ed.at, ed.wordRight(ed.at, lettersEditor))
	case '_', '/':
		ed.redo()
		return k.turned()
	case 'w', 'W':
		k.Copy()
	case 'x', 'X':
		k.Cut()
	default:
		return false
	}
	completer(k).complete(false)
	return true
}

// turned updates the editor after an undo or a redo.
func (k keyboard) turned() bool {
	completer(k).closePopup()
	k.changed()
	return true
}
