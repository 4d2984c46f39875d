package tui

import (
	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/pages"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// dialog is a question to the person, over everything else.
type dialog struct {
	ask     *pages.Ask
	request string   // of a permission; empty: another question
	own     bool     // it came by itself, not by a key
	typed   rune     // the letter that led to it, which may be the first of a word
	depth   int      // how many screens there were when it was opened
	ways    []string // what is offered in it, of a dialog on ways out
	twice   bool     // the key that leads to it, pressed again, is yes
	answer  func(value string)
	close   func()
	dismiss func() // somebody steps back from it
	renote  func() // tells anew what changes while it is open; nil: nothing does
}

// Values of answers.
const (
	yes = "yes"
	no  = "no"
)

func (g *dialog) draw(s tcell.Screen, x, y, w, h int) {
	g.ask.SetRect(x, y, w, h)
	g.ask.Draw(s)
}

// key answers it, scrolls it, or leaves it. It reports false for a key that was meant
// for something else.
func (g *dialog) key(e *tcell.EventKey, key string) bool {
	early := g.own && !g.ask.Armed(now())
	if e.Key() == tcell.KeyRune && e.Modifiers()&(tcell.ModAlt|tcell.ModCtrl) == 0 {
		value, ok := g.ask.Press(e.Rune(), now())
		if ok {
			g.typed = e.Rune()
			g.answer(value)
			return true
		}
		if early || g.own && g.typed != 0 {
			return false // somebody is in the middle of a word
		}
	}
	a, ok := keys.Look(keys.Ask, key)
	if !ok {
		return false
	}
	switch a {
	case keys.NextChoice:
		g.ask.Next()
	case keys.PrevChoice:
		g.ask.Prev()
	case keys.Choose:
		if value, ok := g.ask.Choose(now()); ok {
			g.typed = 0
			g.answer(value)
		}
	case keys.Up:
		g.ask.Up(1)
	case keys.Down:
		g.ask.Down(1)
	case keys.PageUp:
		g.ask.PageUp()
	case keys.PageDown:
		g.ask.PageDown()
	case keys.Back:
		g.dismiss()
	case keys.Leave:
		if !g.twice {
			g.dismiss()
			return false // and ask whether to leave
		}
		g.answer(yes) // asked twice, it is meant
	default:
		return false
	}
	return true
}

func (g *dialog) mouse(a tview.MouseAction, e *tcell.EventMouse) bool {
	switch a {
	case tview.MouseScrollUp:
		g.ask.Up(3)
	case tview.MouseScrollDown:
		g.ask.Down(3)
	case tview.MouseLeftClick:
		x, y := e.Position()
		if value, ok := g.ask.Click(x, y, now()); ok {
			g.answer(value)
		}
	default:
		return false
	}
	return true
}

// asking is the dialog in sight, nil if there is none: a page that was opened over one hides
// it, and leads back to it.
func (d *app) asking() *dialog {
	if d.tab == nil || len(d.screens) > d.tab.depth {
		return nil
	}
	return d.tab
}

// show opens a dialog.
func (d *app) show(data pages.AskData, answer func(string)) *dialog {
	g := &dialog{ask: pages.NewAsk(d.look), depth: len(d.screens)}
	g.ask.Set(data)
	g.close = func() {
		if d.tab == g {
			d.tab = nil
		}
	}
	g.dismiss = func() { g.close() }
	g.answer = func(value string) { g.close(); answer(value) }
	d.tab = g
	return g
}

// tell shows what has to be read, and stays until it was.
func (d *app) tell(title, text string) {
	text = sanitize.Text(text)
	d.show(pages.AskData{
		Title: title, Tone: render.Alert, Body: func(width int) []render.Line { return render.WrapText(render.Base, text, width) },
		Choices: []pages.Choice{{Value: yes, Key: 'y', Label: "So be it"}},
	}, func(string) {})
}

// askLeave asks whether to leave while work goes on.
func (d *app) askLeave() {
	if d.leaving {
		d.run.Stop() // in a hurry
		d.flash("In haste, then.")
		return
	}
	if d.run == nil || d.over() {
		d.f.Leave()
		return
	}
	head := []render.Line{render.Of(render.Base, "The agents are stopped in order. Nothing is lost: arbiter --resume takes the thread up again.")}
	if d.unsaved() {
		head = append(head, render.Of(render.Warn, "But for your changes to the plan, which are not saved."))
	}
	d.show(pages.AskData{
		Title: "Leave?", Tone: render.Alert, Head: head,
		Choices: []pages.Choice{
			{Value: no, Key: 'n', Label: "Stay"},
			{Value: yes, Key: 'y', Label: "Leave"},
		},
		Note: "Ctrl+C again leaves.",
	}, func(value string) {
		if value == yes {
			d.leave()
		}
	}).twice = true
}

// leave stops the run in order; the screen stays until it has ended.
func (d *app) leave() {
	if d.run == nil || d.over() {
		d.f.Leave()
		return
	}
	d.leaving = true
	d.flash("So it shall be. The threads are laid down.")
	run := d.run
	run.Stop()
	d.f.await(run, d.f.Leave)
}

// over reports whether the present run has ended, and all that belonged to it.
func (d *app) over() bool {
	select {
	case <-d.run.Done():
		return true
	default:
		return false
	}
}

// askKill asks whether to end an Orchestrator.
func (d *app) askKill(id string) {
	switch {
	case id == "":
		d.flash("Mark an Orchestrator first: Tab.")
		return
	case id == contract.Arbiter:
		d.flash("Without the Arbiter there is no run: /cancel ends it.")
		return
	}
	d.show(pages.AskData{
		Title: "End " + d.name(id) + "?", Tone: render.Danger,
		Head: []render.Line{render.Of(render.Base, "Its turn is cut off. What it did stays in the files, and a record of it is passed on.")},
		Choices: []pages.Choice{
			{Value: no, Key: 'n', Label: "Let it work"},
			{Value: yes, Key: 'y', Label: "End it", Grave: true},
		},
	}, func(value string) {
		if value == yes {
			d.send(contract.Kill{ID: id})
		}
	})
}
