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

// pointer implements the mouse actions of a view.
type pointer struct{ *ListView }

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
			pointer{v}.press(x, y)
			return true, v
		case tview.MouseMove:
			if !v.mouse.down {
				return false, nil
			}
			pointer{v}.drag(x, y)
			return true, v
		case tview.MouseLeftUp:
			pointer{v}.release()
			return true, nil
		case tview.MouseLeftClick, tview.MouseLeftDoubleClick:
			pointer{v}.click(x, y)
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
func (m pointer) hit(x, y int) (listSpot, bool) {
	if len(m.shown) == 0 {
		return listSpot{}, false
	}
	left, top, _, _ := m.GetInnerRect()
	row := y - top
	s := listSpot{pos: m.shown[max(min(row, len(m.shown)-1), 0)]}
	if s.block >= m.total() {
		return listSpot{}, false
	}
	switch {
	case row < 0:
	case row >= len(m.shown):
		s.col = maxColumn
	default:
		s.col = max(x-left-gutterWidth-Inset(m.width, m.block(s.block).Indent), 0)
	}
	return s, true
}

func (m pointer) onBar(x int) bool {
	left, _, w, _ := m.GetInnerRect()
	return m.barWidth(w) > 0 && x == left+w-1
}

func (m pointer) press(x, y int) {
	m.SelectClear()
	m.mouse.down, m.mouse.drag, m.mouse.bar = true, false, m.onBar(x)
	if m.mouse.bar {
		m.pull(y)
		return
	}
	var ok bool
	m.mouse.from, ok = m.hit(x, y)
	m.mouse.down = ok
}

// pull moves the window to the position of the dragged bar.
func (m pointer) pull(y int) {
	m.update()
	_, top, _, h := m.GetInnerRect()
	at := y - top
	switch {
	case at <= 0:
		m.Top()
	case at >= h-1:
		m.Bottom()
	default:
		m.leave(m.clamp(pos{int(int64(m.total()) * int64(at) / int64(h)), 0}))
	}
}

func (m pointer) drag(x, y int) {
	if m.mouse.bar {
		m.pull(y)
		return
	}
	m.update()
	_, top, _, h := m.GetInnerRect()
	switch {
	case y < top:
		m.scroll(-min(top-y, edgeRows))
	case y >= top+h:
		m.scroll(min(y-top-h+1, edgeRows))
	}
	to, ok := m.hit(x, y)
	if !ok || !m.mouse.drag && to == m.mouse.from {
		return
	}
	m.mouse.drag, m.resume = true, m.follow || m.resume
	m.stay()
	m.sel = selection{on: true, from: m.mouse.from, to: to}
}

// scroll moves the window during a drag, and shifts the recorded rows with it.
func (m pointer) scroll(n int) {
	if n < 0 {
		m.Up(-n)
	} else {
		m.Down(n)
	}
	m.updateTop()
	m.shown = m.shown[:0]
	for p, missing := m.top, 0; missing == 0 && len(m.shown) < m.high && m.total() > 0; {
		m.shown = append(m.shown, p)
		p, missing = m.down(p, 1)
	}
}

func (m pointer) release() {
	dragged := m.mouse.drag
	m.mouse.down, m.mouse.bar, m.mouse.drag = false, false, false
	if dragged {
		m.copySelection()
	}
}

// copySelection passes the selected text to onCopy.
func (m pointer) copySelection() {
	if m.onCopy == nil {
		return
	}
	if text := m.Copy(); text != "" {
		m.onCopy(text)
	}
}

// click folds or unfolds a block, and moves the cursor if there is one.
func (m pointer) click(x, y int) {
	m.update()
	s, ok := m.hit(x, y)
	if !ok || m.sel.on || m.onBar(x) {
		return
	}
	_, top, _, _ := m.GetInnerRect()
	if s.block >= m.n || y-top >= len(m.shown) {
		return
	}
	if m.cursor >= 0 {
		m.cursor = s.block
	}
	if b := m.block(s.block); b.Foldable && s.row >= 0 && (!b.Open || s.row == 0) {
		m.toggle(s.block)
	}
}
