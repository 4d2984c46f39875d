package tui

import (
	"fmt"

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
	if w.d.session.state == nil {
		return nil
	}
	var busy []string
	for _, a := range w.d.session.state.Agents {
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
	w.talk.Refresh()
	s := w.d.session.state
	w.rows = nil
	if s == nil {
		w.roster.Set(nil)
		w.strip.Set(nil, nil)
		return
	}
	w.rows = view.AgentRows(s, w.d.session.work, w.d.now())
	if !w.d.session.silent().IsZero() {
		for i := range w.rows {
			w.rows[i].Busy = false // not known
		}
	}
	for i := range w.rows {
		w.rows[i].Open = !w.folded[w.rows[i].ID]
	}
	w.roster.Set(w.rows)
	w.strip.Set(view.SnapshotSteps(s, s.Task.Plan), view.SnapshotTasks(s))
}

// title draws the screen's name and the task, and returns how many rows they take.
func (w *runScreen) title(c render.Canvas) int {
	width, height := c.Size()
	if height < 4 {
		return 0
	}
	head := render.Line{{Text: "THE WEAVING", Role: render.Title}}
	x := c.Line(0, 0, head)
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
		g := w.d.look.Glyphs
		c.Line(x, 0, render.Line{
			{Text: "  ", Role: render.Base}, {Text: render.Shorten(task, width-x-2, g.Ellipsis), Role: render.Strong},
		})
	}
	return 1
}

// rule separates the conversation from what is above it, and reports what is hidden.
func (w *runScreen) rule(c render.Canvas, row int) {
	c.Rule(row, render.Frame)
	if n := w.roster.Folded(); n > 0 && !w.tiled {
		c.Text(2, row, fmt.Sprintf(" %s finished ", words.Count(n, "agent")), render.Dim)
	}
	if note := w.talk.below(); note != "" {
		c.Sub(0, row, c0(c)-2, 1).Right(0, render.Of(render.Dim, " "+note+" "))
	}
}

func c0(c render.Canvas) int { w, _ := c.Size(); return w }

func (w *runScreen) act(a keys.Action, _ string) bool {
	if p := w.d.playback(); p != nil && control(p, a) {
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
