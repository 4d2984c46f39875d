package view

import (
	"fmt"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/render"
)

const (
	name  = "T H E   A R B I T E R"
	motto = "OF WHAT WAS, WHAT IS,"
	yet   = "AND WHAT IS YET TO BE"
)

// PageHome is the screen before a run. The editor is below its rectangle.
type PageHome struct {
	page
	data    HomeData
	threads int // the row of the threads, as last drawn; -1: not drawn
}

// NewHome returns an empty home screen.
func NewHome(look *render.Look) *PageHome { return &PageHome{page: newPage(look), threads: -1} }

// Set replaces what is shown.
func (o *PageHome) Set(d HomeData) { o.data = d }

// ThreadsAt reports whether a place on the screen is on the line about runs to resume.
func (o *PageHome) ThreadsAt(x, y int) bool {
	_, row := o.local(x, y)
	return o.threads >= 0 && row == o.threads && o.InRect(x, y)
}

// section is a block of centred lines.
type section struct {
	lines []render.Line
	block bool // the lines keep their positions relative to each other
}

// Draw implements tview.Primitive.
func (o *PageHome) Draw(screen tcell.Screen) {
	c := o.canvas(screen)
	w, h := c.Size()
	o.threads = -1
	if w == 0 || h == 0 {
		return
	}
	sections, rows := o.choose(w, h)
	art := o.look.Sigil(w-4, min(h-rows-1-margin(h), 25))
	if len(art) > 0 {
		sections = append([]section{{lines: art, block: true}}, sections...)
		rows += len(art) + 1
	}
	// A little above the middle, because the editor is below.
	y := max((h-rows)*2/5, 0)
	for _, s := range sections {
		left := 0
		if s.block {
			for _, l := range s.lines {
				left = max(left, l.Width())
			}
			left = max((w-left)/2, 0)
		}
		for i, l := range s.lines {
			if s.block {
				c.Line(left, y+i, l)
			} else {
				c.Center(y+i, l.Shorten(w, c.Look.Glyphs.Ellipsis))
			}
		}
		if len(s.lines) > 0 && o.data.Threads > 0 && len(s.lines[0]) > 1 && s.lines[0][0].Role == render.Active {
			o.threads = y
		}
		y += len(s.lines) + 1
	}
}

// choose takes the sections for which there is room, the most important first, and returns them from top to
// bottom, and the rows that they take with a blank one between.
func (o *PageHome) choose(w, h int) (chosen []section, rows int) {
	title := section{lines: o.title(w)}
	words := section{lines: render.WrapText(render.Emphasis, "Speak, mortal.", min(w, 72))}
	alarms := section{lines: o.alarms()}
	brief := section{lines: o.brief(w)}
	table := section{lines: o.table(w), block: true}
	threads := section{lines: o.threadLines(w)}
	saying := section{lines: o.motto(w)}

	const places = 6 // title, motto, words, alarms, findings, threads
	var at [places]section
	take := func(place int, s section, spare int) bool {
		cost := len(s.lines) + 1
		if len(s.lines) == 0 || rows+cost-1+spare > h {
			return false
		}
		at[place], rows = s, rows+cost
		return true
	}
	take(2, words, 0)
	take(3, alarms, 0)
	take(0, title, 0)
	take(5, threads, 0)
	// Show the findings as a table only if that leaves room for the sigil.
	if !take(4, table, 9+len(saying.lines)) {
		take(4, brief, 0)
	}
	take(1, saying, 0)
	for i, s := range at {
		switch {
		case len(s.lines) == 0:
		case i == 1 && len(at[0].lines) > 0: // the motto is directly below the name
			last := &chosen[len(chosen)-1]
			last.lines = append(last.lines[:len(last.lines):len(last.lines)], s.lines...)
			rows--
		default:
			chosen = append(chosen, s)
		}
	}
	return chosen, max(rows-1, 0)
}

func margin(h int) int {
	switch {
	case h >= 30:
		return 3
	case h >= 22:
		return 1
	}
	return 0
}

func (o *PageHome) motto(w int) []render.Line {
	if whole := motto + " " + yet; render.Width(whole) <= w {
		return []render.Line{render.Of(render.Motto, whole)}
	}
	return []render.Line{render.Of(render.Motto, motto), render.Of(render.Motto, yet)}
}

func (o *PageHome) title(w int) []render.Line {
	if len(name)+4 <= w {
		return []render.Line{render.Of(render.Title, name)}
	}
	return []render.Line{render.Of(render.Title, "THE ARBITER")}
}

func (o *PageHome) alarms() []render.Line {
	var l render.Line
	for i, s := range o.data.Warnings {
		if i > 0 {
			l = append(l, render.Span{Text: " ", Role: render.Base})
		}
		l = append(l, render.Span{Text: " " + s + " ", Role: render.Danger})
	}
	if l == nil {
		return nil
	}
	return []render.Line{l}
}

// brief returns the findings in one line, or two.
func (o *PageHome) brief(w int) []render.Line {
	var l render.Line
	for i, f := range o.data.Findings {
		if i > 0 {
			l = append(l, render.Span{Text: " " + o.look.Glyphs.Separator + " ", Role: render.Dim})
		}
		l = append(l, render.Span{Text: f.Label + " ", Role: render.Dim}, render.Span{Text: f.Text, Role: f.Tone})
	}
	if l == nil {
		return nil
	}
	lines := render.Wrap(l, min(w, 90))
	if len(lines) > 2 {
		lines = lines[:2]
		lines[1] = append(lines[1].Shorten(w-1, ""), render.Span{Text: o.look.Glyphs.Ellipsis, Role: render.Dim})
	}
	return lines
}

// table returns the findings, one per line.
func (o *PageHome) table(w int) (lines []render.Line) {
	label := 0
	for _, f := range o.data.Findings {
		label = max(label, render.Width(f.Label))
	}
	label = min(label, w/3)
	e := o.look.Glyphs.Ellipsis
	for _, f := range o.data.Findings {
		lines = append(lines, render.Line{
			{Text: padLeft(f.Label, label, e) + "  ", Role: render.Dim},
			{Text: render.Shorten(f.Text, max(min(w-label-6, 64), 0), e), Role: f.Tone},
		})
	}
	return lines
}

func (o *PageHome) threadLines(w int) []render.Line {
	d, g := o.data, o.look.Glyphs
	if d.Threads == 0 {
		return nil
	}
	head := "A run can be resumed"
	if d.Threads > 1 {
		head = fmt.Sprintf("%d runs can be resumed", d.Threads)
	}
	first := render.Of(render.Active, g.Current+" ")
	first = append(first, render.Span{Text: head, Role: render.Base})
	if w < 60 {
		first[1].Text = words.Count(d.Threads, "run") + " to resume"
	}
	first = first.Append(render.Key, "  "+keys.KeyOf(keys.Everywhere, keys.OpenRuns))
	when := Age(d.NewestAt, d.Now)
	if when != "" {
		when = " " + g.Separator + " " + when
	}
	title := render.Shorten(d.Newest, max(min(w-render.Width(when), 60), 0), g.Ellipsis)
	if title == "" {
		return []render.Line{first}
	}
	return []render.Line{first, render.Of(render.Dim, title+when)}
}
