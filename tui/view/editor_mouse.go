package view

import (
	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"
)

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
