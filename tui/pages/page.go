package pages

import (
	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// page is what all pages have.
type page struct {
	*tview.Box
	look *render.Look
}

func newPage(look *render.Look) page { return page{tview.NewBox(), look} }

// SetLook replaces the look.
func (p *page) SetLook(look *render.Look) { p.look = look }

// canvas is the page's rectangle, blank.
func (p *page) canvas(screen tcell.Screen) render.Canvas {
	c := p.over(screen)
	c.Clear(render.Base)
	return c
}

// over is the page's rectangle with what is there already.
func (p *page) over(screen tcell.Screen) render.Canvas {
	x, y, w, h := p.GetRect()
	return render.On(screen, x, y, w, h, p.look)
}

// local turns a place on the screen into one of the page.
func (p *page) local(x, y int) (int, int) {
	left, top, _, _ := p.GetRect()
	return x - left, y - top
}

// column is the part of a canvas that text is read in: not wider than the eye likes,
// with margins where there is room for them.
func column(c render.Canvas, most int) render.Canvas {
	w, h := c.Size()
	margin := 0
	if w >= 60 {
		margin = 2
	}
	use := min(w-2*margin, most)
	return c.Sub((w-use)/2, 0, use, h)
}

// header draws a page's title over a rule, and returns what is left below.
func header(c render.Canvas, title string, right render.Line) render.Canvas {
	w, h := c.Size()
	if h < 4 {
		return c
	}
	x := c.Text(0, 0, title, render.Title)
	if free := w - x - 2; right.Width() <= free {
		c.Right(0, right)
	}
	c.Rule(1, render.Frame)
	gap := 2
	if h >= 14 {
		gap = 3
	}
	return c.Sub(0, gap, w, h-gap)
}

// scroller is how far something long was scrolled. Its size is known after it was
// drawn; until then it may point beyond the end.
type scroller struct{ top, rows, view int }

// Up and Down move by rows.
func (s *scroller) Up(n int)   { s.top = max(s.top-n, 0) }
func (s *scroller) Down(n int) { s.top = min(s.top+n, s.end()) }

// PageUp and PageDown leave one row in sight that was there before.
func (s *scroller) PageUp()   { s.Up(max(s.view-1, 1)) }
func (s *scroller) PageDown() { s.Down(max(s.view-1, 1)) }

// Top and Bottom go to the ends.
func (s *scroller) Top()    { s.top = 0 }
func (s *scroller) Bottom() { s.top = s.end() }

func (s *scroller) end() int { return max(s.rows-s.view, 0) }

// fit says how much there is and how much of it is in sight.
func (s *scroller) fit(rows, view int) {
	s.rows, s.view = rows, max(view, 0)
	s.top = max(min(s.top, s.end()), 0)
}

// below is how many rows are out of sight at the end.
func (s *scroller) below() int { return max(s.rows-s.view-s.top, 0) }

// marks say in the rightmost column that there is more above and below.
func (s *scroller) marks(c render.Canvas) {
	w, h := c.Size()
	if h < 1 || w < 4 {
		return
	}
	if s.top > 0 {
		c.Text(w-1, 0, c.Look.Glyphs.Less, render.Key)
	}
	if s.below() > 0 {
		c.Text(w-1, h-1, c.Look.Glyphs.More, render.Key)
	}
}

// list is a choice among rows: one is chosen, and is kept in sight.
type list struct {
	at, n    int
	scroller scroller
}

// set says how many rows there are; the choice stays where it is as long as it can.
func (l *list) set(n int) { l.n = n; l.move(0) }

func (l *list) move(by int) { l.at = max(min(l.at+by, l.n-1), 0) }

// Up and Down move the choice; the ends hold it.
func (l *list) Up(n int)   { l.move(-n) }
func (l *list) Down(n int) { l.move(n) }

// PageUp and PageDown move it by what is in sight.
func (l *list) PageUp()   { l.move(-max(l.scroller.view-1, 1)) }
func (l *list) PageDown() { l.move(max(l.scroller.view-1, 1)) }

// Top and Bottom choose the first and the last.
func (l *list) Top()    { l.at = 0 }
func (l *list) Bottom() { l.at = max(l.n-1, 0) }

// hit chooses the row of the list that is drawn at a row of the screen, and reports whether there is one. The list
// begins at the screen's row top, and each of its rows takes so many lines.
func (l *list) hit(y, top, lines int) bool {
	if y < top || lines == 0 {
		return false
	}
	i := l.scroller.top + (y-top)/lines
	if i >= l.n || i >= l.scroller.top+l.scroller.view {
		return false
	}
	l.at = i
	return true
}

// fit scrolls so that the choice is in sight; a row of the list takes so many on screen.
func (l *list) fit(view int) {
	l.scroller.fit(l.n, view)
	l.scroller.top = max(min(l.scroller.top, l.at), l.at-max(view, 1)+1, 0)
}
