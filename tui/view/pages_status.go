package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// PageStatus is the one-line status bar.
type PageStatus struct {
	page
	data   StatusData
	grants [2]int // the columns of the permission mode, as last drawn
	human  [2]int // the columns of the text that a human is awaited
}

// NewStatus returns an empty bar.
func NewStatus(look *render.Look) *PageStatus { return &PageStatus{page: newPage(look)} }

// Set replaces the content.
func (s *PageStatus) Set(d StatusData) { s.data = d }

// pagePiece is a part of the bar. Parts with a higher rank are dropped first; those with rank 0 are shortened
// instead.
type pagePiece struct {
	rank  int
	right bool
	line  render.Line
}

// The order in which parts are dropped when the bar is narrow, the last first.
const (
	rankWarning  = iota // never
	rankHuman           // that a human is awaited
	rankGrants          // the permission mode
	rankFallback        // who decides in the Arbiter's place
	rankWord
	rankFlash // a temporary message, which may say why something was refused
	rankAwaited
	rankMode
	rankCost
	rankElapsed
	rankWaiting
	rankRestarts
	rankDecider
	rankQuota
	rankHint
	rankTokens
)

func (s *PageStatus) pieces(columns int) (p []pagePiece) {
	narrow, tight := columns < 60, columns < 44
	d, sep := s.data, s.look.Glyphs.Separator
	add := func(rank int, right bool, spans ...render.Span) {
		p = append(p, pagePiece{rank, right, spans})
	}
	text := func(rank int, right bool, r render.Role, format string, args ...any) {
		add(rank, right, render.Span{Text: fmt.Sprintf(format, args...), Role: r})
	}
	for _, w := range d.Warnings {
		text(rankWarning, false, render.Danger, " %s ", w)
	}
	if d.Human {
		who := "Waits for you"
		if d.Words > 1 {
			who = fmt.Sprintf("%d wait for you", d.Words)
		}
		if tight { // so that the permission mode fits beside it
			who = "For you"
			if d.Words > 1 {
				who = fmt.Sprintf("%d for you", d.Words)
			}
		}
		if d.Waiting >= time.Minute {
			who += " " + sep + " " + elapsedPage(d.Waiting)
		}
		text(rankHuman, false, render.StatusBarAlert, " ? %s ", who)
	}
	if d.Fallback != "" {
		text(rankFallback, false, render.StatusBarAlert, " %s ", d.Fallback)
	}
	if d.Word != "" {
		switch d.Tone { // its role on the bar
		case render.Warn, render.Alert:
			text(rankWord, false, render.StatusBarAlert, " %s ", d.Word)
		case render.Bad:
			text(rankWord, false, render.Danger, " %s ", d.Word)
		default:
			text(rankWord, false, render.StatusBarStrong, "%s", d.Word)
		}
	}
	if d.Awaited != "" && !d.Human {
		who := d.Awaited
		if narrow {
			who = shortPage(who)
		}
		l := append(s.look.Await(time.Now(), render.StatusBarDim, render.StatusBarStrong),
			render.Span{Text: " " + who, Role: render.StatusBar})
		add(rankAwaited, false, l...)
		if d.Waiting >= time.Minute {
			text(rankWaiting, false, render.StatusBarDim, "%s", elapsedPage(d.Waiting))
		}
	}
	if d.Flash != "" {
		flash := d.Flash
		if narrow && d.FlashShort != "" {
			flash = d.FlashShort
		}
		text(rankFlash, true, render.StatusBarStrong, "%s", flash)
	} else {
		s.figures(text)
	}
	if d.Grants != "" {
		mode := d.Grants
		if narrow {
			mode = strings.TrimPrefix(mode, "accept-")
		}
		l := render.Line{{Text: mode, Role: render.StatusBarStrong}}
		if columns >= steady && d.Flash == "" {
			l = append(l, render.Span{Text: " Shift+Tab", Role: render.StatusBarDim})
		}
		add(rankGrants, true, l...)
	}
	if d.Mode != "" {
		text(rankMode, true, render.StatusBarStrong, "%s", d.Mode)
	}
	if d.Hint != "" {
		text(rankHint, true, render.StatusBarDim, "%s", d.Hint)
	}
	return p
}

