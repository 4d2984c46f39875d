package tui

import (
	"fmt"
	"slices"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/history"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// runScreen is the screen of a run: task, agents, plan, conversation.
type runScreen struct {
	d      *app
	roster *view.PageRoster
	strip  *view.PlanStrip
	board  view.TileBoard
	talk   *reader

	tiled  bool             // as last drawn
	narrow bool             // likewise: subagents are shown only if a person has unfolded them
	rows   []view.PageAgent // one for each agent
	folded map[string]bool  // agents whose subagents a person has folded or unfolded
}

func newRunScreen(d *app) *runScreen {
	w := &runScreen{d: d, roster: view.NewRoster(d.look), strip: view.NewPlanStrip(d.look)}
	w.talk = d.reader(&source{thread: d.f.history.Talk(), render: view.EventTalk, live: w.speaking})
	return w
}

// speaking returns the arriving messages of agents to others, from their verdicts. Other text that an agent
// writes is shown only on the screen of that agent.
func (w *runScreen) speaking() []history.Live {
	var busy []string
	for _, a := range w.d.session.agents() {
		if a.Status == supervisor.AgentBusy {
			busy = append(busy, a.ID)
		}
	}
	return w.d.f.history.LiveMessages(busy)
}

func (w *runScreen) context() keys.Context {
	if w.d.playback() != nil {
		return keys.Playback
	}
	return keys.Normal
}

func (w *runScreen) writes() bool { return w.d.playback() == nil }

func (w *runScreen) renew() {
	s := w.d.session.state
	w.rows = nil
	if s == nil {
		w.roster.Set(nil)
		w.strip.Set(nil, nil)
		return
	}
	w.rows = view.AgentRows(s, w.d.session.waits, w.d.session.work, w.d.now())
	if !w.d.session.silent().IsZero() {
		for i := range w.rows {
			w.rows[i].Busy = false // not known
		}
	}
	w.unfold()
	w.roster.Set(w.rows)
	w.strip.Set(view.SnapshotSteps(s, s.Task.Plan), view.SnapshotTasks(s))
}

// title draws the screen's name and the task, and returns how many rows they take.
func (w *runScreen) title(c render.Canvas) int {
	width, height := c.Size()
	if height < 4 {
		return 0
	}
	x := c.Text(0, 0, "THE WEAVING", render.Title)
	task := ""
	if w.d.session.state != nil {
		if confinement := view.Confinement(&w.d.session.state.Options, w.d.look.Glyphs); width >= 72 &&
			x+confinement.Width()+32 <= width {
			c.Right(0, confinement)
			width -= confinement.Width() + 2
		}
		task = sanitize.Line(words.Title(w.d.session.state.Task.Text), 1000)
	}
	if task != "" && width-x > 8 {
		x = c.Text(x, 0, "  ", render.Base)
		c.Text(x, 0, render.Shorten(task, width-x, w.d.look.Glyphs.Ellipsis), render.Strong)
	}
	return 1
}

func (w *runScreen) act(a keys.Action) bool {
	if p, do := w.d.playback(), controls()[a]; p != nil && do != nil {
		do(p)
		return true
	}
	switch a {
	case keys.NextAgent:
		w.roster.Move(1)
	case keys.PrevAgent:
		w.roster.Move(-1)
	case keys.OpenFocus:
		if id, ok := w.roster.Selected(); ok {
			w.d.focusOn(id)
		} else {
			w.d.focusOn(w.d.session.liveliest())
		}
	case keys.Kill:
		id, _ := w.roster.Selected()
		w.d.dialogs.askKill(id)
	case keys.FoldSubagents:
		id, _ := w.roster.Selected()
		w.fold(id)
	default:
		return w.d.scroll(w.talk, a)
	}
	return true
}

func (w *runScreen) mouse() mouseHandler {
	return func(a tview.MouseAction, e *tcell.EventMouse, focus func(tview.Primitive)) (bool, tview.Primitive) {
		if id, folds, ok := w.at(e.Position()); ok {
			switch {
			case a != tview.MouseLeftClick || w.d.session.state == nil:
				return false, nil
			case folds:
				w.fold(id)
			case id != "":
				w.d.focusOn(id)
			}
			return true, nil
		}
		return w.talk.MouseHandler()(a, e, focus)
	}
}

// Widths from which the layout of a run changes.
const (
	tileWidth = 160 // a tile for each agent beside plan and conversation
	planWidth = 100 // below this width the plan is one bar, and past agents are only counted
)

// tileHeight is the minimum height for tiles.
const tileHeight = 16

func (w *runScreen) draw(s tcell.Screen, x, y, width, height int) {
	c := render.On(s, x, y, width, height, w.d.look)
	row := w.title(c)
	w.tiled = width >= tileWidth && height >= tileHeight && len(w.rows) > 0
	w.narrow = width < planWidth && !w.tiled
	if w.unfold(); w.tiled {
		w.drawTiles(s, c, x, y, row)
		return
	}
	// Agents and plan are at the top, and the conversation in the rest.
	w.roster.Set(w.rows)
	if w.narrow {
		w.roster.FoldPast()
	}
	agents := w.roster.Rows(max(max(height-row, 0)/2, 1)) // the conversation keeps the other half
	paint(w.roster, s, x, y+row, width, agents)
	row += agents
	row += w.drawPlan(s, x, y+row, width, height-row)
	w.drawTalk(s, c, x, y, row)
}

// unfold shows the subagents of the agents where the person wants to see them.
func (w *runScreen) unfold() {
	for i, a := range w.rows {
		folded, chosen := w.folded[a.ID]
		w.rows[i].Open = !folded && (chosen || !w.narrow)
	}
}

// drawPlan draws the plan, and returns how many rows that took.
func (w *runScreen) drawPlan(s tcell.Screen, x, y, width, height int) (took int) {
	w.strip.Fold(w.narrow)
	if w.strip.Rows(1) == 0 || height <= 6 {
		return 0
	}
	if height > 12 && !w.tiled && w.roster.Rows(1) > 0 {
		took++
	}
	rows := w.strip.Rows(max((height-took)/3, 1))
	paint(w.strip, s, x, y+took, width, rows)
	return took + rows
}

// drawTalk draws the conversation below a rule, in the rest of a canvas.
func (w *runScreen) drawTalk(s tcell.Screen, c render.Canvas, x, y, row int) {
	width, height := c.Size()
	finished := ""
	if state := w.d.session.state; state != nil && w.narrow {
		if n := len(state.Agents) - w.roster.Len(); n > 0 { // also those that are never listed
			finished = fmt.Sprintf(" %s finished ", words.Count(n, "agent"))
		}
	}
	row = w.talk.rule(c, row, finished)
	if beside := w.sceneBesides(width, height-row); beside > 0 && !w.tiled {
		width -= beside
		w.drawScene(c.Sub(width+2, height-view.RitualRows, beside-2, view.RitualRows))
	}
	paint(w.talk, s, x, y+row, width, max(height-row, 0))
}

// drawTiles draws plan and conversation at the left and the tiles of the agents at the right.
func (w *runScreen) drawTiles(s tcell.Screen, whole render.Canvas, x, y, row int) {
	width, height := whole.Size()
	left := w.left(width)
	c := whole.Sub(0, 0, left, height)
	w.drawTalk(s, c, x, y, row+w.drawPlan(s, x, y+row, left, height-row))
	selected, _ := w.roster.Selected()
	below := w.sceneBelow(height - row)
	w.board.Draw(whole.Sub(left+2, row, width-left-2, height-row-below), w.rows, selected, w.d.now())
	if below > 0 {
		w.drawScene(whole.Sub(left+2, height-view.RitualRows, width-left-2, view.RitualRows))
	}
}

// left returns how many columns plan and conversation take beside the tiles.
func (w *runScreen) left(width int) int {
	return min(width/2, render.Prose+4) // with its gutter and its scroll bar
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
	of := func(a view.PageAgent) bool { return len(a.Subagents) > 0 && (id == "" || a.ID == id) }
	fold := slices.ContainsFunc(w.rows, func(a view.PageAgent) bool { return of(a) && a.Open })
	for _, a := range w.rows {
		if of(a) {
			w.folded[a.ID] = fold
		}
	}
	w.unfold()
}
