package tui

import (
	"context"
	"strings"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// settingsScreen lists the settings of the program, and changes them in the person's configuration file.
type settingsScreen struct {
	d    *app
	page *view.PageSettings
	list []Setting
	file string
	read bool   // a worker is reading, or has read
	note string // why there is no list

	wanted string // name of a setting to select once there is a list
}

func newSettingsScreen(d *app) *settingsScreen {
	return &settingsScreen{d: d, page: view.NewSettings(d.look), note: "Reading …"}
}

func (s *settingsScreen) context() keys.Context                { return keys.Settings }
func (s *settingsScreen) writes() bool                         { return false }
func (s *settingsScreen) draw(sc tcell.Screen, x, y, w, h int) { paint(s.page, sc, x, y, w, h) }

func (s *settingsScreen) mouse() mouseHandler {
	return wheel(s.page, func(x, y int) { s.page.At(x, y) })
}

// renew implements screen: the settings are read once, and after each change.
func (s *settingsScreen) renew() {
	s.page.SetLook(s.d.look)
	s.page.Set(settingRows(s.list), sanitize.Line(s.file, 0), s.note)
	if s.read {
		return
	}
	s.read = true
	s.d.f.work(func(ctx context.Context) {
		list, file, err := s.d.f.options.Host.Settings(ctx)
		s.d.f.post(func() {
			s.list, s.file, s.note = list, file, "There are no settings."
			if err != nil {
				s.note = sanitize.Line(err.Error(), 400)
			}
			s.renew()
			if s.wanted != "" && err == nil && !s.page.Choose(s.wanted) {
				s.d.flash("There is no setting " + s.wanted + ".")
			}
			s.wanted = ""
		})
	})
}

func settingRows(list []Setting) []view.PageSetting {
	rows := make([]view.PageSetting, 0, len(list))
	for _, s := range list {
		rows = append(rows, view.PageSetting{Name: s.Name, Value: sanitize.Line(s.Value, 200), About: s.About,
			Source: sanitize.Line(s.Source, 0), Default: s.Default, Choices: s.Choices, When: s.When})
	}
	return rows
}

func (s *settingsScreen) act(a keys.Action, _ string) bool {
	at, ok := s.page.Chosen()
	switch a {
	case keys.Choose:
		if ok {
			s.change(at)
		}
	case keys.ToDefault:
		if ok {
			settingActions{s.d}.change(at.Name, "")
		}
	case keys.OpenFile:
		if s.d.outside(func(h Host) error { return h.OpenSettings() }) {
			s.again()
		}
	default:
		return leaf(s.page, a)
	}
	return true
}

// again makes the settings be read again.
func (s *settingsScreen) again() {
	s.read = false
	s.renew()
}

// change offers the allowed values of a setting, or lets a person write one.
func (s *settingsScreen) change(at view.PageSetting) {
	if len(at.Choices) == 0 {
		s.d.toInput()
		s.d.prompt.input.SetText("/settings " + at.Name + " " + at.Value)
		s.d.prompt.write()
		return
	}
	items := []view.EditorItem{}
	for _, c := range at.Choices {
		note := ""
		if c == at.Value {
			note = "now"
		}
		items = append(items, view.EditorItem{Text: c, Note: note, Value: c})
	}
	s.d.choose(at.Name, "", items, func(v any) { settingActions{s.d}.change(at.Name, v.(string)) })
}

// settingActions changes settings.
type settingActions struct{ d *app }

// change writes a setting into the person's configuration file; an empty value removes it there.
func (a settingActions) change(name, value string) {
	d := a.d
	if d.playback() != nil {
		d.session.replayed()
		return
	}
	d.flash("Writing …")
	d.f.work(func(ctx context.Context) {
		report, err := d.f.options.Host.ChangeSetting(ctx, name, value)
		d.f.post(func() {
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
				d.commands.themeCommand(view.EditorCommand{Args: []string{value}})
			}
		})
	})
}

// command is /settings: it shows the page; with a name, that setting; with a value, it changes the setting.
// The value "default" removes it from the file.
func (a settingActions) command(c view.EditorCommand) bool {
	d := a.d
	name, value, given := strings.Cut(strings.TrimSpace(c.Arg(0)), " ")
	if given {
		if value = strings.TrimSpace(value); value == "default" {
			value = ""
		}
		a.change(name, value)
		return true
	}
	s := newSettingsScreen(d)
	s.wanted = name
	d.open(s)
	return true
}
