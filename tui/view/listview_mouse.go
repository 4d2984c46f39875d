package view

import (
	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"
)

const (
	wheelRows = 3 // of one notch
	edgeRows  = 5 // most rows that one motion of a drag beyond the edge scrolls
)

// mouse is the state of a mouse gesture.
type mouse struct {
	down bool     // the button went down here
	bar  bool     // on the bar
	drag bool     // and was moved: a selection is made
	from listSpot // where it went down
}

// MouseHandler scrolls with the wheel, selects by dragging, and folds and unfolds.
func (v *ListView) MouseHandler() func(action tview.MouseAction, event *tcell.EventMouse,
	setFocus func(p tview.Primitive)) (bool, tview.Primitive) {
	return v.WrapMouseHandler(func(action tview.MouseAction, event *tcell.EventMouse,
		setFocus func(p tview.Primitive)) (bool, tview.Primitive) {
		x, y := event.Position()
		if !v.mouse.down && !v.InInnerRect(x, y) {
			return false, nil
		}
		switch action {
		case tview.MouseLeftDown:
			setFocus(v)
			v.press(x, y)
			return true, v
		case tview.MouseMove:
			if !v.mouse.down {
				return false, nil
			}
			v.drag(x, y)
			return true, v
		case tview.MouseLeftUp:
			v.release()
			return true, nil
		case tview.MouseLeftClick, tview.MouseLeftDoubleClick:
			v.click(x, y)
		case tview.MouseScrollUp:
			v.Up(wheelRows)
		case tview.MouseScrollDown:
			v.Down(wheelRows)
		default:
			return false, nil
		}
		if v.mouse.down {
			return true, v
		}
		return true, nil
	})
}

// hit returns the place at a cell of the screen: the nearest one that is shown.
func (v *ListView) hit(x, y int) (listSpot, bool) {
	if len(v.shown) == 0 {
		return listSpot{}, false
	}
	left, top, _, _ := v.GetInnerRect()
	row := y - top
	s := listSpot{pos: v.shown[max(min(row, len(v.shown)-1), 0)]}
	if s.block >= v.total() {
		return listSpot{}, false
	}
	switch {
	case row < 0:
	case row >= len(v.shown):
		s.col = maxColumn
	default:
		s.col = max(x-left-gutterWidth-Inset(v.width, v.block(s.block).Indent), 0)
	}
	return s, true
}

func (v *ListView) onBar(x int) bool {
	left, _, w, _ := v.GetInnerRect()
	return v.barWidth(w) > 0 && x == left+w-1
}

func (v *ListView) press(x, y int) {
	v.SelectClear()
	v.mouse.down, v.mouse.drag, v.mouse.bar = true, false, v.onBar(x)
	if v.mouse.bar {
		v.pull(y)
		return
	}
	var ok bool
	v.mouse.from, ok = v.hit(x, y)
	v.mouse.down = ok
}

// pull moves the window to the position of the dragged bar.
func (v *ListView) pull(y int) {
	v.update()
	_, top, _, h := v.GetInnerRect()
	at := y - top
	switch {
	case at <= 0:
		v.Top()
	case at >= h-1:
		v.Bottom()
	default:
		v.leave(v.clamp(pos{int(int64(v.total()) * int64(at) / int64(h)), 0}))
	}
}

func (v *ListView) drag(x, y int) {
	if v.mouse.bar {
		v.pull(y)
		return
	}
	v.update()
	_, top, _, h := v.GetInnerRect()
	switch {
	case y < top:
		v.scroll(-min(top-y, edgeRows))
	case y >= top+h:
		v.scroll(min(y-top-h+1, edgeRows))
	}
	to, ok := v.hit(x, y)
	if !ok || !v.mouse.drag && to == v.mouse.from {
		return
	}
	v.mouse.drag, v.resume = true, v.follow || v.resume
	v.stay()
	v.sel = selection{on: true, from: v.mouse.from, to: to}
}

// scroll moves the window during a drag, and shifts the recorded rows with it.
func (v *ListView) scroll(n int) {
	if n < 0 {
		v.Up(-n)
	} else {
		v.Down(n)
	}
	v.updateTop()
	v.shown = v.shown[:0]
	for p, missing := v.top, 0; missing == 0 && len(v.shown) < v.high && v.total() > 0; {
		v.shown = append(v.shown, p)
		p, missing = v.down(p, 1)
	}
}

func (v *ListView) release() {
	dragged := v.mouse.drag
	v.mouse.down, v.mouse.bar, v.mouse.drag = false, false, false
	if dragged {
		v.copySelection()
	}
}

// copySelection passes the selected text to onCopy.
func (v *ListView) copySelection() {
	if v.onCopy == nil {
		return
	}
	if text := v.Copy(); text != "" {
		v.onCopy(text)
	}
}

// click folds or unfolds a block, and moves the cursor if there is one.
func (v *ListView) click(x, y int) {
	v.update()
	s, ok := v.hit(x, y)
	if !ok || v.sel.on || v.onBar(x) {
		return
	}
	_, top, _, _ := v.GetInnerRect()
	if s.block >= v.n || y-top >= len(v.shown) {
		return
	}
	if v.cursor >= 0 {
		v.cursor = s.block
	}
	if b := v.block(s.block); b.Foldable && s.row >= 0 && (!b.Open || s.row == 0) {
		v.toggle(s.block)
	}
}
