package listview

import (
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"
)

const (
	wheelRows = 3 // of one notch
	edgeRows  = 5 // that a drag beyond the edge scrolls at most with each motion
)

// mouse is what the mouse is in the middle of.
type mouse struct {
	down   bool // the button went down here
	bar    bool // on the bar
	drag   bool // and was moved: a selection is made
	from   spot // where it went down
	double time.Time
	at     pos  // of the double click
	resume bool // the end was followed before the selection, and will be after it
}

// MouseHandler scrolls with the wheel, selects by dragging, a word by a double and a
// line by a triple click, and folds and unfolds.
func (v *View) MouseHandler() func(action tview.MouseAction, event *tcell.EventMouse, setFocus func(p tview.Primitive)) (bool, tview.Primitive) {
	return v.WrapMouseHandler(func(action tview.MouseAction, event *tcell.EventMouse, setFocus func(p tview.Primitive)) (bool, tview.Primitive) {
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
		case tview.MouseLeftClick:
			v.click(x, y, event.When())
		case tview.MouseLeftDoubleClick:
			v.doubleClick(x, y, event.When())
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

// hit is what is at a cell of the screen: the nearest that is shown.
func (v *View) hit(x, y int) (spot, bool) {
	if len(v.shown) == 0 {
		return spot{}, false
	}
	left, top, _, _ := v.GetInnerRect()
	row := y - top
	s := spot{pos: v.shown[max(min(row, len(v.shown)-1), 0)]}
	if s.block >= v.total() {
		return spot{}, false
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

func (v *View) onBar(x int) bool {
	left, _, w, _ := v.GetInnerRect()
	return v.barWidth(w) > 0 && x == left+w-1
}

func (v *View) press(x, y int) {
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

// pull moves the window to where the bar was pulled.
func (v *View) pull(y int) {
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

func (v *View) drag(x, y int) {
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
	v.mouse.drag, v.mouse.resume = true, v.follow || v.mouse.resume
	v.stay()
	v.sel = selection{on: true, from: v.mouse.from, to: to}
}

// scroll moves the window in the middle of a drag, and what is known of its rows along.
func (v *View) scroll(n int) {
	if n < 0 {
		v.Up(-n)
	} else {
		v.Down(n)
	}
	v.settle()
	v.shown = v.shown[:0]
	for p, missing := v.top, 0; missing == 0 && len(v.shown) < v.high && v.total() > 0; {
		v.shown = append(v.shown, p)
		p, missing = v.down(p, 1)
	}
}

func (v *View) release() {
	dragged := v.mouse.drag
	v.mouse.down, v.mouse.bar, v.mouse.drag = false, false, false
	if dragged {
		v.copied()
	}
}

// copied hands on what was selected.
func (v *View) copied() {
	if v.onCopy == nil {
		return
	}
	if text := v.Copy(); text != "" {
		v.onCopy(text)
	}
}

// click folds or unfolds, and moves the cursor if there is one. After a double click
// it is the third.
func (v *View) click(x, y int, now time.Time) {
	v.update()
	s, ok := v.hit(x, y)
	if !ok || v.sel.on || v.onBar(x) {
		return
	}
	if now.Sub(v.mouse.double) < 2*tview.DoubleClickInterval && s.pos == v.mouse.at {
		v.mouse.double = time.Time{}
		v.selectLine(s.pos)
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

func (v *View) doubleClick(x, y int, now time.Time) {
	v.update()
	s, ok := v.hit(x, y)
	if !ok {
		return
	}
	v.mouse.double, v.mouse.at = now, s.pos
	from, to := word(v.text(v.fit(s.pos)), s.col)
	if from >= to {
		return
	}
	v.choose(selection{on: true, from: spot{s.pos, from}, to: spot{s.pos, to - 1}})
}

// selectLine selects a row and those that layout broke it into.
func (v *View) selectLine(p pos) {
	p = v.fit(p)
	b := v.block(p.block)
	first, last := p.row, p.row
	for first > 0 && b.soft(first-1) {
		first--
	}
	for last+1 < b.rows() && b.soft(last) {
		last++
	}
	v.choose(selection{on: true, lines: true, from: spot{pos: pos{p.block, first}}, to: spot{pos: pos{p.block, last}}})
}

// choose selects at once.
func (v *View) choose(s selection) {
	v.mouse.resume = v.follow
	v.stay()
	v.sel = s
	v.copied()
}
