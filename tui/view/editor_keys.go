package view

import (
	"strings"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/sanitize"
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
	key, mod := normal(e)
	if key != tcell.KeyRune {
		c.joiner = ""
	}
	if c.PopupOpen() && c.popupKey(key, mod) {
		return true
	}
	switch key {
	case tcell.KeyRune:
		if mod&(tcell.ModAlt|tcell.ModMeta) != 0 {
			return c.altKey(e.Rune())
		}
		if mod&tcell.ModCtrl != 0 {
			return false
		}
		c.typed(e.Rune())
		return true
	case tcell.KeyEnter:
		if mod&(tcell.ModShift|tcell.ModAlt|tcell.ModCtrl) != 0 {
			return c.newline()
		}
		if strings.TrimSpace(c.ed.text) == "" {
			return false
		}
		c.Send()
		return true
	case tcell.KeyCtrlJ:
		return c.newline()
	case tcell.KeyTab:
		c.complete(true)
		if len(c.popup.list) == 1 {
			c.accept()
		}
		return c.popup.ctx.Kind != EditorNothing || !c.Empty()
	case tcell.KeyEscape:
		return c.Escape()
	case tcell.KeyCtrlR:
		if c.OnRecall != nil {
			c.OnRecall(c.hist.entries)
		}
		return true
	case tcell.KeyCtrlUnderscore:
		c.ed.step(&c.ed.undone, &c.ed.redone)
		c.closePopup()
		return true
	}
	return c.moveKey(key, mod) || c.deleteKey(key, mod)
}

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

func (c *Editor) newline() bool {
	c.insert("\n", true)
	c.closePopup()
	return true
}

// popupKey handles a key while candidates are shown. Enter inserts a candidate only if that cannot
// surprise: an incomplete command name, or a candidate chosen with the arrows.
func (c *Editor) popupKey(key tcell.Key, mod tcell.ModMask) bool {
	switch {
	case key == tcell.KeyUp || key == tcell.KeyBacktab || key == tcell.KeyCtrlP:
		c.choose(-1)
	case key == tcell.KeyDown || key == tcell.KeyCtrlN:
		c.choose(1)
	case key == tcell.KeyTab:
		c.accept()
	case key == tcell.KeyEnter && mod == 0 && !c.popup.exact() && (c.popup.moved || c.popup.ctx.Kind == EditorName):
		c.accept()
	default:
		return false
	}
	return true
}

func (c *Editor) altKey(r rune) bool {
	ed := &c.ed
	switch r {
	case 'b', 'B':
		ed.move(ed.wordLeft(ed.at, lettersEditor), false)
	case 'f', 'F':
		ed.move(ed.wordRight(ed.at, lettersEditor), false)
	case 'd', 'D':
		c.kill(ed.at, ed.wordRight(ed.at, lettersEditor))
	case '_', '/':
		ed.step(&ed.redone, &ed.undone)
		c.closePopup()
		return true
	case 'w', 'W':
		c.Copy()
	case 'x', 'X':
		c.Cut()
	default:
		return false
	}
	c.complete(false)
	return true
}

// moveKey handles the keys that move the cursor; with Shift they select.
func (c *Editor) moveKey(key tcell.Key, mod tcell.ModMask) bool {
	ed := &c.ed
	extend, word := mod&tcell.ModShift != 0, mod&(tcell.ModCtrl|tcell.ModAlt|tcell.ModMeta) != 0
	from, to := ed.selected()
	switch key {
	case tcell.KeyLeft, tcell.KeyCtrlB:
		switch {
		case word && key == tcell.KeyLeft:
			ed.move(ed.wordLeft(ed.at, lettersEditor), extend)
		case from != to && !extend:
			ed.move(from, false)
		default:
			ed.move(ed.left(ed.at), extend)
		}
	case tcell.KeyRight, tcell.KeyCtrlF:
		switch {
		case word && key == tcell.KeyRight:
			ed.move(ed.wordRight(ed.at, lettersEditor), extend)
		case from != to && !extend:
			ed.move(to, false)
		default:
			ed.move(ed.right(ed.at), extend)
		}
	case tcell.KeyHome, tcell.KeyCtrlA:
		if key == tcell.KeyHome && word {
			ed.move(0, extend)
			break
		}
		ed.move(ed.lineStart(ed.at), extend)
	case tcell.KeyEnd, tcell.KeyCtrlE:
		if key == tcell.KeyEnd && word {
			ed.move(len(ed.text), extend)
			break
		}
		ed.move(ed.lineEnd(ed.at), extend)
	case tcell.KeyUp, tcell.KeyCtrlP:
		return mod&tcell.ModAlt == 0 && c.vertical(-1, extend)
	case tcell.KeyDown, tcell.KeyCtrlN:
		return mod&tcell.ModAlt == 0 && c.vertical(1, extend)
	default:
		return false
	}
	c.complete(false)
	return true
}

// vertical moves by a row; from the first or last row it moves through the history.
func (c *Editor) vertical(by int, extend bool) bool {
	ed := &c.ed
	switch {
	case !extend:
		ed.anchor = -1
	case ed.anchor < 0:
		ed.anchor = ed.at
	}
	if !ed.vertical(by) {
		switch {
		case extend:
		case by < 0:
			return c.turn(c.hist.at - 1)
		default:
			return c.turn(c.hist.at + 1)
		}
	}
	if ed.anchor == ed.at {
		ed.anchor = -1
	}
	c.closePopup()
	return true
}

func (c *Editor) deleteKey(key tcell.Key, mod tcell.ModMask) bool {
	ed := &c.ed
	from, to := ed.selected()
	marked, word := from != to, mod&(tcell.ModAlt|tcell.ModMeta) != 0
	switch key {
	case tcell.KeyBackspace, tcell.KeyDelete, tcell.KeyCtrlD:
		switch {
		case marked:
			c.delete(from, to)
		case key == tcell.KeyBackspace && word:
			c.kill(ed.wordLeft(ed.at, lettersEditor), ed.at)
		case key == tcell.KeyBackspace:
			c.delete(ed.left(ed.at), ed.at)
		case key == tcell.KeyDelete && word:
			c.kill(ed.at, ed.wordRight(ed.at, lettersEditor))
		default:
			c.delete(ed.at, ed.right(ed.at))
		}
	case tcell.KeyCtrlW:
		if marked {
			c.kill(from, to)
			break
		}
		c.kill(ed.wordLeft(ed.at, solid), ed.at)
	case tcell.KeyCtrlU: // to the beginning of the line; there, the newline before it
		if start := ed.lineStart(ed.at); start < ed.at {
			c.kill(start, ed.at)
		} else {
			c.kill(max(ed.at-1, 0), ed.at)
		}
	case tcell.KeyCtrlK: // to the end of the line; there, its newline
		if end := ed.lineEnd(ed.at); end > ed.at {
			c.kill(ed.at, end)
		} else {
			c.kill(ed.at, min(ed.at+1, len(ed.text)))
		}
	case tcell.KeyCtrlY:
		c.insert(c.killed, false)
		c.complete(false)
	default:
		return false
	}
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
