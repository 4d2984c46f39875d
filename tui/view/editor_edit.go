package view

import "github.com/gdamore/tcell/v2"

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
		return c.vertical(-1, extend)
	case tcell.KeyDown, tcell.KeyCtrlN:
		return c.vertical(1, extend)
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
			return c.older()
		default:
			return c.newer()
		}
	}
	if ed.anchor == ed.at {
		ed.anchor = -1
	}
	c.closePopup()
	return true
}

// deleteKey handles the keys that delete.
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
		c.changed()
	default:
		return false
	}
	return true
}
