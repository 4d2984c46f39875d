package tui

import (
	"fmt"
	"strings"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// dialog is a question to the person, over everything else.
type dialog struct {
	ask     *view.Ask
	request string   // of a permission; empty: another question
	own     bool     // it was opened by an event, not by a key
	typed   rune     // the letter that opened it, which may be the first of a word
	depth   int      // how many screens there were when it was opened
	ways    []string // the options of a dialog on ways out
	twice   bool     // pressing the key that opened it again means yes
	answer  func(value string)
	close   func()
	first   bool   // it says what prevents the start of a run
	dismiss func() // called when the user closes it without an answer
	renote  func() // refreshes what changes while it is open; may be nil

	context keys.Context             // the keys that work in it
	act     func(a keys.Action) bool // performs actions that only this dialog has; may be nil
	row     func(i int)              // a row of its list was clicked
}

// Values of answers.
const (
	yes    = "yes"
	no     = "no"
	detach = "detach"
)

func (g *dialog) draw(s tcell.Screen, x, y, w, h int) {
	g.ask.SetRect(x, y, w, h)
	g.ask.Draw(s)
}

// key answers the dialog, scrolls it, or closes it. It returns false if the key was meant for something
// else.
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
			return false // the user is typing
		}
	}
	a, ok := keys.Look(g.context, key)
	if !ok {
		return false
	}
	if g.act != nil && g.act(a) {
		return true
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
	case keys.Back:
		g.dismiss()
	case keys.Leave:
		if !g.twice {
			g.dismiss()
			return false // and ask whether to leave
		}
		g.answer(yes) // pressed twice means yes
	case keys.Detach:
		if !g.twice {
			return false
		}
		g.answer(detach)
	default:
		return leaf(g.ask, a)
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
		if i, ok := g.ask.Row(x, y); ok && g.row != nil {
			g.row(i)
		} else if value, ok := g.ask.Click(x, y, now()); ok {
			g.answer(value)
		}
	default:
		return false
	}
	return true
}

// dialogs is the layer over the screens that holds the open dialog.
type dialogs struct {
	d          *app
	open       *dialog // nil: none is open
	trustAsked bool    // the user was asked whether the workspace is trusted
}

// asking returns the visible dialog, or nil: a page or a list that was opened over a dialog hides it, and returns to
// it.
func (ds *dialogs) asking() *dialog {
	if ds.open == nil || len(ds.d.screens) > ds.open.depth || ds.d.picker.open() {
		return nil
	}
	return ds.open
}

func (ds *dialogs) show(data view.AskData, answer func(string)) *dialog {
	g := &dialog{ask: view.NewAsk(ds.d.look), depth: len(ds.d.screens), context: keys.Ask}
	g.ask.Set(data)
	g.close = func() {
		if ds.open == g {
			ds.open = nil
		}
	}
	g.dismiss = func() { g.close() }
	g.answer = func(value string) { g.close(); answer(value) }
	ds.open = g
	return g
}

// showText shows a text that has to be read; it stays until the person closes it.
func (ds *dialogs) showText(title, text string) {
	text = sanitize.Text(text)
	ds.show(view.AskData{
		Title: title, Tone: render.Alert, Body: func(width int) []render.Line {
			return render.WrapText(render.Base, text, width)
		},
		Choices: []view.PageChoice{{Value: yes, Key: 'y', Label: "So be it"}},
	}, func(string) {})
}

// showReport shows what came of a long action: its report, or why it was not done.
func (ds *dialogs) showReport(done, report string, err error) {
	ds.d.word = flash{}
	if err != nil {
		done, report = "Not "+strings.ToLower(done), err.Error()
	}
	ds.showText(done, report)
}

// askResume says that the process of the run has gone, and offers to continue it.
func (ds *dialogs) askResume() {
	ds.show(view.AskData{
		Title: "The run was interrupted", Tone: render.Alert, Body: func(width int) []render.Line {
			return render.WrapText(render.Base, "The process that played it was killed or crashed. Its agents have ended "+
				"with it; nothing that was recorded is lost. Later: /resume, or arbiter --resume.", width)
		},
		Choices: []view.PageChoice{
			{Value: yes, Key: 'r', Label: "Resume it"},
			{Value: no, Key: 'n', Label: "Not now"},
		},
	}, func(value string) {
		if value == yes {
			ds.d.session.resume()
		}
	}).own = true
}

