package view

// This part of the package draws what agents do while they do it: one tile for each, with its last lines, the
// calls that run, its subagents and its figures; and the board that contains the tiles.
//
// A tile is a pure function from a [PageAgent] to lines. Its texts are fit for a screen; no line is
// wider than requested, and there are no more lines than requested.

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// drawTile draws a tile of at most so many columns and rows. The first line is its head. group is the line that
// folds and unfolds its subagents; -1: there is none.
func drawTile(t PageAgent, width, height int, look *render.Look, now time.Time) (list []render.Line, group int) {
	if width <= 0 || height <= 0 {
		return nil, -1
	}
	head := t.head(look, width)
	gutter := render.Span{Text: look.Glyphs.Gutter + " ", Role: render.Speaker(t.ID)}
	if t.Past {
		gutter.Role = render.Frame
	}
	space := width - 2
	if height == 1 || space < 8 {
		return []render.Line{head}, -1
	}
	body, group := tilePainter{tile: t, look: look, now: now, width: space}.body(height - 1)
	list = []render.Line{head}
	for _, l := range body {
		list = append(list, append(render.Line{gutter}, l.Shorten(space, look.Glyphs.Ellipsis)...))
	}
	if group >= 0 {
		group++
	}
	return list, group
}

// head lays out the name, the state, and the figures at the right. If there is too little room, the least
// important parts are omitted first.
func (a PageAgent) head(look *render.Look, width int) render.Line {
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
	if a.Cost != "" {
		cost = render.Of(render.Dim, a.Cost+"  ")
	}
	if a.Model != "" {
		model = render.Of(render.Dim, a.Model+"  ")
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
	l, right := append(append(l, mode...), state...), append(append(cost, model...), figures...)
	return l.Apart(right, width).Shorten(width, look.Glyphs.Ellipsis)
}

// TileBoard holds the tiles of all agents in columns. It belongs to the loop that draws.
type TileBoard struct {
	placed []tilePlaced // as last drawn
}

// tilePlaced is the place of a tile on the screen.
type tilePlaced struct {
	id         string
	x, y, w, h int
	group      int // the screen row on which its subagents fold; -1: none
}

const (
	columnWidth = 80 // minimum width of a tile if there are several columns of them
	gap         = 2  // columns between two tiles
	idleRows    = 3  // of an idle agent, if there is room
)

// Draw draws the tiles. selected is the selected agent; empty: none.
func (b *TileBoard) Draw(c render.Canvas, tiles []PageAgent, selected string, now time.Time) {
	c.Clear(render.Base)
	b.placed = b.placed[:0]
	w, h := c.Size()
	if len(tiles) == 0 || w <= 0 || h <= 0 {
		return
	}
	columns := max(min((w+gap)/(columnWidth+gap), len(tiles)), 1)
	each := (w - gap*(columns-1)) / columns
	rows := (len(tiles) + columns - 1) / columns
	for i := range columns {
		part := tiles[min(i*rows, len(tiles)):min((i+1)*rows, len(tiles))]
		b.column(c.Sub(i*(each+gap), 0, each, h), part, selected, now)
	}
}

func (b *TileBoard) column(c render.Canvas, tiles []PageAgent, selected string, now time.Time) {
	w, h := c.Size()
	shown, hidden := important(tiles, h, selected, h)
	x, y := c.Origin()
	row := 0
	heights, space := heights(weights(shown), h-min(hidden, 1))
	for i, t := range shown {
		list, group := drawTile(t, w, heights[i], c.Look, now)
		for j, l := range list {
			c.Line(0, row+j, l)
		}
		if t.ID == selected {
			c.Restyle(0, row, w, render.Selection)
		}
		p := tilePlaced{id: t.ID, x: x, y: y + row, w: w, h: heights[i], group: -1}
		if group >= 0 {
			p.group = y + row + group
		}
		b.placed = append(b.placed, p)
		row += heights[i] + space
	}
	if hidden > 0 {
		c.Line(2, h-1, render.Of(render.Dim, fmt.Sprintf("and %d more", hidden)))
	}
}

// At returns the agent whose tile is at a place of the screen, and whether the place folds its subagents.
func (b *TileBoard) At(x, y int) (id string, folds, ok bool) {
	for _, p := range b.placed {
		if x >= p.x && x < p.x+p.w && y >= p.y && y < p.y+p.h {
			return p.id, y == p.group, true
		}
	}
	return "", false, false
}

// weights returns how many rows tiles need; 0: as many as there are.
func weights(tiles []PageAgent) (list []int) {
	for _, t := range tiles {
		switch {
		case t.Past:
			list = append(list, 1)
		case t.Busy || t.Bell || t.Doing != "":
			list = append(list, 0)
		default:
			list = append(list, idleRows)
		}
	}
	return list
}

// heights distributes rows among tiles: one for each, then the rest in equal parts to those that need more.
// space is the number of blank rows between them.
func heights(wants []int, rows int) (heights []int, space int) {
	n := len(wants)
	if n == 0 {
		return nil, 0
	}
	if rows >= 5*n {
		space = 1
	}
	left := rows - n - space*(n-1)
	heights = make([]int, n)
	for i := range heights {
		heights[i] = 1
	}
	for left > 0 {
		given := false
		for i, want := range wants {
			if left > 0 && (want == 0 || heights[i] < want) {
				heights[i]++
				left--
				given = true
			}
		}
		if !given {
			break
		}
	}
	return heights, space
}

// tilePainter lays out the body of one tile.
type tilePainter struct {
	tile  PageAgent
	look  *render.Look
	now   time.Time
	width int
}

// body lays out the last lines of what an agent did, and below them its current activity. group is the index of the
// head of its subagents; -1: there is none.
func (p tilePainter) body(height int) (list []render.Line, group int) {
	if p.tile.Past {
		return nil, -1
	}
	present, group := p.present(height)
	space := height - len(present)
	var before []render.Line
	resultShown := false // whether the result of a call was shown
	for _, item := range slices.Backward(p.tile.Work.Items) {
		if len(before) >= space {
			break
		}
		if item.Runs() || p.starts(item) {
			continue
		}
		of := p.past(item, !resultShown)
		resultShown = resultShown || item.Call()
		before = append(of, before...)
	}
	if extra := len(before) - space; extra > 0 {
		before = before[extra:]
	}
	if group >= 0 {
		group += len(before)
	}
	return append(before, present...), group
}

// starts reports whether a call started one of the subagents, which have lines of their own.
func (p tilePainter) starts(i eventtext.ActivityItem) bool {
	return i.Call() && slices.ContainsFunc(p.tile.Work.Subagents,
		func(s eventtext.SubagentActivity) bool { return s.ID == i.Use })
}

// past lays out a finished item. last reports that it is the last call that ended: its result is shown.
func (p tilePainter) past(i eventtext.ActivityItem, last bool) []render.Line {
	g := p.look.Glyphs
	if !i.Call() {
		return render.WrapText(render.Base, i.Text, min(p.width, render.Prose))
	}
	mark, role := render.Span{Text: g.Done, Role: render.Dim}, render.Dim
	tail := render.Line{}
	switch {
	case i.Failed:
		mark, role = render.Span{Text: g.Failed, Role: render.Bad}, render.Base
		tail = render.Of(render.Bad, eventtext.Exit(i.Result))
	case i.Cut:
		mark, tail = cutOff(g)
	case i.Added+i.Removed > 0:
		tail = eventLineCounts(i.Added, i.Removed)
	case i.Until.Sub(i.At) >= time.Second:
		tail = render.Of(render.Dim, PageRunning(i.Until.Sub(i.At)))
	}
	list := []render.Line{p.call(mark, role, i, tail)}
	keep := 0
	if i.Failed || last && resultTools[i.Tool] {
		keep = 2
	}
	result := strings.Split(i.Result, "\n")
	for _, line := range result[max(len(result)-keep, 0):] {
		if line != "" {
			list = append(list, render.Line{{Text: "  ", Role: render.Base},
				{Text: line, Role: map[bool]render.Role{true: render.Bad, false: render.Dim}[i.Failed]}})
		}
	}
	return list
}

// resultTools are the tools whose results are worth a line.
var resultTools = map[string]bool{"Bash": true, "BashOutput": true, "Check": true}

// call lays out a call on one line: its mark, its tool, its summary, and at the right the result.
func (p tilePainter) call(mark render.Span, role render.Role, i eventtext.ActivityItem, tail render.Line) render.Line {
	l := render.Line{mark, {Text: " " + i.Tool, Role: render.Strong}}
	if role == render.Dim {
		l[1].Role = render.Dim
	}
	space := p.width - l.Width() - tail.Width() - 2
	if summary := eventtext.Relative(p.tile.Root, i.Summary); summary != "" && space > 2 {
		l = append(l, render.Span{Text: " " + render.Shorten(summary, space-1, p.look.Glyphs.Ellipsis), Role: role})
	}
	return l.Apart(tail, p.width)
}

// present lays out the current activity: running calls, subagents, the arriving text, and what the agent
// waits for.
func (p tilePainter) present(height int) (list []render.Line, group int) {
	a, group := p.tile, -1
	for _, i := range p.tile.Work.Items {
		asked := a.Bell && a.Doing == callWords(i.Tool, i.Summary, a.Root)
		if i.Runs() && !p.starts(i) && !asked {
			mark := render.Span{Text: p.look.Glyphs.Current, Role: render.Active}
			since := render.Of(render.Active, PageRunning(max(p.now.Sub(i.At), 0)))
			list = append(list, p.call(mark, render.Base, i, since))
		}
	}
	running := len(list)
	if a.Bell || a.Doing != "" && !a.Busy {
		list = append(list, p.waiting()...)
	}
	if n := len(a.Subagents); n > 0 && p.tile.Work.Working() > 0 {
		group = len(list)
		list = append(list, p.group(height-len(list))...)
	}
	switch writing := strings.TrimSpace(p.tile.Work.Writing); {
	case a.Bell || !a.Busy:
	case writing != "":
		text := render.WrapText(render.Base, writing, min(p.width, render.Prose))
		text = text[max(len(text)-max(height-len(list), 1), 0):]
		list = append(list, text...)
	case running == 0 && group < 0:
		l := render.Line{{Text: p.look.Spin(p.now) + " ", Role: render.Active}, {Text: a.Doing, Role: render.Dim}}
		if a.Age >= time.Second {
			l = append(l, render.Span{Text: "  " + PageRunning(a.Age), Role: render.Dim})
		}
		list = append(list, l)
	}
	if extra := len(list) - height; extra > 0 {
		list, group = list[extra:], max(group-extra, -1)
	}
	return list, group
}

func (p tilePainter) waiting() []render.Line {
	a := p.tile
	mark := render.Span{Text: p.look.Glyphs.Failed + " ", Role: a.Tone}
	text := a.State + ", " + a.Doing
	if a.Bell {
		mark.Text, text = "? ", a.State+": "+a.Doing
	}
	since := ""
	if a.Bell && a.Age >= time.Second {
		since = "  " + PageRunning(a.Age)
	}
	list := render.WrapText(a.Tone, text, max(min(p.width, render.Prose)-2-len(since), 1))
	list = list[:min(len(list), 3)]
	list[0] = append(list[0], render.Span{Text: since, Role: render.Dim})
	return render.Behind(render.Line{mark}, list)
}

// group lays out the subagents: individually, or in one line if they are folded or there is no room.
func (p tilePainter) group(height int) []render.Line {
	a, g := p.tile, p.look.Glyphs
	tokens, works := 0, 0
	for _, s := range a.Subagents {
		tokens += s.Tokens
		if s.Works {
			works++
		}
	}
	mark := g.Folded
	open := a.Open && len(a.Subagents)+1 <= height
	if open {
		mark = g.Unfolded
	}
	text := words.Count(len(a.Subagents), "subagent")
	if done := len(a.Subagents) - works; done > 0 {
		text += fmt.Sprintf(", %d done", done)
	}
	head := render.Line{{Text: mark + " ", Role: render.Active}, {Text: text, Role: render.Strong},
		{Text: eventtext.After("  ", eventtext.TokenCount(tokens)), Role: render.Dim}}
	if !open {
		return []render.Line{head}
	}
	return append([]render.Line{head}, SubagentLines(p.look, a.Subagents, p.width)...)
}
