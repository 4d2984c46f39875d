package tui

import (
	"context"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/editor"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/slash"
)

// pickerPopup is a list to choose from, over everything.
type pickerPopup struct {
	title  string
	picker *editor.Picker
}

func (o *pickerPopup) open() bool { return o.picker != nil }

// choose opens a list; chosen is called after it was closed.
func (d *app) choose(title, empty string, items []editor.Item, chosen func(value any)) {
	p := editor.NewPicker(d.look)
	p.SetEmpty(empty)
	p.SetItems(items)
	p.OnChoose = func(i editor.Item) { d.picker = pickerPopup{}; chosen(i.Value) }
	p.OnCancel = func() { d.picker = pickerPopup{} }
	p.Focus(func(tview.Primitive) {})
	d.picker = pickerPopup{title: title, picker: p}
}

func (o *pickerPopup) key(_ *app, e *tcell.EventKey, key string) {
	if key == "Ctrl+C" {
		o.picker.OnCancel()
		return
	}
	o.picker.InputHandler()(e, func(tview.Primitive) {})
}

func (o *pickerPopup) paste(text string) { o.picker.PasteHandler()(text, func(tview.Primitive) {}) }

func (o *pickerPopup) mouse(_ *app, a tview.MouseAction, e *tcell.EventMouse) (bool, tview.Primitive) {
	return o.picker.MouseHandler()(a, e, func(tview.Primitive) {})
}

// draw draws the list in a frame of its own, in the middle of what there is.
func (o *pickerPopup) draw(d *app, s tcell.Screen, x, y, w, h int) {
	if !o.open() {
		return
	}
	s.HideCursor()
	width, height := min(w, 90), min(h, max(h*3/4, 8))
	left, top := x+(w-width)/2, y+(h-height)/3
	c := render.On(s, left, top, width, height, d.look)
	c.Clear(render.Base)
	inside := c.Frame(render.Of(render.Title, o.title), render.FrameFocus)
	ix, iy := inside.Origin()
	iw, ih := inside.Size()
	o.picker.SetRect(ix, iy, iw, ih)
	o.picker.Draw(s)
}

// pickDocument has a file of requirements chosen.
func (d *app) pickDocument(list []Document) {
	d.word = flash{}
	items := make([]editor.Item, 0, len(list))
	for _, f := range list {
		note := words.Bytes(f.Bytes)
		if f.Title != "" {
			note = sanitize.Line(f.Title, 60) + "  " + note
		}
		items = append(items, editor.Item{Text: f.Path, Note: note, Value: f.Path})
	}
	d.choose("Requirements", "There is no Markdown file in this workspace.", items, func(v any) { d.give(v.(string)) })
}

// give sends a file of requirements.
func (d *app) give(path string) {
	d.f.work(func(context.Context) {
		text, err := d.f.options.Host.ReadDocument(path)
		d.f.post(func() {
			if err != nil {
				d.flash(err.Error())
				return
			}
			if !d.say(words.Requirements(slash.Word(path), text)) {
				d.flash("Not sent: " + d.word.text)
			}
		})
	})
}

// complete answers what the input wants completed.
func (d *app) complete(c editor.Context) []editor.Candidate {
	switch {
	case c.Kind == editor.File, c.Want == editor.WantPath, c.Want == editor.WantFile:
		d.f.work(func(ctx context.Context) {
			var list []editor.Candidate
			for _, path := range d.f.options.Host.Files(ctx, c.Prefix) {
				list = append(list, editor.Candidate{Text: path, Open: path[len(path)-1] == '/'})
			}
			d.f.post(func() { d.input.SetCandidates(c.Generation, list) })
		})
		return nil
	case c.Want == editor.WantAgent:
		return d.agentCandidates()
	case c.Want == editor.WantRule:
		return d.ruleCandidates()
	case c.Want == editor.WantMode:
		return d.modeCandidates()
	case c.Want == editor.WantTheme:
		return themeCandidates()
	case c.Want == editor.WantRun:
		var list []editor.Candidate
		for _, r := range d.found.Runs {
			list = append(list, editor.Candidate{Text: short(r.ID), Note: sanitize.Line(r.Title, 60)})
		}
		return list
	case c.Want == editor.WantOption:
		return d.wayCandidates()
	case c.Want == editor.WantModel:
		return []editor.Candidate{{Text: "opus"}, {Text: "sonnet"}, {Text: "haiku"}}
	}
	return nil
}

// short is enough of a run's id to name it.
func short(id string) string { return id[:min(len(id), 8)] }
