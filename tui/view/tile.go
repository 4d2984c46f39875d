package view

// This part of the package draws what agents do while they do it: one tile for each, with its last lines, the
// calls that run, its subagents and its figures; and the board that contains the tiles.
//
// A tile is a pure function from a [Tile] to lines. The texts of a Tile are fit for a screen; no line is
// wider than requested, and there are no more lines than requested.

import (
	"time"

	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// Tile is the content shown for one agent.
type Tile struct {
	Row     PageAgent // its name and state
	Work    eventtext.AgentActivity
	Writing string // the end of the arriving text
	Root    string // the directory in which it works; paths are relative to it
	Model   string // empty: unknown
	CostUSD float64
	// Simulated reports that a scripted model plays; costs are not real.
	Simulated bool
}

// lines are the lines of a tile, and the index of the head of its subagents.
type lines struct {
	list  []render.Line
	group int // -1: there is none
}

// drawTile draws a tile of at most so many columns and rows. The first line is its head. group is the line that
// folds and unfolds its subagents; -1: there is none.
func drawTile(t Tile, width, height int, look *render.Look, now time.Time) (list []render.Line, group int) {
	if width <= 0 || height <= 0 {
		return nil, -1
	}
	head := t.head(look, width)
	gutter := render.Span{Text: look.Glyphs.Gutter + " ", Role: render.Speaker(t.Row.ID)}
	if t.Row.Past {
		gutter.Role = render.Frame
	}
	space := width - 2
	if height == 1 || space < 8 {
		return []render.Line{head}, -1
	}
	body := tilePainter{tile: t, look: look, now: now, width: space}.body(height - 1)
	list = []render.Line{head}
	for _, l := range body.list {
		list = append(list, append(render.Line{gutter}, l.Shorten(space, look.Glyphs.Ellipsis)...))
	}
	if group = body.group; group >= 0 {
		group++
	}
	return list, group
}

// head lays out the name, the state, and the figures at the right. If there is too little room, the least
// important parts are omitted first.
func (t Tile) head(look *render.Look, width int) render.Line {
	a := t.Row
	role := render.Speaker(a.ID)
	if a.Past {
		role = render.Dim
	}
	mark := PageMark(look, a)
	l := render.Line{{Text: mark.Text + " ", Role: mark.Role}, {Text: a.Name, Role: role}}
	state := render.Line{{Text: "  " + a.State, Role: a.Tone}}
	if a.Past {
		state[0].Role = render.Dim
	}
	figures := ContextFigures(look, a)
	var cost, model, mode render.Line
	if t.CostUSD > 0 {
		cost = render.Of(render.Dim, eventtext.Dollars(t.CostUSD)+eventtext.Simulated(t.Simulated)+"  ")
	}
	if t.Model != "" {
		model = render.Of(render.Dim, t.Model+"  ")
	}
	if a.Mode != "" {
		mode = render.Of(render.Dim, "  "+a.Mode)
	}
	space := width - l.Width() - 2
	fits := func(part *render.Line) {
		if space -= part.Width(); space < 0 {
			space += part.Width()
			*part = nil
		}
	}
	fits(&state)
	fits(&figures)
	fits(&mode)
	fits(&cost)
	fits(&model)
	l = append(append(l, mode...), state...)
	right := append(append(cost, model...), figures...)
	if gap := width - l.Width() - right.Width(); gap > 0 && len(right) > 0 {
		l = append(l, render.Span{Text: blanksTile(gap), Role: render.Base})
		l = append(l, right...)
	}
	return l.Shorten(width, look.Glyphs.Ellipsis)
}
