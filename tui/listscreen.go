package tui

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/words"
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
	chose func() // another row may be the current one; nil: nothing happens
}

func newListScreen(d *app, c keys.Context, title string, columns ...view.ListColumn) listScreen {
	l := listScreen{List: view.NewList(d.look), d: d, keys: c}
	l.Title, l.Columns = title, columns
	return l
}

func (l *listScreen) context() keys.Context               { return l.keys }
func (l *listScreen) writes() bool                        { return false }
func (l *listScreen) renew()                              {}
func (l *listScreen) draw(s tcell.Screen, x, y, w, h int) { paint(l.List, s, x, y, w, h) }

func (l *listScreen) mouse() mouseHandler {
	return func(a tview.MouseAction, e *tcell.EventMouse, focus func(tview.Primitive)) (bool, tview.Primitive) {
		defer l.moved()
		return clicks(l.List, l.click)(a, e, focus)
	}
}

func (l *listScreen) moved() {
	if l.chose != nil {
		l.chose()
	}
}

// chosen returns what the current row of a list is about.
func chosen[T any](l *view.List) (what T, ok bool) {
	row, ok := l.Chosen()
	if ok {
		what = row.Value.(T)
	}
	return what, ok
}

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

func (l *listScreen) act(a keys.Action) bool {
	defer l.moved()
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

// writer is a screen with a text of its own that can be written.
type writer interface {
	// key handles a key; false: nothing is being written.
	key(e *tcell.EventKey, key string) bool
	paste(text string)
}

// key implements writer: it handles the keys of the filter.
func (l *listScreen) key(e *tcell.EventKey, key string) bool {
	if !l.Typing {
		return false
	}
	defer l.moved()
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

func (l *listScreen) paste(text string) {
	if l.Typing {
		l.SetFilter(l.Filter() + text)
		l.moved()
	}
}

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

func (o *picker) take() {
	row, ok := o.list.Chosen()
	if chosen := o.chosen; ok {
		*o = picker{}
		chosen(row.Value)
	}
}

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

// settingsScreen lists the settings of the program, and changes them in the person's configuration file.
type settingsScreen struct {
	listScreen
	read   bool   // a worker is reading, or has read
	wanted string // name of a setting to choose once there is a list
}

func newSettingsScreen(d *app) *settingsScreen {
	s := &settingsScreen{listScreen: newListScreen(d, keys.Settings, "SETTINGS",
		view.ListColumn{Head: "SETTING", Most: 26}, view.ListColumn{Head: "IN EFFECT", Wide: true},
		view.ListColumn{Head: "FROM", Tail: true, Most: 36})}
	s.Empty, s.Preview = "Reading …", s.preview
	return s
}

// renew implements screen: the settings are read once, and after each change.
func (s *settingsScreen) renew() {
	if s.read {
		return
	}
	s.read = true
	s.d.f.work(func(ctx context.Context) {
		list, file, err := s.d.f.options.Host.Settings(ctx)
		s.d.f.post(func() {
			s.Empty, s.Note = "There are no settings.", render.Of(render.Dim, sanitize.Line(file, 0))
			if err != nil {
				s.Empty = sanitize.Line(err.Error(), 400)
			}
			var groups []string
			var rows []view.ListRow
			for _, one := range list {
				groups = append(groups, one.Group)
				rows = append(rows, settingRow(one))
			}
			slices.SortStableFunc(rows, func(a, b view.ListRow) int {
				return slices.Index(groups, a.Group) - slices.Index(groups, b.Group)
			})
			s.Set(rows)
			if s.wanted != "" && err == nil && !s.Choose(s.wanted) {
				s.d.flash("There is no setting " + s.wanted + ".")
			}
			s.wanted = ""
		})
	})
}

func settingRow(s Setting) view.ListRow {
	role := render.Strong
	if s.Source == "" {
		role = render.Dim
	}
	value, source := words.FirstLine(settingWords(s, s.Value)), cmp.Or(s.Source, "default")
	return view.ListRow{
		Key: s.Name, Group: s.Group, Value: s, Find: strings.Join([]string{s.Name, value, source, s.About}, "\n"),
		Cells: []render.Line{render.Of(render.Base, s.Name), render.Of(role, sanitize.Line(value, 200)),
			render.Of(render.Dim, sanitize.Line(source, 0))},
	}
}

// settingWords returns a value in words: the number that stands for no limit is shown as that.
func settingWords(s Setting, value string) string {
	_, meaning, ok := strings.Cut(s.About, "(0: ")
	if ok && (value == "0" || value == "0s") {
		return meaning[:strings.IndexAny(meaning+")", ",)")]
	}
	return value
}

// preview describes a setting: its value, where that is set, and when a change takes effect.
func (s *settingsScreen) preview(row view.ListRow, width int) []render.Line {
	at := row.Value.(Setting)
	source := "It is the default."
	if at.Source != "" {
		source = "Set by " + at.Source + "."
		if at.Default != "" {
			source += " The default is " + settingWords(at, at.Default) + "."
		}
	}
	lines := render.WrapText(render.Base, at.About, width)
	if len(at.Choices) > 0 {
		lines = append(lines, render.WrapText(render.Dim, "One of "+strings.Join(at.Choices, ", ")+".", width)...)
	}
	lines = append(lines, render.WrapText(render.Dim, sanitize.Line(source, 0)+" A change takes effect "+at.When+".",
		width)...)
	if value := sanitize.Line(at.Value, 0); value != "" {
		lines = append(append(lines, nil), render.WrapText(render.Strong, at.Name+": "+value, width)...)
	}
	return lines
}

func (s *settingsScreen) act(a keys.Action) bool {
	at, ok := chosen[Setting](s.List)
	switch a {
	case keys.Choose:
		if ok {
			s.change(at)
		}
	case keys.ToDefault:
		if ok {
			s.d.changeSetting(at.Name, "")
		}
	case keys.OpenFile:
		if s.d.outside(func(h Host) error { return h.OpenSettings() }) {
			s.again()
		}
	default:
		return s.listScreen.act(a)
	}
	return true
}

func (s *settingsScreen) again() {
	s.read = false
	s.renew()
}

// change offers the allowed values of a setting, or lets a person write one.
func (s *settingsScreen) change(at Setting) {
	if len(at.Choices) == 0 {
		s.d.toInput()
		s.d.prompt.input.Begin("/settings " + at.Name + " " + at.Value)
		s.d.prompt.write()
		return
	}
	items := []choice{}
	for _, c := range at.Choices {
		note := ""
		if c == at.Value {
			note = "now"
		}
		items = append(items, choice{text: c, note: note, value: c})
	}
	s.d.choose(at.Name, "", items, func(v any) { s.d.changeSetting(at.Name, v.(string)) })
}

// changeSetting writes a setting into the person's configuration file; an empty value removes it there.
func (d *app) changeSetting(name, value string) {
	if d.playback() != nil {
		d.session.replayed()
		return
	}
	d.flash("Writing …")
	change := func(ctx context.Context) (string, error) { return d.f.options.Host.ChangeSetting(ctx, name, value) }
	ask(d.f, change, func(report string, err error) {
		if err != nil {
			d.flash("Nothing was written: " + err.Error())
			return
		}
		d.flash(report)
		for _, s := range d.screens {
			if s, ok := s.(*settingsScreen); ok {
				s.again()
			}
		}
		if name == "theme" && value != "" {
			d.themeCommand(view.EditorCommand{Args: []string{value}})
		}
	})
}

// settingsCommand is /settings: it shows the page; with a name, that setting; with a value, it changes the setting.
// The value "default" removes it from the file.
func (d *app) settingsCommand(c view.EditorCommand) bool {
	name, value, given := strings.Cut(strings.TrimSpace(c.Arg(0)), " ")
	if given {
		if value = strings.TrimSpace(value); value == "default" {
			value = ""
		}
		d.changeSetting(name, value)
		return true
	}
	s := newSettingsScreen(d)
	s.wanted = name
	d.open(s)
	return true
}

// Setting is one setting of the program.
type Setting struct {
	Name    string
	Group   string   // of settings that belong together
	About   string   // what it means
	Choices []string // allowed values; none: any value is allowed
	Value   string   // with which the next run starts
	Default string   // empty: there is none
	Source  string   // where the value is set: --NAME, $VARIABLE or FILE:LINE; empty: it is the default
	When    string   // when a change of the file takes effect: "with the next run"
}
