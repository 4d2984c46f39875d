package view

import (
	"fmt"
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/tui/render"
)

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
func (b *TileBoard) Draw(c render.Canvas, tiles []Tile, selected string, now time.Time) {
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

// column draws tiles below one another.
func (b *TileBoard) column(c render.Canvas, tiles []Tile, selected string, now time.Time) {
	w, h := c.Size()
	shown, hidden := matter(tiles, h, selected)
	x, y := c.Origin()
	row := 0
	heights, space := heights(weights(shown), h-min(hidden, 1))
	for i, t := range shown {
		list, group := drawTile(t, w, heights[i], c.Look, now)
		for j, l := range list {
			c.Line(0, row+j, l)
		}
		if t.Row.ID == selected {
			c.Restyle(0, row, w, render.Selection)
		}
		p := tilePlaced{id: t.Row.ID, x: x, y: y + row, w: w, h: heights[i], group: -1}
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

// matter omits the least important tiles if there is not a row for each.
func matter(tiles []Tile, h int, selected string) (shown []Tile, hidden int) {
	if len(tiles) <= h {
		return tiles, 0
	}
	space := max(h-1, 1)
	order := slices.Clone(tiles)
	slices.SortStableFunc(order, func(a, b Tile) int { return rankTile(b.Row, selected) - rankTile(a.Row, selected) })
	keep := map[string]bool{}
	for _, t := range order[:space] {
		keep[t.Row.ID] = true
	}
	for _, t := range tiles {
		if keep[t.Row.ID] && len(shown) < space {
			shown = append(shown, t)
		}
	}
	return shown, len(tiles) - len(shown)
}

// rankTile returns how important it is to show an agent.
func rankTile(a PageAgent, selected string) int {
	switch {
	case a.Bell || a.ID == selected:
		return 3
	case a.Past:
		return 0
	case a.Busy || a.Stuck():
		return 2
	}
	return 1
}

// weights returns how many rows tiles need; 0: as many as there are.
func weights(tiles []Tile) (list []int) {
	for _, t := range tiles {
		switch a := t.Row; {
		case a.Past:
			list = append(list, 1)
		case a.Busy || a.Bell || a.Doing != "":
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
