package view

import (
	"slices"
	"strings"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// PageSetting is one setting of the program.
type PageSetting struct {
	Name, Value string
	Source      string // where the value is set; empty: it is the default
	About       string // what it means
	Default     string // empty: there is none
	Choices     []string
	When        string // when a change takes effect
}

// PageSettings is the list of the settings, with what the current one means below it.
type PageSettings struct {
	page
	pageList
	all  []PageSetting
	file string // the file to which changes are written
	note string // replaces an empty list
	top  int    // screen row of the first visible row
}

// NewSettings returns an empty list.
func NewSettings(look *render.Look) *PageSettings { return &PageSettings{page: newPage(look)} }

// Set replaces the settings. The selected setting stays selected. The note is shown if there are none.
func (p *PageSettings) Set(all []PageSetting, file, note string) {
	chosen, had := p.Chosen()
	p.all, p.file, p.note = all, file, note
	p.set(len(all))
	if had {
		p.Choose(chosen.Name)
	}
}

// Choose selects a setting by its name, and reports whether it exists.
func (p *PageSettings) Choose(name string) bool {
	i := slices.IndexFunc(p.all, func(s PageSetting) bool { return s.Name == name })
	if i >= 0 {
		p.at = i
	}
	return i >= 0
}

// Chosen returns the current setting.
func (p *PageSettings) Chosen() (PageSetting, bool) {
	if p.at >= len(p.all) {
		return PageSetting{}, false
	}
	return p.all[p.at], true
}

// At returns the setting drawn at a place of the screen and selects it.
func (p *PageSettings) At(x, y int) (PageSetting, bool) {
	if !p.InRect(x, y) || !p.hit(y, p.top, 1) {
		return PageSetting{}, false
	}
	return p.Chosen()
}

// Draw implements tview.Primitive.
func (p *PageSettings) Draw(screen tcell.Screen) {
	c := column(p.canvas(screen), 140)
	body := header(c, "SETTINGS", render.Of(render.Dim, p.file))
	w, h := body.Size()
	if len(p.all) == 0 {
		for i, line := range render.WrapText(render.Dim, p.note, w) {
			body.Line(0, i, line)
		}
		return
	}
	about := p.about(w)
	below := min(len(about), max(h/2, 3))
	if h < 8 {
		below = 1
	}
	rows := max(h-below-1, 1)
	_, p.top = body.Origin()
	p.fit(rows)
	for i := range p.scroller.view {
		if n := p.scroller.top + i; n < len(p.all) {
			p.row(body.Sub(0, i, w, 1), n)
		}
	}
	p.scroller.marks(body.Sub(0, 0, w, rows))
	if h > rows+1 {
		body.Rule(rows, render.Frame)
	}
	for i, line := range about[:min(below, len(about))] {
		body.Line(0, rows+1+i, line)
	}
}

// about describes the current setting, where its value is set, and when a change takes effect.
func (p *PageSettings) about(w int) []render.Line {
	s, ok := p.Chosen()
	if !ok {
		return nil
	}
	source := "It is the default."
	if s.Source != "" {
		source = "Set by " + s.Source + "."
		if s.Default != "" {
			source += " The default is " + s.Default + "."
		}
	}
	lines := render.WrapText(render.Base, s.About, w)
	if len(s.Choices) > 0 {
		lines = append(lines, render.WrapText(render.Dim, "One of "+strings.Join(s.Choices, ", ")+".", w)...)
	}
	return append(lines, render.WrapText(render.Dim, source+" A change takes effect "+s.When+".", w)...)
}

// row draws a setting: its name, its value, and the kind of its source.
func (p *PageSettings) row(c render.Canvas, n int) {
	s, g := p.all[n], p.look.Glyphs
	w, _ := c.Size()
	mark := render.Span{Text: "  ", Role: render.Base}
	if n == p.at {
		mark = render.Span{Text: g.Chosen + " ", Role: render.Active}
	}
	name := min(max(w/3, 12), 24)
	source := 0
	if w >= 60 {
		source = min(w/3, 40)
	}
	space := max(w-2-name-source-1, 1)
	role, from := render.Strong, s.Source
	if from == "" {
		role, from = render.Dim, "default"
	}
	l := render.Line{mark, {Text: padPage(render.Shorten(s.Name, name-1, g.Ellipsis), name, ""), Role: render.Base},
		{Text: padPage(render.Shorten(words.FirstLine(s.Value), space-1, g.Ellipsis), space, ""), Role: role}}
	if source > 0 {
		l = append(l, render.Span{Text: shortenLeft(from, source, g.Ellipsis), Role: render.Dim})
	}
	c.Line(0, 0, l)
	if n == p.at {
		c.Restyle(0, 0, w-1, render.Selection)
	}
}
