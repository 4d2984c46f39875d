package view

import (
	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// ListView is a window on a [BlockSource]. It handles no keys: the owner binds keys to its methods. It uses the Box
// only for the rectangle and the focus, and draws no border.
type ListView struct {
	*tview.Box
	listWindow
	onCopy func(string)
	cursor int // the block that is marked, or -1
	sel    selection
	search listSearch
	mouse  mouse
}

// NewListView returns a view without a source that follows the end.
func NewListView(look *render.Look) *ListView {
	v := &ListView{Box: tview.NewBox()}
	v.look, v.bar = look, true
	v.SetSource(none{})
	return v
}

// SetSource shows another source, from its end.
func (v *ListView) SetSource(s BlockSource) {
	if s == nil {
		s = none{}
	}
	v.source, v.n, v.tail = s, 0, nil
	v.cache.reset()
	v.top, v.follow, v.home, v.seen = pos{}, true, nil, 0
	v.all, v.folds = false, map[int]bool{}
	v.cursor, v.sel, v.shown = -1, selection{}, nil
	v.search.at = none3
	v.mouse, v.resume = mouse{}, false
	v.width = 0
}

// SetLook changes how everything is drawn.
func (v *ListView) SetLook(look *render.Look) {
	v.look = look
	v.Refresh()
}

// Refresh discards the layout: it is needed if something changed without a change of a stamp, such as a
// name.
func (v *ListView) Refresh() { v.cache.reset() }

// SetBar sets whether a bar at the right edge shows the position. By default it does.
func (v *ListView) SetBar(on bool) { v.bar = on }

// OnCopy sets the function that gets the text selected with the mouse when the button is released.
func (v *ListView) OnCopy(f func(text string)) { v.onCopy = f }

// Width returns the width for which blocks are laid out at the view's current size.
func (v *ListView) Width() int {
	_, _, w, _ := v.GetInnerRect()
	return v.blockWidth(w)
}

func (l *layout) blockWidth(w int) int { return max(w-gutterWidth-l.barWidth(w), 1) }

// barWidth returns the width that stays free at the right edge, so that the text does not wrap again when
// the bar appears.
func (l *layout) barWidth(w int) int {
	switch {
	case !l.bar || w < 12:
		return 0
	case w < 24:
		return 1
	}
	return 2
}

// update queries the size of the source and of the window. The rest of the same call sees one consistent
// state.
func (v *ListView) update() {
	_, _, w, h := v.GetInnerRect()
	if w <= 0 || h <= 0 {
		// A window of size zero leaves everything unchanged.
		w, h = v.wide, v.high
		if w <= 0 || h <= 0 {
			w, h = 80, 24
		}
	}
	width := v.blockWidth(w)
	first := v.width == 0
	resized := !first && (width != v.width || h != v.high)
	if resized && !v.follow {
		v.keep()
	}
	if width != v.width && !first {
		v.SelectClear()
		v.mouse.drag = false
	}
	v.cache.next()
	n, tail := v.source.Len(), v.source.Tail(width)
	old, oldTail := v.n, v.tail
	v.n, v.tail, v.width, v.wide, v.high = n, tail, width, w, h
	if !first && len(oldTail) > 0 {
		v.remap(old, oldTail)
	}
	switch {
	case v.follow && (first || resized):
		v.top = v.end()
	case resized:
		if v.top = v.fit(v.top); v.home != nil {
			v.top = v.clamp(v.place(v.home))
			v.home.now = v.top
		}
	default:
		v.top = v.fit(v.top)
	}
}

// updateTop determines the top row to draw.
func (w *listWindow) updateTop() {
	if w.follow {
		w.top = w.end()
		return
	}
	w.top = w.clamp(w.top)
}

// Draw draws the window.
func (v *ListView) Draw(screen tcell.Screen) {
	x, y, w, h := v.GetInnerRect()
	if w <= 0 || h <= 0 {
		v.shown = v.shown[:0]
		return
	}
	v.update()
	v.updateTop()
	v.draw(render.On(screen, x, y, w, h, v.look))
}
