package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// PageStatus is the one-line status bar.
type PageStatus struct {
	page
	data   StatusData
	grants [2]int // the columns of the permission mode, as last drawn
	human  [2]int // the columns of the text that a human is awaited
	cut    bool   // the recent answer was not drawn in full
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
	add := func(rank int, right bool, role render.Role, text string) {
		if strings.TrimSpace(text) != "" {
			p = append(p, pagePiece{rank, right, render.Of(role, text)})
		}
	}
	for _, w := range d.Warnings {
		add(rankWarning, false, render.Danger, " "+w+" ")
	}
	waiting := ""
	if d.Waiting >= time.Minute {
		waiting = elapsedPage(d.Waiting)
	}
	if d.Words > 0 {
		who, several := "Waits for you", "%d wait for you"
		if tight { // so that the permission mode fits beside it
			who, several = "For you", "%d for you"
		}
		if d.Words > 1 {
			who = fmt.Sprintf(several, d.Words)
		}
		add(rankHuman, false, render.StatusBarAlert, " ? "+who+eventtext.After(" "+sep+" ", waiting)+" ")
	}
	add(rankFallback, false, render.StatusBarAlert, " "+d.Fallback+" ")
	switch d.Tone { // its role on the bar
	case render.Warn, render.Alert:
		add(rankWord, false, render.StatusBarAlert, " "+d.Word+" ")
	case render.Bad:
		add(rankWord, false, render.Danger, " "+d.Word+" ")
	default:
		add(rankWord, false, render.StatusBarStrong, d.Word)
	}
	if d.Awaited != "" && d.Words == 0 {
		who := d.Awaited
		if narrow {
			who = ShortName(who)
		}
		p = append(p, pagePiece{rankAwaited, false, append(
			s.look.Await(time.Now(), render.StatusBarDim, render.StatusBarStrong),
			render.Span{Text: " " + who, Role: render.StatusBar})})
		add(rankWaiting, false, render.StatusBarDim, waiting)
	}
	if d.Flash != "" {
		add(rankFlash, true, render.StatusBarStrong, d.Flash)
	} else {
		s.figures(add)
	}
	if d.Grants != "" {
		if narrow {
			d.Grants = strings.TrimPrefix(d.Grants, "accept-")
		}
		l := render.Of(render.StatusBarStrong, d.Grants)
		if columns >= steady && d.Flash == "" {
			l = l.Append(render.StatusBarDim, " Shift+Tab")
		}
		p = append(p, pagePiece{rankGrants, true, l})
	}
	add(rankMode, true, render.StatusBarStrong, d.Mode)
	add(rankHint, true, render.StatusBarDim, "F1 help")
	return p
}

// OnGrants reports whether the permission mode was drawn at a place of the screen, and OnHuman whether the text that a
// human is awaited was.
func (s *PageStatus) OnGrants(x, y int) bool { return s.on(x, y, s.grants) }
func (s *PageStatus) OnHuman(x, y int) bool  { return s.on(x, y, s.human) }

// Cut reports whether the recent answer was not drawn in full.
func (s *PageStatus) Cut() bool { return s.cut }

func (s *PageStatus) on(x, y int, part [2]int) bool {
	at, _ := s.local(x, y)
	return s.InRect(x, y) && at >= part[0] && at < part[1]
}