// OnGrants reports whether the permission mode was drawn at a place of the screen.
func (s *PageStatus) OnGrants(x, y int) bool {
	at, _ := s.local(x, y)
	return s.InRect(x, y) && at >= s.grants[0] && at < s.grants[1]
}

// OnHuman reports whether the text that a human is awaited was drawn at a place of the screen.
func (s *PageStatus) OnHuman(x, y int) bool {
	at, _ := s.local(x, y)
	return s.InRect(x, y) && at >= s.human[0] && at < s.human[1]
}

func (s *PageStatus) figures(text func(rank int, right bool, r render.Role, format string, args ...any)) {
	d := s.data
	if d.Restarts > 0 {
		text(rankRestarts, true, render.StatusBar, "%s", words.Count(d.Restarts, "restart"))
	}
	if d.Decider != "" {
		text(rankDecider, true, render.StatusBarDim, "%s", d.Decider)
	}
	if d.Quota != "" {
		role := render.StatusBarDim
		if d.Scarce {
			role = render.StatusBarStrong
		}
		text(rankQuota, true, role, "%s", d.Quota)
	}
	if d.Tokens > 0 {
		text(rankTokens, true, render.StatusBarDim, "%s tok", words.Tokens(d.Tokens))
	}
	if d.CostUSD > 0 || d.Elapsed > 0 {
		mark := ""
		if d.Simulated {
			mark = " simulated"
		}
		text(rankCost, true, render.StatusBar, "$%.2f%s", d.CostUSD, mark)
	}
	if d.Elapsed > 0 {
		text(rankElapsed, true, render.StatusBarDim, "%s", PageClock(d.Elapsed))
	}
}

// width returns the width of the pieces: two columns between them, one at each end.
func width(p []pagePiece) int {
	w := 2 + 2*max(len(p)-1, 0)
	for _, x := range p {
		w += x.line.Width()
	}
	return w
}

// Draw implements tview.Primitive.
func (s *PageStatus) Draw(screen tcell.Screen) {
	c := s.over(screen)
	c.Clear(render.StatusBar)
	s.grants, s.human = [2]int{}, [2]int{}
	w, h := c.Size()
	if h == 0 || w < 2 {
		return
	}
	p := s.pieces(w)
	for width(p) > w {
		last := 0
		for i := range p {
			if p[i].rank >= p[last].rank {
				last = i
			}
		}
		if len(p) == 0 || p[last].rank == rankWarning {
			break
		}
		// A message is shortened before it is dropped, if enough of it is left.
		if space := w - (width(p) - p[last].line.Width()); p[last].rank <= rankMode && space >= 8 {
			p[last].line = p[last].line.Shorten(space, s.look.Glyphs.Ellipsis)
			break
		}
		p = slices.Delete(p, last, last+1)
	}
	s.paint(c, p)
}

func (s *PageStatus) paint(c render.Canvas, p []pagePiece) {
	w, _ := c.Size()
	left, right := 1, w-1
	if len(p) == 0 {
		return
	}
	if width(p) > w { // warnings alone are too wide: each gets its share
		share := max(w/len(p), 1)
		for i, x := range p {
			c.Line(i*share, 0, x.line.Shorten(share, ""))
		}
		return
	}
	for _, x := range p {
		if !x.right {
			if x.rank == rankHuman {
				s.human = [2]int{left, left + x.line.Width()}
			}
			left = c.Line(left, 0, x.line) + 2
		}
	}
	for _, x := range slices.Backward(p) {
		if x.right {
			right -= x.line.Width()
			c.Line(right, 0, x.line)
			if x.rank == rankGrants {
				s.grants = [2]int{right, right + x.line.Width()}
			}
			right -= 2
		}
	}
}
