package view

import (
	"slices"
	"strings"
	"unicode"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"
	"github.com/rivo/uniseg"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// Bounds of one copy: the text goes through the terminal.
const (
	maxCopyBytes = 1 << 20
	maxCopyRows  = 20_000
)

// listSpot is a cell of the text: a column of a row.
type listSpot struct {
	pos
	col int
}

func (s listSpot) before(t listSpot) bool {
	return s.pos.before(t.pos) || s.pos == t.pos && s.col < t.col
}

// selection is the text between two spots, both included, in the order in which they were chosen.
type selection struct {
	on       bool
	lines    bool // whole rows
	from, to listSpot
}

func (s selection) ordered() (a, b listSpot) {
	if s.to.before(s.from) {
		return s.to, s.from
	}
	return s.from, s.to
}

// columns returns the selected part of a row.
func (s selection) columns(p pos) (from, to int) {
	if !s.on {
		return 0, 0
	}
	a, b := s.ordered()
	if p.before(a.pos) || b.pos.before(p) {
		return 0, 0
	}
	from, to = 0, maxColumn
	if !s.lines && p == a.pos {
		from = a.col
	}
	if !s.lines && p == b.pos {
		to = b.col + 1
	}
	return from, to
}

const maxColumn = 1 << 30

// Selecting reports whether something is selected.
func (v *ListView) Selecting() bool { return v.sel.on }

// SelectStart begins a selection of whole rows: at the block under the cursor if that is in the window,
// otherwise at the last row in the window.
func (v *ListView) SelectStart() {
	v.update()
	if v.total() == 0 {
		return
	}
	last, _ := v.down(v.top, v.high-1)
	at := last
	if i := v.cursor; i >= v.top.block && i <= last.block && i < v.n {
		at = pos{i, min(v.block(i).head(), v.rows(i)-1)}
		if at.before(v.top) {
			at = v.top
		}
	}
	v.resume = v.follow
	v.stay()
	v.sel = selection{on: true, lines: true, from: listSpot{pos: at}, to: listSpot{pos: at}}
}

// Extend moves the selection's end by n rows, and the window with it.
func (v *ListView) Extend(n int) {
	if !v.sel.on {
		v.SelectStart()
	}
	v.update()
	if !v.sel.on {
		return
	}
	v.sel.lines = true
	to := v.fit(v.sel.to.pos)
	if n > 0 {
		to, _ = v.down(to, n)
	} else {
		to = v.up(to, -n)
	}
	v.sel.to = listSpot{pos: to}
	v.bring(to, to)
}

// SelectClear ends the selection.
func (v *ListView) SelectClear() {
	v.sel = selection{}
	if v.resume {
		v.follow, v.home, v.resume = true, nil, false
	}
}

// Copy returns the selected text, up to a bound, without gutters and heads.
func (v *ListView) Copy() string {
	v.update()
	if !v.sel.on || v.total() == 0 {
		return ""
	}
	a, b := v.sel.ordered()
	a.pos, b.pos = v.fit(a.pos), v.fit(b.pos)
	if a.pos == b.pos {
		// A single row may be a head: the user wants a name.
		return v.part(a.pos, v.text(a.pos))
	}
	var c strings.Builder
	separator := ""
	for p, missing, n := a.pos, 0, 0; missing == 0 && !b.pos.before(p) && n < maxCopyRows && c.Len() <= maxCopyBytes; n++ {
		switch block := v.block(p.block); {
		case p.row < 0 && separator != "":
			separator = "\n\n"
		case p.row >= block.head():
			c.WriteString(separator + v.part(p, block.line(p.row)))
			separator = "\n"
		}
		p, missing = v.down(p, 1)
	}
	return c.String()
}

// part returns the selected text of a row.
func (v *ListView) part(p pos, line render.Line) string {
	from, to := v.sel.columns(p)
	text, _, _ := between(line, from, to)
	return strings.TrimRight(text, " ")
}

// listSearch is the highlighted text.
type listSearch struct {
	needle []rune   // folded
	at     listSpot // the current match
}

// none3 is not a match.
var none3 = listSpot{pos: pos{block: -1}}

// span is some columns of a row.
type span struct{ from, to int }

// Match highlights a text, ignoring case; an empty text removes the highlight. The same text keeps its current match.
func (v *ListView) Match(needle string) {
	folded := []rune(strings.Map(unicode.ToLower, needle))
	if !slices.Equal(folded, v.search.needle) {
		v.search = listSearch{folded, none3}
	}
}

// MatchNext goes to the next match in the current block, or to the previous one; beyond: also to one in another block,
// at first to the one that is nearest to the top of the window. It returns false if there is no further one.
func (v *ListView) MatchNext(back, beyond bool) bool {
	v.update()
	at := v.search.at
	if at.block < 0 && beyond {
		at = listSpot{v.top, -1}
	}
	if at.block < 0 || at.block >= v.total() {
		return false
	}
	for p := at.pos; beyond || p.block == at.block; {
		found := v.search.matches(v.text(p))
		if back {
			slices.Reverse(found)
		}
		for _, f := range found {
			if s := (listSpot{p, f.from}); !back && at.before(s) || back && s.before(at) {
				v.search.at = s
				v.show(p)
				return true
			}
		}
		q, _ := v.down(p, 1)
		if back {
			q = v.up(p, 1)
		}
		if q == p {
			break
		}
		p = q
	}
	return false
}

// findIn makes the first match of a block the current one.
func (v *ListView) findIn(i int) {
	if len(v.search.needle) == 0 {
		return
	}
	if v.firstIn(i) || i >= v.n {
		return
	}
	if b := v.block(i); b.Foldable && !b.Open {
		if v.toggle(i); !v.firstIn(i) {
			v.toggle(i)
			v.leave(v.fit(pos{i, 0}))
		}
	}
}

func (v *ListView) firstIn(i int) bool {
	for row := range v.rows(i) {
		if found := v.search.matches(v.text(pos{i, row})); len(found) > 0 {
			v.search.at = listSpot{pos{i, row}, found[0].from}
			v.leave(v.up(pos{i, row}, v.high/3))
			return true
		}
	}
	return false
}

// show brings a row into the window if it is not there.
func (w *listWindow) show(p pos) {
	q, _ := w.down(w.top, w.high-1)
	if p.before(w.top) || q.before(p) {
		w.leave(w.up(p, w.high/3))
	}
}

// matches returns the places of the needle in a row.
func (s listSearch) matches(l render.Line) []span {
	needle := s.needle
	if len(needle) == 0 || len(l) == 0 {
		return nil
	}
	var runes []rune
	var cols []span // columns of each rune's cluster
	clusters(l, func(cluster string, col, width int) bool {
		for _, r := range cluster {
			runes = append(runes, unicode.ToLower(r))
			cols = append(cols, span{col, col + width})
		}
		return col < maxMatched
	})
	var found []span
	for i := 0; i+len(needle) <= len(runes); i++ {
		if !slices.Equal(runes[i:i+len(needle)], needle) {
			continue
		}
		last := i + len(needle) - 1
		found = append(found, span{cols[i].from, cols[last].to})
		i = last
	}
	return found
}

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
			dragged := v.mouse.drag
			v.mouse.down, v.mouse.bar, v.mouse.drag = false, false, false
			if dragged && v.onCopy != nil {
				if text := v.Copy(); text != "" {
					v.onCopy(text)
				}
			}
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

// clusters calls f with each cluster that a canvas draws of a line, and the column where it begins, until f
// returns false.
func clusters(l render.Line, f func(cluster string, col, width int) bool) {
	col := 0
	for _, s := range l {
		for rest, state := s.Text, -1; rest != ""; {
			var cluster string
			var width int
			cluster, rest, width, state = uniseg.FirstGraphemeClusterInString(rest, state)
			if cluster == "\t" {
				cluster, width = " ", 1
			}
			if width == 0 || strings.ContainsFunc(cluster, unicode.IsControl) {
				continue
			}
			if !f(cluster, col, width) {
				return
			}
			col += width
		}
	}
}

// between returns the text between two columns, with the wide characters that are only partly between them, and the
// columns that it takes.
func between(l render.Line, from, to int) (text string, first, last int) {
	all := l.Text()
	before, first := render.Clip(all, from)
	within, last := render.Clip(all, to)
	if last < to {
		wide, n := render.Clip(all[len(within):], to-last+1)
		within, last = within+wide, last+n
	}
	return within[min(len(before), len(within)):], first, last
}

// maxMatched is how many columns of a row are searched.
const maxMatched = 4096