func (s *PageStatus) figures(add func(rank int, right bool, role render.Role, text string)) {
	d := s.data
	if d.Restarts > 0 {
		add(rankRestarts, true, render.StatusBar, words.Count(d.Restarts, "restart"))
	}
	add(rankDecider, true, render.StatusBarDim, d.Decider)
	add(rankQuota, true, map[bool]render.Role{false: render.StatusBarDim, true: render.StatusBarStrong}[d.Scarce], d.Quota)
	if d.Tokens > 0 {
		add(rankTokens, true, render.StatusBarDim, words.Tokens(d.Tokens)+" tok")
	}
	add(rankCost, true, render.StatusBar, d.Cost)
	if d.Elapsed > 0 {
		add(rankElapsed, true, render.StatusBarDim, PageClock(d.Elapsed))
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
	s.grants, s.human, s.cut = [2]int{}, [2]int{}, false
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
		s.cut = s.cut || p[last].rank == rankFlash
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

// mostTasks is how many agents' own lists are shown beside the plan.
const mostTasks = 3

// PlanStrip is the plan in few rows, with the current step visible, and a row for each of the last few
// agents that keep a list of their own.
type PlanStrip struct {
	page
	steps  []PageStep
	tasks  []Tasks
	folded bool // into one row
}

// NewPlanStrip returns an empty strip.
func NewPlanStrip(look *render.Look) *PlanStrip { return &PlanStrip{page: newPage(look)} }

// Set replaces the plan and the agents' own lists.
func (p *PlanStrip) Set(steps []PageStep, tasks []Tasks) { p.steps, p.tasks = steps, tasks }

// Fold draws the plan as one bar, or its steps one by one.
func (p *PlanStrip) Fold(folded bool) { p.folded = folded }

// Rows returns how many rows the plan needs, at most most.
func (p *PlanStrip) Rows(most int) int {
	rows := len(p.steps) + min(len(p.tasks), mostTasks)
	if p.folded {
		rows = min(len(p.steps), 1)
	}
	return max(min(rows, most), 0)
}

// Draw implements tview.Primitive.
func (p *PlanStrip) Draw(screen tcell.Screen) {
	c := p.canvas(screen)
	w, h := c.Size()
	if p.folded && len(p.steps) > 0 {
		c.Line(0, 0, p.bar(w))
		return
	}
	// The plan comes first: the lists of agents get the rows that it leaves.
	steps := min(len(p.steps), h)
	lists := min(len(p.tasks), mostTasks, h-steps)
	if lists < min(len(p.tasks), 1) && h >= 4 {
		lists = 1
	}
	p.plan(c.Sub(0, 0, w, h-lists))
	for i := range lists {
		c.Line(0, h-lists+i, p.list(p.tasks[len(p.tasks)-lists+i], w))
	}
}

func (p *PlanStrip) plan(c render.Canvas) {
	w, h := c.Size()
	n := len(p.steps)
	if n == 0 || h <= 0 {
		return
	}
	_, current := count(p.steps)
	if h == 1 && n > 1 {
		c.Line(0, 0, append(render.Of(render.Dim, fmt.Sprintf("%d/%d ", current+1, n)),
			p.step(current, w)...).Shorten(w, p.look.Glyphs.Ellipsis))
		return
	}
	// Finished steps matter less than coming ones: show one of them above the current one.
	top := max(min(current-1, n-h), 0)
	if h >= 5 && n > h {
		top = max(min(current-2, n-h), 0)
	}
	for i := range min(h, n-top) {
		l := p.step(top+i, w)
		switch hidden := n - top - h; {
		case i == 0 && top > 0 && top != current:
			l = p.step(top, w-6)
			c.Right(i, render.Of(render.Dim, fmt.Sprintf("%s%d", p.look.Glyphs.Less, top)))
		case i == h-1 && hidden > 0 && top+i != current:
			l = p.step(top+i, w-6)
			c.Right(i, render.Of(render.Dim, fmt.Sprintf("%s%d", p.look.Glyphs.More, hidden)))
		}
		c.Line(0, i, l)
	}
}

// bar returns the whole plan in one row: how much of it is done, and the active step.
func (p *PlanStrip) bar(w int) render.Line {
	g := p.look.Glyphs
	done, current := count(p.steps)
	l := render.Line{{Text: "Plan ", Role: render.Dim}}
	if w >= 60 {
		l = append(l, p.look.Meter(12, 100*float64(done)/float64(len(p.steps)), "")...)
		l = append(l, render.Span{Text: " ", Role: render.Base})
	}
	l = append(l, render.Span{Text: fmt.Sprintf("%d/%d  ", done, len(p.steps)), Role: render.Base})
	if current < 0 {
		return l
	}
	more := ""
	idle := func(s PageStep) bool { return s.Status != "active" }
	if n := len(slices.DeleteFunc(slices.Clone(p.steps), idle)); n > 1 {
		more = fmt.Sprintf("  +%d", n-1)
	}
	mark, text := StepMark(g, p.steps[current].Status)
	space := w - l.Width() - 2 - len(more)
	return l.Append(mark.Role, mark.Text+" ").
		Append(text, render.Shorten(p.steps[current].Text, max(space, 0), g.Ellipsis)).
		Append(render.Dim, more).Shorten(w, g.Ellipsis)
}

func (p *PlanStrip) step(i, w int) render.Line {
	s, e := p.steps[i], p.look.Glyphs.Ellipsis
	mark, text := StepMark(p.look.Glyphs, s.Status)
	tail := ""
	if w >= 48 {
		switch {
		case s.Status == "active" || s.Status == "failed":
			tail = about(s, " "+p.look.Glyphs.Separator+" ")
		case s.Status == "pending" || s.Status == "":
			tail = s.Mode
		}
		if tail != "" {
			tail = "  " + render.Shorten(tail, w/3, e)
		}
	}
	return render.Of(mark.Role, mark.Text+" ").
		Append(text, render.Shorten(s.Text, max(w-2-render.Width(tail), 0), e)).Append(render.Dim, tail)
}

// list returns an agent's own list in one row: its progress, and the current task.
func (p *PlanStrip) list(t Tasks, w int) render.Line {
	done, current := count(t.Items)
	l := render.Line{{Text: "  " + ShortName(t.Agent), Role: t.Tone},
		{Text: fmt.Sprintf(" %d/%d", done, len(t.Items)), Role: render.Dim}}
	if current >= 0 && t.Items[current].Status != "done" {
		l = append(l, render.Span{Text: "  " + t.Items[current].Text, Role: render.Dim})
	}
	return l.Shorten(w, p.look.Glyphs.Ellipsis)
}

// TaskLines lays out an agent's own list.
func TaskLines(look *render.Look, t Tasks, width int) []render.Line {
	done, _ := count(t.Items)
	lines := []render.Line{render.Of(t.Tone, t.Agent).
		Append(render.Dim, fmt.Sprintf("  its own list, %d of %d", done, len(t.Items)))}
	for _, s := range t.Items {
		mark, _ := StepMark(look.Glyphs, s.Status)
		lines = append(lines, render.Behind(render.Of(render.Base, "    ").Append(mark.Role, mark.Text+" "),
			render.WrapText(render.Dim, s.Text, max(width-6, 1)))...)
	}
	return lines
}

func about(s PageStep, separator string) string {
	if s.Mode != "" && s.Agent != "" {
		return s.Mode + separator + s.Agent
	}
	return s.Mode + s.Agent
}

// count returns how many steps are done, and which is the current one: the first active one, otherwise the
// first that has not ended; if all have ended, the last.
func count(steps []PageStep) (done, current int) {
	current = -1
	for i, s := range steps {
		switch s.Status {
		case "done":
			done++
		case "active":
			if current < 0 || steps[current].Status != "active" {
				current = i
			}
		case "pending", "":
			if current < 0 {
				current = i
			}
		}
	}
	if current < 0 {
		current = len(steps) - 1
	}
	return done, current
}
