package tui

import (
	"strings"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// listScreen is the common part of the screens that list something, with a preview of the current row.
type listScreen struct {
	*view.List
	d     *app
	keys  keys.Context
	click func() // the current row was clicked; nil: nothing happens
}

func newListScreen(d *app, c keys.Context, title string, columns ...view.ListColumn) listScreen {
	l := listScreen{List: view.NewList(d.look), d: d, keys: c}
	l.Title, l.Columns = title, columns
	return l
}

func (l *listScreen) context() keys.Context               { return l.keys }
func (l *listScreen) writes() bool                        { return false }
func (l *listScreen) draw(s tcell.Screen, x, y, w, h int) { paint(l.List, s, x, y, w, h) }

func (l *listScreen) mouse() mouseHandler { return clicks(l.List, l.click) }

// clicks makes a click choose a row of a list, and a click on the current one open it, unless that is nil.
func clicks(l *view.List, open func()) mouseHandler {
	return wheel(l, func(x, y int) {
		was, _ := l.Chosen()
		if l.At(x, y) && open != nil {
			if is, _ := l.Chosen(); is.Key == was.Key {
				open()
			}
		}
	})
}

// act performs the actions that all lists have.
func (l *listScreen) act(a keys.Action, _ string) bool {
	switch a {
	case keys.Filter:
		l.Typing = true
	case keys.Sort:
		l.d.flash(l.Sort())
	case keys.ReadOn:
		l.ReadOn()
	case keys.Back:
		if l.Filter() == "" {
			return false
		}
		l.SetFilter("")
	default:
		return leaf(l.List, a)
	}
	return true
}

// writer is a screen with a text of its own that is being written.
type writer interface {
	// key handles a key; false: nothing is being written.
	key(e *tcell.EventKey, key string) bool
}

// key implements writer: it handles the keys of the filter.
func (l *listScreen) key(e *tcell.EventKey, key string) bool {
	if !l.Typing {
		return false
	}
	switch key {
	case "Esc", "Ctrl+C":
		l.Typing = false
		l.SetFilter("")
	case "Enter":
		l.Typing = false
	default:
		l.Type(e)
	}
	return true
}

// filtered is a screen with a filter.
type filtered interface{ filter() *view.List }

func (l *listScreen) filter() *view.List { return l.List }

// picker is a list to choose from in a frame, over everything.
type picker struct {
	title  string
	list   *view.List // nil: it is not open
	chosen func(value any)
}

func (o *picker) open() bool { return o.list != nil }

// choice is a row of a picker.
type choice struct {
	text, note string
	role       render.Role
	value      any
}

// choose opens a list; it calls chosen after the list was closed.
func (d *app) choose(title, empty string, items []choice, chosen func(value any)) {
	l := view.NewList(d.look)
	l.Empty, l.Typing = empty, true
	l.Columns = []view.ListColumn{{Wide: true}, {Right: true, Most: 60}}
	var rows []view.ListRow
	for _, i := range items {
		rows = append(rows, view.ListRow{Key: i.text, Value: i.value, Cells: []render.Line{
			render.Of(i.role, view.Plain(i.text)), render.Of(render.Dim, view.Plain(i.note))}})
	}
	l.Set(rows)
	d.picker = picker{title, l, chosen}
}

func (o *picker) key(e *tcell.EventKey, key string) {
	switch key {
	case "Esc", "Ctrl+C":
		*o = picker{}
	case "Enter":
		o.take()
	default:
		o.list.Type(e)
	}
}

// take chooses the current row.
func (o *picker) take() {
	row, ok := o.list.Chosen()
	if chosen := o.chosen; ok {
		*o = picker{}
		chosen(row.Value)
	}
}

func (o *picker) mouse(a tview.MouseAction, e *tcell.EventMouse) (bool, tview.Primitive) {
	return clicks(o.list, o.take)(a, e, nil)
}

// draw draws the list in the middle of the given area.
func (o *picker) draw(d *app, s tcell.Screen, x, y, w, h int) {
	if !o.open() {
		return
	}
	s.HideCursor()
	width, height := min(w, 90), min(h, max(h*3/4, 8))
	c := render.On(s, x+(w-width)/2, y+(h-height)/3, width, height, d.look)
	c.Clear(render.Base)
	inside := c.Frame(render.Of(render.Title, o.title), render.FrameFocus)
	ix, iy := inside.Origin()
	iw, ih := inside.Size()
	paint(o.list, s, ix, iy, iw, ih)
}

// palette lists all actions and screens, filtered by a few letters.
type palette struct{ d *app }

// pageKeys are the actions that open pages for which there is no command.
var pageKeys = []keys.Action{keys.WayOut, keys.Judge, keys.CycleGrants, keys.Strength}

// open shows the list.
func (p palette) open() {
	p.d.choose("What shall be done?", "", p.items(), func(v any) { v.(func())() })
}

// items returns the agents, the commands, and actions that only keys have. The value of each is called when
// the user chooses it.
func (p palette) items() []choice {
	var list []choice
	for _, a := range p.d.session.agents() {
		if view.SlashOver(a) {
			continue
		}
		note := a.Mode
		if a.Alive() {
			note = strings.TrimSpace(note + "  look at it")
		}
		list = append(list, choice{p.d.session.name(a.ID) + "  " + a.ID, view.SlashWord(note), render.Speaker(a.ID),
			func() { p.d.focusOn(a.ID) }})
	}
	for _, s := range view.EditorCommands {
		list = append(list, choice{text: "/" + s.Name + "  " + s.Help, note: s.Args,
			value: func() { p.command(s) }})
	}
	for _, b := range keys.Own(keys.Everywhere) {
		for _, a := range pageKeys {
			if a == b.Action {
				list = append(list, choice{text: b.Help, note: b.Keys[0], value: func() { p.d.act(a) }})
			}
		}
	}
	return list
}

// command runs a command, or writes it into the input if it needs an argument. A command that acts on
// waiting requests or running work is also only written: a few letters and Enter must not run it.
func (p palette) command(s view.EditorSpec) {
	_, answers := view.SlashAnswers[s.Name]
	if s.Args == "" || answers || s.Name == "plan" {
		p.d.commands.slash(view.EditorCommand{Name: s.Name})
		return
	}
	p.d.toInput()
	p.d.prompt.input.SetText("/" + s.Name + " ")
	p.d.prompt.write()
}
