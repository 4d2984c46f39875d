package view

import (
	"slices"
	"time"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// Sessions is a list of runs.
type Sessions struct {
	page
	pageList
	runs  []PageRun
	now   time.Time
	note  string // beside the number of runs
	top   int    // screen row of the first visible row
	lines int    // screen rows of a run
}

// NewSessions returns an empty list.
func NewSessions(look *render.Look) *Sessions { return &Sessions{page: newPage(look)} }

// Set replaces the runs, the last active first. The selected run stays selected.
func (s *Sessions) Set(runs []PageRun, now time.Time) {
	chosen, had := s.Chosen()
	s.runs, s.now = runs, now
	s.set(len(runs))
	for i, r := range runs {
		if had && r.ID == chosen.ID {
			s.at = i
		}
	}
}

// SetNote replaces the note on the list.
func (s *Sessions) SetNote(note string) { s.note = note }

// Chosen returns the current run.
func (s *Sessions) Chosen() (PageRun, bool) {
	if s.at >= len(s.runs) {
		return PageRun{}, false
	}
	return s.runs[s.at], true
}

// At returns the run drawn at a place of the screen and selects it.
func (s *Sessions) At(x, y int) (PageRun, bool) {
	if !s.InRect(x, y) || !s.hit(y, s.top, s.lines) {
		return PageRun{}, false
	}
	return s.Chosen()
}

// Draw implements tview.Primitive.
func (s *Sessions) Draw(screen tcell.Screen) {
	c := column(s.canvas(screen), 140)
	s.lines = 0
	note := words.Count(len(s.runs), "thread")
	if s.note != "" {
		note += ", " + s.note
	}
	body := header(c, "THREADS", render.Of(render.Dim, note))
	w, h := body.Size()
	if len(s.runs) == 0 {
		body.Line(0, 0, render.Of(render.Emphasis, "No thread waits here.").Shorten(w, s.look.Glyphs.Ellipsis))
		return
	}
	s.lines = 1
	placed := slices.ContainsFunc(s.runs, func(r PageRun) bool { return r.CWD != "" })
	if h >= 8 && (w < 72 || placed && w < withPlace) {
		s.lines = 2
	}
	_, s.top = body.Origin()
	s.fit(h / s.lines)
	for i := range s.scroller.view {
		n := s.scroller.top + i
		if n >= len(s.runs) {
			break
		}
		row := body.Sub(0, i*s.lines, w, s.lines)
		if s.lines == 2 {
			s.tall(row, n)
		} else {
			s.flat(row, n)
		}
	}
	s.scroller.marks(body)
}

func (s *Sessions) mark(n int) render.Span {
	if n == s.at {
		return render.Span{Text: s.look.Glyphs.Chosen + " ", Role: render.Active}
	}
	return render.Span{Text: "  ", Role: render.Base}
}

// title returns a run's title, marked if it is a rehearsal.
func (s *Sessions) title(r PageRun, columns int) render.Line {
	title, e := r.Title, s.look.Glyphs.Ellipsis
	if title == "" {
		title = r.ID
	}
	const tag = " rehearsal"
	if !r.Rehearsal || columns < 24 {
		return render.Of(render.Base, padPage(title, columns, e))
	}
	title = render.Shorten(title, columns-len(tag), e)
	return render.Line{{Text: title, Role: render.Base},
		{Text: padPage(tag, columns-render.Width(title), ""), Role: render.Warn}}
}

// withPlace is the width of a row from which the directory is shown.
const withPlace = 100

// flat draws a run in one row: title, directory, status, cost, when, size.
func (s *Sessions) flat(c render.Canvas, n int) {
	r, e := s.runs[n], s.look.Glyphs.Ellipsis
	w, _ := c.Size()
	status, when, size, cost, place := 0, 0, 0, 0, 0
	if w >= 40 {
		status = 14
	}
	if w >= 60 {
		when = 16
	}
	if w >= 72 {
		size = 9
	}
	if w >= 84 {
		cost = 10
	}
	if w >= withPlace {
		place = w / 4
	}
	l := append(render.Line{s.mark(n)}, s.title(r, max(w-3-status-when-size-cost-place, 1))...)
	if place > 0 {
		l = append(l, render.Span{Text: "  " + padPage(shortenLeft(r.CWD, place-2, e), place-2, ""), Role: render.Dim})
	}
	l = append(l,
		render.Span{Text: padLeft(r.Status, status, e), Role: r.Tone},
		render.Span{Text: padLeft(r.Cost, cost, e), Role: render.Dim},
		render.Span{Text: padLeft(ago(r.LastActive, s.now), when, e), Role: render.Dim},
		render.Span{Text: padLeft(words.Bytes(r.Bytes), size, ""), Role: render.Dim})
	c.Line(0, 0, l)
	if n == s.at {
		c.Restyle(0, 0, w-1, render.Selection)
	}
}

// tall draws a run in two rows, for narrow windows.
func (s *Sessions) tall(c render.Canvas, n int) {
	r, g := s.runs[n], s.look.Glyphs
	w, _ := c.Size()
	c.Line(0, 0, append(render.Line{s.mark(n)}, s.title(r, max(w-3, 1))...))
	sep := " " + g.Separator + " "
	x := c.Text(2, 1, r.Status, r.Tone)
	text := sep + ago(r.LastActive, s.now)
	if r.Cost != "" {
		text += sep + r.Cost
	}
	if r.CWD == "" {
		text += sep + words.Bytes(r.Bytes)
	}
	x = c.Text(x, 1, text, render.Dim)
	if space := w - x - len(sep); r.CWD != "" && space >= 8 {
		c.Text(x, 1, sep+shortenLeft(r.CWD, space, g.Ellipsis), render.Dim)
	}
	if n == s.at {
		c.Restyle(0, 0, w-1, render.Selection)
		c.Restyle(0, 1, w-1, render.Selection)
	}
}
