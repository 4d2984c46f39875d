package tui

import (
	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventview"
	"github.com/arbiter-cli/arbiter/tui/history"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/pages"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/snapshot"
)

// sideBySide is the width from which on the plan stands beside the agents.
const sideBySide = 150

// runScreen is the picture of a run: task, agents, plan, conversation.
type runScreen struct {
	d      *app
	roster *pages.Roster
	strip  *pages.PlanStrip
	talk   *reader
}

func newRunScreen(d *app) *runScreen {
	w := &runScreen{d: d, roster: pages.NewRoster(d.look), strip: pages.NewPlanStrip(d.look)}
	w.talk = d.reader(&source{thread: d.f.history.Talk(), render: eventview.Talk, live: d.speaking})
	return w
}

// speaking is the text that is arriving from those who speak to others: the words of
// verdicts. What an agent thinks aloud is seen when one looks at it alone.
func (d *app) speaking() []history.Live {
	if d.session.state == nil {
		return nil
	}
	var list []history.Live
	for i := range d.session.state.Agents {
		l, ok := d.f.history.Live(d.session.state.Agents[i].ID)
		if !ok || d.session.state.Agents[i].Status != roster.Busy {
			continue
		}
		if l.Text = ""; l.Verdict && l.Message != "" {
			list = append(list, l)
		}
	}
	return list
}

func (w *runScreen) context() keys.Context { return keys.Normal }
func (w *runScreen) writes() bool          { return true }

// renew implements screen.
func (w *runScreen) renew() {
	for _, p := range []interface{ SetLook(*render.Look) }{w.roster, w.strip, w.talk} {
		p.SetLook(w.d.look)
	}
	s := w.d.session.state
	if s == nil {
		w.roster.Set(nil)
		w.strip.Set(nil, nil)
		return
	}
	w.roster.Set(snapshot.AgentRows(s, now()))
	w.strip.Set(snapshot.Steps(s, s.Task.Plan), snapshot.Tasks(s))
}

// draw implements screen: the task, the agents and the plan above, the conversation
// in what is left. On a wide window the plan stands beside the agents.
func (w *runScreen) draw(s tcell.Screen, x, y, width, height int) {
	c := render.On(s, x, y, width, height, w.d.look)
	row := w.title(c)
	top := max(height-row, 0) / 2 // the conversation keeps the other half
	agents := w.roster.Rows(max(top, 1))
	planned := w.strip.Rows(1) > 0
	side := width >= sideBySide && planned
	if side {
		part := width * 2 / 5
		agents = max(agents, w.strip.Rows(top))
		w.roster.SetRect(x, y+row, width-part-1, agents)
		w.strip.SetRect(x+width-part+1, y+row, part-1, agents)
		w.strip.Draw(s)
	} else {
		w.roster.SetRect(x, y+row, width, agents)
	}
	w.roster.Draw(s)
	row += agents
	if !side && planned && height-row > 6 {
		if height-row > 12 {
			row++
		}
		rows := w.strip.Rows(max((height-row)/3, 1))
		w.strip.SetRect(x, y+row, width, rows)
		w.strip.Draw(s)
		row += rows
	}
	if height-row > 3 {
		w.rule(c, row)
		row++
	}
	w.talk.SetRect(x, y+row, width, max(height-row, 0))
	w.talk.Draw(s)
}

// title draws the name of the picture and the task, and says how many rows that took.
func (w *runScreen) title(c render.Canvas) int {
	width, height := c.Size()
	if height < 4 {
		return 0
	}
	head := render.Line{{Text: "THE WEAVING", Role: render.Title}}
	x := c.Line(0, 0, head)
	task := ""
	if w.d.session.state != nil {
		if facts := snapshot.Confinement(&w.d.session.state.Options, w.d.look.Glyphs); width >= 72 &&
			x+facts.Width()+32 <= width {
			c.Right(0, facts)
			width -= facts.Width() + 2
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

// rule parts the conversation from what stands above, and says what is out of sight.
func (w *runScreen) rule(c render.Canvas, row int) {
	c.Rule(row, render.Frame)
	if note := w.d.below(w.talk); note != "" {
		c.Sub(0, row, c0(c)-2, 1).Right(0, render.Of(render.Dim, " "+note+" "))
	}
}

func c0(c render.Canvas) int { w, _ := c.Size(); return w }

// act implements screen.
func (w *runScreen) act(a keys.Action, _ string) bool {
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
	default:
		return w.d.scroll(w.talk, a)
	}
	return true
}

// mouse implements screen.
func (w *runScreen) mouse() mouseHandler {
	return func(a tview.MouseAction, e *tcell.EventMouse, focus func(tview.Primitive)) (bool, tview.Primitive) {
		if x, y := e.Position(); w.roster.InRect(x, y) && w.d.session.state != nil {
			if id, ok := w.roster.At(x, y); ok && a == tview.MouseLeftClick {
				w.d.focusOn(id)
				return true, nil
			}
			return false, nil
		}
		return w.talk.MouseHandler()(a, e, focus)
	}
}
