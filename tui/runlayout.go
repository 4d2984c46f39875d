package tui

import (
	"slices"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// Widths from which the layout of a run changes.
const (
	tileWidth = 160 // a tile for each agent beside plan and conversation
	planWidth = 100 // below this width the plan is one bar, and past agents are only counted
)

// tileHeight is the minimum height for tiles.
const tileHeight = 16

// writingKept is how many bytes of the end of an arriving text are used.
const writingKept = 2 << 10

func (w *runScreen) draw(s tcell.Screen, x, y, width, height int) {
	w.tiled = width >= tileWidth && height >= tileHeight && len(w.rows) > 0
	if w.tiled {
		w.drawTiles(s, x, y, width, height)
		return
	}
	c := render.On(s, x, y, width, height, w.d.look)
	row := w.title(c)
	w.drawAbove(s, x, y, width, height, row)
}

// drawAbove draws agents and plan at the top, and the conversation in the rest.
func (w *runScreen) drawAbove(s tcell.Screen, x, y, width, height, row int) {
	c := render.On(s, x, y, width, height, w.d.look)
	w.roster.Set(w.rows)
	if width < planWidth {
		w.roster.Set(w.narrow())
		w.roster.FoldPast()
	}
	agents := w.roster.Rows(max(max(height-row, 0)/2, 1)) // the conversation keeps the other half
	w.roster.SetRect(x, y+row, width, agents)
	w.roster.Draw(s)
	row += agents
	row += w.drawPlan(s, x, y+row, width, height-row)
	w.drawTalk(s, c, x, y, row)
}

// narrow returns the agents for a narrow window: subagents are shown only if a person has unfolded them.
func (w *runScreen) narrow() []view.PageAgent {
	list := slices.Clone(w.rows)
	for i, a := range list {
		folded, chosen := w.folded[a.ID]
		list[i].Open = chosen && !folded
	}
	return list
}

// drawPlan draws the plan, and returns how many rows that took.
func (w *runScreen) drawPlan(s tcell.Screen, x, y, width, height int) (took int) {
	w.strip.Fold(width < planWidth && !w.tiled)
	if w.strip.Rows(1) == 0 || height <= 6 {
		return 0
	}
	if height > 12 && !w.tiled && w.roster.Rows(1) > 0 {
		took++
	}
	rows := w.strip.Rows(max((height-took)/3, 1))
	w.strip.SetRect(x, y+took, width, rows)
	w.strip.Draw(s)
	return took + rows
}

// drawTalk draws the conversation below a rule, in the rest of a canvas.
func (w *runScreen) drawTalk(s tcell.Screen, c render.Canvas, x, y, row int) {
	width, height := c.Size()
	if height-row > 3 {
		w.rule(c, row)
		row++
	}
	if beside := w.sceneBesides(width, height-row); beside > 0 && !w.tiled {
		width -= beside
		w.drawScene(c.Sub(width+2, height-view.RitualRows, beside-2, view.RitualRows))
	}
	w.talk.SetRect(x, y+row, width, max(height-row, 0))
	w.talk.Draw(s)
}

// drawTiles draws plan and conversation at the left and the tiles of the agents at the right.
func (w *runScreen) drawTiles(s tcell.Screen, x, y, width, height int) {
	whole := render.On(s, x, y, width, height, w.d.look)
	row := w.title(whole)
	left := w.left(width)
	c := whole.Sub(0, 0, left, height)
	w.drawTalk(s, c, x, y, row+w.drawPlan(s, x, y+row, left, height-row))
	selected, _ := w.roster.Selected()
	below := w.sceneBelow(height - row)
	w.board.Draw(whole.Sub(left+2, row, width-left-2, height-row-below), w.tiles(), selected, w.d.now())
	if below > 0 {
		w.drawScene(whole.Sub(left+2, height-view.RitualRows, width-left-2, view.RitualRows))
	}
}

// left returns how many columns plan and conversation take beside the tiles.
func (w *runScreen) left(width int) int {
	return min(width/2, render.Prose+4) // with its gutter and its scroll bar
}

func (w *runScreen) tiles() []view.Tile {
	state := w.d.session.state
	if state == nil {
		return nil
	}
	byID := map[string]*supervisor.Agent{}
	for _, a := range state.Agents {
		byID[a.ID] = a
	}
	var list []view.Tile
	for _, row := range w.rows {
		if a := byID[row.ID]; a != nil {
			work := w.d.session.work(row.ID)
			list = append(list, view.Tile{Row: row, Work: work.AgentActivity, Writing: work.Writing,
				Root: view.SnapshotRoot(state, a), Model: view.SnapshotModel(state, a), CostUSD: a.Spent(),
				Simulated: state.Options.Rehearsal})
		}
	}
	return list
}

// at returns the agent that is drawn at a place, and whether the place folds its subagents. It returns
// false for a place in the conversation.
func (w *runScreen) at(x, y int) (id string, folds, ok bool) {
	if w.tiled {
		return w.board.At(x, y)
	}
	if !w.roster.InRect(x, y) {
		return "", false, false
	}
	id, _ = w.roster.At(x, y)
	return id, false, true
}

// fold folds or unfolds the subagents of an agent; an empty id stands for all agents.
func (w *runScreen) fold(id string) {
	if w.folded == nil {
		w.folded = map[string]bool{}
	}
	rows := w.rows
	if _, _, width, _ := w.roster.GetRect(); !w.tiled && width < planWidth {
		rows = w.narrow()
	}
	of := func(a view.PageAgent) bool { return len(a.Subagents) > 0 && (id == "" || a.ID == id) }
	fold := slices.ContainsFunc(rows, func(a view.PageAgent) bool { return of(a) && a.Open })
	for i, a := range rows {
		if of(a) {
			w.folded[a.ID] = fold
			w.rows[i].Open = !fold
		}
	}
}

// root returns the directory in which an agent works.
func (s *session) root(id string) string {
	for _, a := range s.agents() {
		if a.ID == id {
			return view.SnapshotRoot(s.state, a)
		}
	}
	return ""
}

// work returns details about an agent that are not in the state.
func (s *session) work(id string) view.Work {
	w := view.Work{AgentActivity: s.d.f.activity.Agent(id)}
	if l, ok := s.d.f.history.LiveEnd(id, writingKept); ok {
		if w.Writing = l.Text; l.Verdict {
			w.Writing = l.Message
		}
	}
	return w
}
