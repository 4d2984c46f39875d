package view

import (
	"fmt"
	"slices"
	"time"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// PageRoster is one line per agent, and below it one for each of its subagents.
type PageRoster struct {
	page
	agents   []PageAgent
	folded   []PageAgent // past agents that are only counted
	selected string
	rows     []string // ids by row, as last drawn
}

// NewRoster returns an empty roster.
func NewRoster(look *render.Look) *PageRoster { return &PageRoster{page: newPage(look)} }

// Set replaces the agents, in the order in which they are drawn.
func (r *PageRoster) Set(agents []PageAgent) { r.agents, r.folded = agents, nil }

// FoldPast omits the past agents, except one that is selected.
func (r *PageRoster) FoldPast() {
	var live []PageAgent
	for _, a := range r.agents {
		if a.Past && a.ID != r.selected {
			r.folded = append(r.folded, a)
		} else {
			live = append(live, a)
		}
	}
	r.agents = live
}

// Folded returns how many agents are omitted.
func (r *PageRoster) Folded() int { return len(r.folded) }

// Selected returns the selected agent, if it is still in the roster.
func (r *PageRoster) Selected() (string, bool) {
	return r.selected, r.selected != "" && r.index(r.selected) >= 0
}

func (r *PageRoster) index(id string) int {
	for i, a := range r.agents {
		if a.ID == id {
			return i
		}
	}
	return -1
}

// Move selects the agent so many lines further down, and returns it.
func (r *PageRoster) Move(by int) (string, bool) {
	if len(r.agents) == 0 {
		return "", false
	}
	i := r.index(r.selected)
	if i < 0 && by > 0 {
		i = -1
	} else if i < 0 {
		i = len(r.agents)
	}
	r.selected = r.agents[max(min(i+by, len(r.agents)-1), 0)].ID
	return r.selected, true
}

// At returns the agent that is drawn at a place of the screen, itself or one of its subagents.
func (r *PageRoster) At(x, y int) (string, bool) {
	if !r.InRect(x, y) {
		return "", false
	}
	_, y = r.local(x, y)
	if y >= len(r.rows) || r.rows[y] == "" {
		return "", false
	}
	return r.rows[y], true
}

// Rows returns how many rows the roster needs, at most most.
func (r *PageRoster) Rows(most int) int { return max(min(len(r.agents)+r.below(), most), 0) }

// below returns how many rows the subagents need.
func (r *PageRoster) below() int {
	n := 0
	for _, a := range r.agents {
		if a.Open {
			n += len(a.Subagents)
		}
	}
	return n
}

// Draw implements tview.Primitive.
func (r *PageRoster) Draw(screen tcell.Screen) {
	c := r.canvas(screen)
	w, h := c.Size()
	r.rows = r.rows[:0]
	if w == 0 || h == 0 {
		return
	}
	shown, hidden := r.shown(h)
	if w < 60 {
		shown = slices.Clone(shown)
		for i := range shown {
			shown[i].Name = shortPage(shown[i].Name)
		}
	}
	t := r.measure(shown, w)
	space := h - len(shown) // for subagents
	if hidden > 0 {
		space--
	}
	y := 0
	for _, a := range shown {
		c.Line(0, y, r.line(a, t).Shorten(w, ""))
		if a.ID == r.selected {
			c.Restyle(0, y, w, render.Selection)
		}
		r.rows = append(r.rows, a.ID)
		y++
		if n := len(a.Subagents); a.Open && n <= space {
			space -= n
			for _, l := range SubagentLines(r.look, a.Subagents, w-t.indent()) {
				c.Line(t.indent(), y, l)
				r.rows = append(r.rows, a.ID)
				y++
			}
		}
	}
	if hidden > 0 {
		c.Line(2, y, render.Of(render.Dim, fmt.Sprintf("and %d more", hidden)))
	}
}

// shown returns the agents for which there is room. Past agents are omitted first, then idle ones, then
// working ones, the oldest first, then the first agent (if there is little room, it is kept only if it
// works); agents that are stuck, the selected one and those that wait for the human are omitted last.
func (r *PageRoster) shown(h int) (shown []PageAgent, hidden int) {
	keep := important(len(r.agents), h, func(i int) int { return rank(i, r.agents[i], r.selected, max(h-1, 1)) })
	for i, a := range r.agents {
		if keep[i] {
			shown = append(shown, a)
		}
	}
	return shown, len(r.agents) - len(shown)
}

// important chooses which of n agents are shown in h rows: all, or those of the highest ranks, the last ones of each,
// in all rows but one, which shows how many more there are.
func important(n, h int, rank func(i int) int) []bool {
	keep, order := make([]bool, n), make([]int, n)
	for i := range order {
		order[i] = i
	}
	if n > h {
		slices.SortStableFunc(order, func(a, b int) int { return rank(a) - rank(b) })
		order = order[n-max(h-1, 1):]
	}
	for _, i := range order {
		keep[i] = true
	}
	return keep
}

// How important it is to show an agent.
const (
	rankPast = iota
	rankIdle
	rankBusy
	rankFirst
	rankStuck
	rankAsks
)

const fewRows = 4

func rank(i int, a PageAgent, selected string, rows int) int {
	switch {
	case a.ID == selected, a.Bell:
		return rankAsks
	case a.Past:
		return rankPast
	case a.Stuck():
		return rankStuck
	case i == 0 && (a.Busy || rows >= fewRows):
		return rankFirst
	case a.Busy:
		return rankBusy
	}
	return rankIdle
}

// Stuck reports whether something other than a human keeps an agent from working.
func (a PageAgent) Stuck() bool {
	return !a.Past && !a.Bell && (a.Tone == render.Warn || a.Tone == render.Bad)
}

// PageMark returns the beginning of an agent's line: whether it works, waits for the human, or has ended.
func PageMark(look *render.Look, a PageAgent) render.Span {
	g := look.Glyphs
	switch {
	case a.Past:
		return render.Span{Text: g.Skipped, Role: render.Pending}
	case a.Bell:
		return render.Span{Text: "?", Role: render.Alert}
	case a.Busy:
		return render.Span{Text: look.Spin(time.Now()), Role: render.Active}
	case a.Stuck():
		return render.Span{Text: g.Failed, Role: a.Tone}
	}
	return render.Span{Text: g.Pending, Role: render.Pending}
}
