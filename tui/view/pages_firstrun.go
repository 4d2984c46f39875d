package view

import (
	"slices"
	"unicode"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// PageLack is what prevents the start of a run.
type PageLack int

// What may be missing.
const (
	NoClaude     PageLack = iota // Claude is not installed
	OddClaude                    // the installed version is not supported
	LoggedOut                    // Claude is not logged in
	install      = "npm install -g @anthropic-ai/claude-code"
	firstRunWide = 76
)

// PageWay is an option on the first screen.
type PageWay string

// The options.
const (
	WayLogin    PageWay = "login"
	WayRehearse PageWay = "rehearse"
	WayRetry    PageWay = "retry"
	WayQuit     PageWay = "quit"
)

// FirstRunData describes what is missing.
type FirstRunData struct {
	Lack    PageLack
	Version string // of claude, if there is one
	Path    string // where it was found
	Problem string // in plain words
	Busy    bool   // it is being checked: "Patience."
}

// FirstRun is the screen for a user who cannot begin yet.
type FirstRun struct {
	page
	pageList
	data FirstRunData
	ways []wayRow
	rows []int // screen rows of the options, as last drawn
}

type wayRow struct {
	way         PageWay
	key         rune
	label, text string
}

// NewFirstRun returns a first screen on which everything is missing.
func NewFirstRun(look *render.Look) *FirstRun {
	f := &FirstRun{page: newPage(look)}
	f.Set(FirstRunData{})
	return f
}

// Set sets what is missing. If the options change, the first one is selected.
func (f *FirstRun) Set(d FirstRunData) {
	if d.Lack != f.data.Lack {
		f.at = 0
	}
	f.data, f.ways = d, nil
	if d.Lack == LoggedOut {
		f.ways = append(f.ways, wayRow{WayLogin, 'l', "Log in", "claude asks you to log in, here; then you are back"})
	}
	f.ways = append(f.ways,
		wayRow{WayRetry, 't', "Try again", "look once more, when you have done it elsewhere"},
		wayRow{WayRehearse, 'r', "Rehearse", "see a whole run with scripted words, at no cost"},
		wayRow{WayQuit, 'q', "Quit", "nothing was changed"})
	f.set(len(f.ways))
}

// Choose returns the current option.
func (f *FirstRun) Choose() PageWay { return f.ways[f.at].way }

// Press returns the option of a hot key.
func (f *FirstRun) Press(r rune) (PageWay, bool) {
	for i, w := range f.ways {
		if w.key == unicode.ToLower(r) {
			f.at = i
			return w.way, true
		}
	}
	return "", false
}

// At returns the option drawn at a place of the screen and selects it.
func (f *FirstRun) At(x, y int) (PageWay, bool) {
	if !f.InRect(x, y) {
		return "", false
	}
	_, y = f.local(x, y)
	for i, row := range f.rows {
		if row == y && i < len(f.ways) {
			f.at = i
			return f.ways[i].way, true
		}
	}
	return "", false
}

// Draw implements tview.Primitive.
func (f *FirstRun) Draw(screen tcell.Screen) {
	c := f.canvas(screen)
	w, h := c.Size()
	f.rows = f.rows[:0]
	if w == 0 || h == 0 {
		return
	}
	text := column(c, firstRunWide)
	left, _ := text.Origin()
	zero, _ := c.Origin()
	tw, _ := text.Size()
	body := f.body(tw)
	explain := f.wayLines(tw, true)
	if len(body)+1+len(explain) > h {
		explain = f.wayLines(tw, false)
	}
	// The options are always visible: the explanation is shortened, first its gaps, then its end.
	space := max(h-len(explain)-1, 0)
	if len(body) > space {
		body = slices.DeleteFunc(body, func(l render.Line) bool { return len(l) == 0 })
	}
	body = body[:min(len(body), space)]
	rows := len(body) + len(explain)
	if len(body) > 0 {
		rows++
	}
	y := max((h-rows)*2/5, 0)
	if art := f.look.Sigil(w-4, min(h-rows-2-margin(h), 13)); len(art) > 0 {
		y = max((h-rows-len(art)-1)*2/5, 0)
		for i, l := range art {
			c.Center(y+i, l)
		}
		y += len(art) + 1
	}
	part := c.Sub(left-zero, 0, tw, h)
	if y = part.Lines(y, body); len(body) > 0 {
		y++
	}
	// If even the options do not fit, the current one is visible.
	skip := max(min(f.at-(h-y)+1, len(explain)-(h-y)), 0)
	for i, l := range explain {
		f.rows = append(f.rows, y+i-skip)
		if i < skip || y+i-skip >= h {
			f.rows[i] = -1
			continue
		}
		part.Line(0, y+i-skip, l)
		if i == f.at {
			part.Restyle(0, y+i-skip, tw, render.Selection)
		}
	}
}

// wayLines returns the options, one per row.
func (f *FirstRun) wayLines(w int, explained bool) []render.Line {
	var lines []render.Line
	for i, way := range f.ways {
		mark := "  "
		if i == f.at {
			mark = f.look.Glyphs.Chosen + " "
		}
		l := render.Line{{Text: mark, Role: render.Active}, {Text: string(way.key), Role: render.Key},
			{Text: "  " + padPage(way.label, 11, ""), Role: render.Strong}}
		if explained && w >= 60 {
			l = append(l, render.Span{Text: render.Shorten(way.text, w-l.Width(), f.look.Glyphs.Ellipsis),
				Role: render.Dim})
		}
		lines = append(lines, l)
	}
	return lines
}

// body explains what is missing.
func (f *FirstRun) body(w int) (lines []render.Line) {
	addText := func(r render.Role, s string) { lines = append(lines, render.WrapText(r, s, w)...) }
	gap := func() { lines = append(lines, nil) }
	command := "  " + install
	if render.Width(command) > w {
		command = install // on one line, if possible
	}
	d := f.data
	version := "claude"
	if d.Version != "" {
		version += " " + d.Version
	}
	switch d.Lack {
	case LoggedOut:
		addText(render.Title, "I do not know you yet.")
		gap()
		addText(render.Base,
			version+" is installed, but you are not logged in. Log in with your Claude account, or set ANTHROPIC_API_KEY "+
				"and start again.")
	case OddClaude:
		addText(render.Title, "This voice does not answer.")
		gap()
		addText(render.Base, version+" was found, but Arbiter cannot drive it. Install the present version:")
		gap()
		addText(render.Code, command)
		gap()
	default:
		addText(render.Title, "I have no voice yet.")
		gap()
		addText(render.Base, "Arbiter works through Claude Code, the program claude, and found none. Install it:")
		gap()
		addText(render.Code, command)
		gap()
	}
	if d.Problem != "" {
		addText(render.Warn, d.Problem)
	}
	if d.Path != "" {
		addText(render.Dim, "Found at "+d.Path)
	}
	if d.Lack != LoggedOut {
		addText(render.Dim, "If it is somewhere else, name it: arbiter --claude PATH, or set ARBITER_CLAUDE.")
	}
	if d.Busy {
		gap()
		addText(render.Emphasis, "Patience.")
	}
	return lines
}
