package view

import (
	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// page is the common part of all pages.
type page struct {
	*tview.Box
	look *render.Look
}

func newPage(look *render.Look) page { return page{tview.NewBox(), look} }

// canvas returns the page's rectangle, cleared.
func (p *page) canvas(screen tcell.Screen) render.Canvas {
	c := p.over(screen)
	c.Clear(render.Base)
	return c
}

// over returns the page's rectangle with its previous content.
func (p *page) over(screen tcell.Screen) render.Canvas {
	x, y, w, h := p.GetRect()
	return render.On(screen, x, y, w, h, p.look)
}

// local converts a place on the screen into one of the page.
func (p *page) local(x, y int) (int, int) {
	left, top, _, _ := p.GetRect()
	return x - left, y - top
}

// column returns the part of a canvas for text: not too wide for reading, with margins if there is room for
// them.
func column(c render.Canvas, most int) render.Canvas {
	w, h := c.Size()
	margin := 0
	if w >= 60 {
		margin = 2
	}
	use := min(w-2*margin, most)
	return c.Sub((w-use)/2, 0, use, h)
}

// header draws a page's title over a rule, and returns the canvas below.
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

// scroller is a scroll position. The size of the content is known only after it was drawn; until then the
// position may be beyond the end.
type scroller struct{ top, rows, view int }

// Up and Down move by rows.
func (s *scroller) Up(n int)   { s.top = max(s.top-n, 0) }
func (s *scroller) Down(n int) { s.top = min(s.top+n, s.end()) }

// PageUp and PageDown leave one row visible that was visible before.
func (s *scroller) PageUp()   { s.Up(max(s.view-1, 1)) }
func (s *scroller) PageDown() { s.Down(max(s.view-1, 1)) }

// Top and Bottom go to the ends.
func (s *scroller) Top()    { s.top = 0 }
func (s *scroller) Bottom() { s.top = s.end() }

func (s *scroller) end() int { return max(s.rows-s.view, 0) }

// fit sets how many rows there are and how many are visible.
func (s *scroller) fit(rows, view int) {
	s.rows, s.view = rows, max(view, 0)
	s.top = max(min(s.top, s.end()), 0)
}

// below returns how many rows are hidden at the end.
func (s *scroller) below() int { return max(s.rows-s.view-s.top, 0) }

// marks shows in the rightmost column that there is more above and below.
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
