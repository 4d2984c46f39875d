package tui

import (
	"context"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/cell"
	"github.com/arbiter-cli/arbiter/tui/composer"
	"github.com/arbiter-cli/arbiter/tui/orders"
)

// offer is a list to choose from, over everything.
type offer struct {
	title  string
	picker *composer.Picker
}

func (o *offer) open() bool { return o.picker != nil }

// choose opens a list; chosen is called after it was closed.
func (d *desk) choose(title, empty string, items []composer.Item, chosen func(value any)) {
	p := composer.NewPicker(d.look)
	p.SetEmpty(empty)
	p.SetItems(items)
	p.OnChoose = func(i composer.Item) { d.offer = offer{}; chosen(i.Value) }
	p.OnCancel = func() { d.offer = offer{} }
	p.Focus(func(tview.Primitive) {})
	d.offer = offer{title: title, picker: p}
}

func (o *offer) key(_ *desk, e *tcell.EventKey, key string) {
	if key == "Ctrl+C" {
		o.picker.OnCancel()
		return
	}
	o.picker.InputHandler()(e, func(tview.Primitive) {})
}

func (o *offer) paste(text string) { o.picker.PasteHandler()(text, func(tview.Primitive) {}) }

func (o *offer) mouse(_ *desk, a tview.MouseAction, e *tcell.EventMouse) (bool, tview.Primitive) {
	return o.picker.MouseHandler()(a, e, func(tview.Primitive) {})
}

// draw draws the list in a frame of its own, in the middle of what there is.
func (o *offer) draw(d *desk, s tcell.Screen, x, y, w, h int) {
	if !o.open() {
		return
	}
	s.HideCursor()
	width, height := min(w, 90), min(h, max(h*3/4, 8))
	left, top := x+(w-width)/2, y+(h-height)/3
	c := cell.On(s, left, top, width, height, d.look)
	c.Clear(cell.Base)
	inside := c.Frame(cell.Of(cell.Title, o.title), cell.FrameFocus)
	ix, iy := inside.Origin()
	iw, ih := inside.Size()
	o.picker.SetRect(ix, iy, iw, ih)
	o.picker.Draw(s)
}

// offerDocuments has a file of requirements chosen.
func (d *desk) offerDocuments(list []Document) {
	d.word = flash{}
	items := make([]composer.Item, 0, len(list))
	for _, f := range list {
		note := words.Bytes(f.Bytes)
		if f.Title != "" {
			note = sanitize.Line(f.Title, 60) + "  " + note
		}
		items = append(items, composer.Item{Text: f.Path, Note: note, Value: f.Path})
	}
	d.choose("Requirements", "There is no Markdown file in this workspace.", items, func(v any) { d.give(v.(string)) })
}

// give sends a file of requirements.
func (d *desk) give(path string) {
	d.f.work(func(context.Context) {
		text, err := d.f.options.Host.ReadDocument(path)
		d.f.post(func() {
			if err != nil {
				d.flash(err.Error())
				return
			}
			if !d.say(words.Requirements(orders.Word(path), text)) {
				d.flash("Not sent: " + d.word.text)
			}
		})
	})
}

// complete answers what the input wants completed.
func (d *desk) complete(c composer.Context) []composer.Candidate {
	switch {
	case c.Kind == composer.File, c.Want == composer.WantPath, c.Want == composer.WantFile:
		d.f.work(func(ctx context.Context) {
			var list []composer.Candidate
			for _, path := range d.f.options.Host.Files(ctx, c.Prefix) {
				list = append(list, composer.Candidate{Text: path, Open: path[len(path)-1] == '/'})
			}
			d.f.post(func() { d.input.SetCandidates(c.Generation, list) })
		})
		return nil
	case c.Want == composer.WantAgent:
		return d.agentCandidates()
	case c.Want == composer.WantRule:
		return d.ruleCandidates()
	case c.Want == composer.WantMode:
		return d.modeCandidates()
	case c.Want == composer.WantTheme:
		return themeCandidates()
	case c.Want == composer.WantRun:
		var list []composer.Candidate
		for _, r := range d.found.Runs {
			list = append(list, composer.Candidate{Text: short(r.ID), Note: sanitize.Line(r.Title, 60)})
		}
		return list
	case c.Want == composer.WantOption:
		return d.wayCandidates()
	case c.Want == composer.WantModel:
		return []composer.Candidate{{Text: "opus"}, {Text: "sonnet"}, {Text: "haiku"}}
	}
	return nil
}

// short is enough of a run's id to name it.
func short(id string) string { return id[:min(len(id), 8)] }
