package tui

import (
	"fmt"
	"slices"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/history"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// focus shows one agent: all that it says and does, its subagents as a tree.
type focus struct {
	blockScreen
	id   string
	line *view.PageRoster
	was  bool // the screen had the keyboard, before
}

// focusOn shows one agent.
func (d *app) focusOn(id string) {
	if d.session.state == nil || !slices.ContainsFunc(d.session.state.Agents,
		func(a *supervisor.Agent) bool { return a.ID == id }) {
		d.flash("There is no " + d.session.name(id) + " here.")
		return
	}
	f := &focus{blockScreen: blockScreen{d: d, keys: keys.Focus}, id: id, line: view.NewRoster(d.look)}
	f.reader = d.reader(&source{thread: d.f.history.Agent(id), render: view.EventStream, live: func() []history.Live {
		if l, ok := d.f.history.Live(id); ok {
			return []history.Live{l}
		}
		return nil
	}})
	if f.was = d.prompt.reading; d.screen().context() == keys.Focus {
		f.was = d.screen().(*focus).was
	}
	d.open(f)
	d.prompt.to = ""
	d.prompt.read()
}

func (f *focus) writes() bool { return f.d.playback() == nil }

func (f *focus) agent() *supervisor.Agent {
	if s := f.d.session.state; s != nil {
		if i := slices.IndexFunc(s.Agents, func(a *supervisor.Agent) bool { return a.ID == f.id }); i >= 0 {
			return s.Agents[i]
		}
	}
	return nil
}

func (f *focus) renew() {
	f.blockScreen.renew()
	if a := f.agent(); a != nil {
		f.line.Set([]view.PageAgent{view.AgentRow(f.d.session.state, a, f.d.session.work(a.ID), f.d.now())})
	}
}

func (f *focus) draw(s tcell.Screen, x, y, w, h int) {
	c := render.On(s, x, y, w, h, f.d.look)
	row := f.line.Rows(h)
	f.line.SetRect(x, y, w, row)
	f.line.Draw(s)
	if details := f.details(); details != "" && h-row > 6 {
		c.Text(0, row, render.Shorten(details, w, f.d.look.Glyphs.Ellipsis), render.Dim)
		row++
	}
	f.drawBlocks(s, c, row)
}

// details returns further details of the agent.
func (f *focus) details() string {
	a := f.agent()
	if a == nil {
		return ""
	}
	g := f.d.look.Glyphs
	text := fmt.Sprintf("session %s %s generation %d %s $%.4f", view.SlashWord(a.SessionID), g.Separator, a.Generation,
		g.Separator, a.Spent())
	text += eventtext.Simulated(f.d.session.state.Options.Rehearsal)
	if a.Context.TurnsLeft > 0 {
		text += fmt.Sprintf(" %s about %s before it must hand off", g.Separator,
			words.Count(a.Context.TurnsLeft, "turn"))
	}
	if a.Predecessor != "" {
		text += " " + g.Separator + " successor of " + f.d.session.name(a.Predecessor)
	}
	if a.Compactions > 0 {
		text += fmt.Sprintf(" %s compacted %s", g.Separator, words.Count(a.Compactions, "time"))
	}
	return text
}

func (f *focus) act(a keys.Action, key string) bool {
	switch a {
	case keys.Back:
		if f.Selecting() {
			f.SelectClear()
			return true
		}
		f.d.prompt.reading, f.d.prompt.to = f.was, ""
		f.d.back()
	case keys.NextAgent, keys.PrevAgent:
		f.turn(a == keys.NextAgent)
	case keys.Write:
		f.d.prompt.to = f.id
		f.d.prompt.write()
	case keys.Read:
		f.d.prompt.read()
	case keys.Stop:
		f.d.session.interrupt(f.id)
	case keys.Kill:
		f.d.dialogs.askKill(f.id)
	case keys.Attach:
		f.d.session.attach(f.id)
	default:
		return f.blockScreen.act(a, key)
	}
	return true
}

// turn shows the next agent, or the previous one.
func (f *focus) turn(next bool) {
	if f.d.session.state == nil {
		return
	}
	list := f.d.session.state.Agents
	i := slices.IndexFunc(list, func(a *supervisor.Agent) bool { return a.ID == f.id })
	by := 1
	if !next {
		by = len(list) - 1
	}
	if len(list) > 0 {
		f.d.focusOn(list[(i+by)%len(list)].ID)
	}
}