// askLeave asks whether to leave while work continues.
func (ds *dialogs) askLeave() {
	if ds.d.session.leaving {
		ds.d.session.run.Stop() // in a hurry
		ds.d.flash("In haste, then.")
		return
	}
	if ds.d.session.run == nil || ds.d.session.over() || ds.d.playback() != nil {
		ds.d.f.Leave()
		return
	}
	head := []render.Line{render.Of(render.Base,
		"Stop: the agents end cleanly, and arbiter --resume continues the run."),
		render.Of(render.Base, "Leave it running: arbiter in this directory shows it again.")}
	if ds.d.plan.unsaved() {
		head = append(head, render.Of(render.Warn, "Your changes to the plan are not saved."))
	}
	ds.show(view.AskData{
		Title: "Leave?", Tone: render.Alert, Head: head,
		Choices: []view.PageChoice{
			{Value: no, Key: 'n', Label: "Stay"},
			{Value: yes, Key: 'y', Label: "Stop and leave"},
			{Value: detach, Key: 'd', Label: "Leave it running"},
		},
		Note: "Ctrl+C again stops it. Ctrl+D leaves it running.",
	}, func(value string) {
		switch value {
		case yes:
			ds.d.session.leave()
		case detach:
			ds.d.session.detach()
		}
	}).twice = true
}

// askKill asks whether to end an Orchestrator.
func (ds *dialogs) askKill(id string) {
	switch {
	case id == "":
		ds.d.flash("Mark an Orchestrator first: Tab.")
		return
	case id == contract.Arbiter:
		ds.d.flash("Without the Arbiter there is no run: /cancel ends it.")
		return
	}
	ds.sure("End "+ds.d.session.name(id)+"?", "Let it work", "End it", func() { ds.d.session.send(contract.Kill{ID: id}) },
		render.Of(render.Base, "Its turn is cut off. What it did stays in the files, and a record of it is passed on."))
}

// sure asks before an action that cannot be undone.
func (ds *dialogs) sure(title, keep, label string, do func(), head ...render.Line) {
	ds.show(view.AskData{
		Title: title, Tone: render.Danger, Head: head,
		Choices: []view.PageChoice{{Value: no, Key: 'n', Label: keep},
			{Value: yes, Key: 'y', Label: label, Irreversible: true}},
	}, func(value string) {
		if value == yes {
			do()
		}
	})
}

// askEnd asks before ending the run.
func (ds *dialogs) askEnd(title string, do func()) bool {
	return ds.confirm(title,
		"Every agent is stopped in the middle of what it does, with all that its tools have started. What is in the "+
			"files stays; what was left half-done is said at the end.", "End it", do)
}

// askReset asks before dropping the task.
func (ds *dialogs) askReset() bool {
	return ds.confirm("Reset?",
		"Every Orchestrator is released, and the task and the plan are dropped. The Arbiter stays, and asks what is "+
			"wanted. Files stay as they are.", "Reset", func() { ds.d.session.send(contract.Reset{}) })
}

// confirm asks before an action on the run that cannot be undone.
func (ds *dialogs) confirm(title, text, label string, do func()) bool {
	if ds.d.session.run == nil || ds.d.session.over() {
		ds.d.session.noRun()
		return false
	}
	ds.sure(title, "No", label, do, render.Of(render.Base, text))
	return true
}

// Values of answers on a card of the tour.
const (
	onward   = "next"
	backward = "back"
)

// showTour shows a card of the tour, from 0.
func (ds *dialogs) showTour(at int) {
	steps := view.TourSteps()
	step := steps[at]
	data := view.AskData{
		Title: fmt.Sprintf("A tour %s %d of %d: %s", ds.d.look.Glyphs.Separator, at+1, len(steps), step.Title),
		Tone:  render.FrameFocus,
		Body:  func(width int) []render.Line { return render.WrapText(render.Base, step.Text, width) },
		Note:  "Esc ends the tour.",
	}
	if at+1 < len(steps) {
		data.Choices = append(data.Choices, view.PageChoice{Value: onward, Key: 'n', Label: "Next"})
	}
	if at > 0 {
		data.Choices = append(data.Choices, view.PageChoice{Value: backward, Key: 'b', Label: "Back"})
	}
	data.Choices = append(data.Choices, view.PageChoice{Value: no, Key: 'e', Label: "End"})
	if at+1 == len(steps) {
		data.Focus = len(data.Choices) - 1
	}
	ds.show(data, func(value string) {
		switch value {
		case onward:
			ds.showTour(at + 1)
		case backward:
			ds.showTour(at - 1)
		}
	})
}
