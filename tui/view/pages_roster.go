package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// PageRoster is one line per agent, and below it one for each of its subagents.
type PageRoster struct {
	page
	agents   []PageAgent
	selected string
	rows     []string // ids by row, as last drawn
}

// NewRoster returns an empty roster.
func NewRoster(look *render.Look) *PageRoster { return &PageRoster{page: newPage(look)} }

// Set replaces the agents, in the order in which they are drawn.
func (r *PageRoster) Set(agents []PageAgent) { r.agents = agents }

// FoldPast omits the past agents, except one that is selected.
func (r *PageRoster) FoldPast() {
	r.agents = slices.DeleteFunc(slices.Clone(r.agents), func(a PageAgent) bool { return a.Past && a.ID != r.selected })
}

// Len returns how many agents there are.
func (r *PageRoster) Len() int { return len(r.agents) }

// Selected returns the selected agent, if it is still in the roster.
func (r *PageRoster) Selected() (string, bool) {
	return r.selected, r.selected != "" && r.index(r.selected) >= 0
}

func (r *PageRoster) index(id string) int {
	return slices.IndexFunc(r.agents, func(a PageAgent) bool { return a.ID == id })
}

// Move selects the agent so many lines further down.
func (r *PageRoster) Move(by int) {
	if len(r.agents) == 0 {
		return
	}
	i := r.index(r.selected)
	if i < 0 && by > 0 {
		i = -1
	} else if i < 0 {
		i = len(r.agents)
	}
	r.selected = r.agents[max(min(i+by, len(r.agents)-1), 0)].ID
}

// At returns the agent that is drawn at a place of the screen, itself or one of its subagents.
func (r *PageRoster) At(x, y int) (string, bool) {
	if !r.InRect(x, y) {
		return "", false
	}
	_, y = r.local(x, y)
	if y >= len(r.rows) || r.rows[y] == "" {
		return "", false
	}
	return r.rows[y], true
}

// Rows returns how many rows the roster needs, at most most.
func (r *PageRoster) Rows(most int) int {
	rows := len(r.agents)
	for _, a := range r.agents {
		if a.Open {
			rows += len(a.Subagents)
		}
	}
	return max(min(rows, most), 0)
}

// Draw implements tview.Primitive.
func (r *PageRoster) Draw(screen tcell.Screen) {
	c := r.canvas(screen)
	w, h := c.Size()
	r.rows = r.rows[:0]
	if w == 0 || h == 0 {
		return
	}
	shown, hidden := important(r.agents, h, r.selected, max(h-1, 1))
	if w < 60 {
		shown = slices.Clone(shown)
		for i := range shown {
			shown[i].Name = ShortName(shown[i].Name)
		}
	}
	t := r.measure(shown, w)
	space := h - len(shown) // for subagents
	if hidden > 0 {
		space--
	}
	y := 0
	for _, a := range shown {
		c.Line(0, y, r.line(a, t).Shorten(w, ""))
		if a.ID == r.selected {
			c.Restyle(0, y, w, render.Selection)
		}
		r.rows = append(r.rows, a.ID)
		y++
		if !a.Open || space <= 0 {
			continue
		}
		for _, l := range someSubagents(r.look, a.Subagents, w-t.indent(), space) {
			c.Line(t.indent(), y, l)
			r.rows = append(r.rows, a.ID)
			y++
			space--
		}
	}
	if hidden > 0 {
		c.Line(2, y, render.Of(render.Dim, fmt.Sprintf("and %d more", hidden)))
	}
}

// important chooses which agents are shown in h rows: all, or those of the highest ranks, the last ones of each, in
// all rows but one, which shows how many more there are. Past agents are omitted first, then idle ones, then
// working ones, the oldest first, then the first agent (if there are few rows for agents, it is kept only if it
// works); agents that are stuck, the selected one and those that wait for the human are omitted last.
func important(agents []PageAgent, h int, selected string, rows int) (shown []PageAgent, hidden int) {
	n := len(agents)
	if n <= h {
		return agents, 0
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return rank(i, agents[i], selected, rows) - rank(j, agents[j], selected, rows)
	})
	order = order[n-max(h-1, 1):]
	slices.Sort(order)
	for _, i := range order {
		shown = append(shown, agents[i])
	}
	return shown, n - len(shown)
}

// How important it is to show an agent.
const (
	rankPast = iota
	rankIdle
	rankBusy
	rankFirst
	rankStuck
	rankAsks
)

const fewRows = 4

func rank(i int, a PageAgent, selected string, rows int) int {
	switch {
	case a.ID == selected, a.Bell:
		return rankAsks
	case a.Past:
		return rankPast
	case a.Stuck():
		return rankStuck
	case i == 0 && (a.Busy || rows >= fewRows):
		return rankFirst
	case a.Busy:
		return rankBusy
	}
	return rankIdle
}

// Stuck reports whether something other than a human keeps an agent from working.
func (a PageAgent) Stuck() bool {
	return !a.Past && !a.Bell && (a.Tone == render.Warn || a.Tone == render.Bad)
}

// PageMark returns the beginning of an agent's line: whether it works, waits for the human, or has ended.
func PageMark(look *render.Look, a PageAgent) render.Span {
	g := look.Glyphs
	switch {
	case a.Past:
		return render.Span{Text: g.Skipped, Role: render.Pending}
	case a.Bell:
		return render.Span{Text: "?", Role: render.Alert}
	case a.Busy:
		return render.Span{Text: look.Spin(time.Now()), Role: render.Active}
	case a.Stuck():
		return render.Span{Text: g.Failed, Role: a.Tone}
	}
	return render.Span{Text: g.Pending, Role: render.Pending}
}

// table holds the widths of the columns; 0: there is no room for one.
type table struct{ name, mode, state, doing, age, meter, pct, fuse, tokens int }

// Widths from which on a line has more columns.
const (
	metered = 72  // a meter
	steady  = 100 // the state in a column of its own, at a fixed position
	counted = 140 // the tokens
)

// indent returns where the lines of subagents begin: below their agent's activity.
func (t table) indent() int {
	n := 2 + t.name + 2
	if t.mode > 0 {
		n += t.mode + 2
	}
	return n
}

// measure sets the widths of the columns. An agent's activity gets the remaining room.
func (r *PageRoster) measure(agents []PageAgent, w int) (t table) {
	for _, a := range agents {
		t.name = max(t.name, render.Width(a.Name))
		t.mode = max(t.mode, render.Width(a.Mode))
		t.state = max(t.state, render.Width(a.State))
		t.age = max(t.age, len(age(a)))
		t.tokens = max(t.tokens, len(tokens(a)))
		t.fuse = max(t.fuse, len(a.Fuse))
	}
	t.name, t.mode, t.state = min(t.name, 24), min(t.mode, 12), min(max(t.state, 10), 18)
	t.pct, t.meter, t.age = 4, 10, max(t.age, 3)
	switch {
	case w >= steady:
		t.age = max(t.age, len("12m 34s"))
	case w >= metered:
		t.mode, t.state, t.meter, t.age = 0, 0, 5, max(t.age, len("2m 05s"))
	default:
		t.mode, t.state, t.meter = 0, 0, 0
	}
	if w < counted {
		t.tokens = 0
	}
	left := func() int {
		n := w - 2
		for _, column := range []int{t.name, t.mode, t.state, t.age, t.pct, t.fuse, t.tokens} {
			if column > 0 {
				n -= column + 2
			}
		}
		if t.meter > 0 {
			n -= t.meter + 1
		}
		return n + 2 // no gap after the last column
	}
	const least = 12 // of its activity
	for _, column := range []*int{&t.tokens, &t.age, &t.mode, &t.fuse, &t.pct} {
		if left() < least+2 {
			*column = 0
		}
	}
	if left() < 0 {
		t.name = max(t.name+left(), min(t.name, 4))
	}
	t.doing = max(left()-2, 0)
	return t
}

func (r *PageRoster) line(a PageAgent, t table) render.Line {
	e := r.look.Glyphs.Ellipsis
	var l render.Line
	put := func(columns int, text string, role render.Role) {
		if columns > 0 {
			l = append(l, render.Span{Text: text, Role: role}, render.Span{Text: "  ", Role: render.Base})
		}
	}
	soft := func(role render.Role) render.Role {
		if a.Past {
			return render.Dim
		}
		return role
	}
	mark := PageMark(r.look, a)
	l = append(l, render.Span{Text: mark.Text + " ", Role: mark.Role})
	put(t.name, padPage(a.Name, t.name, e), soft(render.Speaker(a.ID)))
	put(t.mode, padPage(a.Mode, t.mode, e), render.Dim)
	put(t.state, padPage(a.State, t.state, e), soft(a.Tone))
	text, role, tail := a.Doing, render.Base, a.Tail
	if t.state == 0 {
		text, role, tail = together(a)
		if a.Stuck() && render.Width(text) > t.doing && t.doing < render.Width(text)/2+8 {
			text = a.Doing // how long it waits matters more than why: its color shows that it is stuck
		}
	}
	if tail {
		text = shortenLeft(text, t.doing, e)
	}
	put(t.doing, padPage(text, t.doing, e), soft(role))
	put(t.age, padLeft(age(a), t.age, e), render.Dim)
	if t.meter > 0 {
		l = append(l, contextMeter(r.look, a, t.meter)...)
		l = append(l, render.Span{Text: " ", Role: render.Base})
	}
	if t.pct > 0 {
		put(t.pct, contextPct(r.look, a), soft(levelRole(a.Level)))
	}
	fuse := render.Dim
	if a.Hot {
		fuse = render.Warn
	}
	put(t.fuse, padLeft(a.Fuse, t.fuse, e), soft(fuse))
	put(t.tokens, padLeft(tokens(a), t.tokens, e), render.Dim)
	return l
}

// together returns the state and the activity in one column, if there is no room for two: an activity
// implies that the agent works.
func together(a PageAgent) (text string, role render.Role, tail bool) {
	switch {
	case a.Busy && a.Doing != "" && !a.Bell:
		return a.Doing, render.Base, a.Tail
	case a.Doing == "":
		return a.State, a.Tone, false
	case a.Bell:
		return a.State + ": " + a.Doing, a.Tone, false
	}
	return a.State + ", " + a.Doing, a.Tone, false
}

// shortenLeft returns s, or an ellipsis and the end of s if it does not fit.
func shortenLeft(s string, columns int, ellipsis string) string {
	if render.Width(s) <= columns {
		return s
	}
	runes := []rune(s)
	for n := len(runes) - min(len(runes), columns); n < len(runes); n++ {
		if text := ellipsis + string(runes[n:]); render.Width(text) <= columns {
			return text
		}
	}
	return ""
}

// ContextFigures returns the bar of an agent's context, its percentage and its tokens.
func ContextFigures(look *render.Look, a PageAgent) render.Line {
	if !a.Known {
		return nil
	}
	role := levelRole(a.Level)
	if a.Past {
		role = render.Dim
	}
	return contextMeter(look, a, 10).Append(role, " "+contextPct(look, a)).
		Append(render.Dim, padLeft(tokens(a), 11, ""))
}

func contextMeter(look *render.Look, a PageAgent, columns int) render.Line {
	if !a.Known {
		return look.Meter(columns, 0, "")
	}
	l := look.Meter(columns, a.Pct, a.Level)
	if a.Past {
		l = slices.Clone(l)
		for i := range l {
			l[i].Role = render.MeterEmpty
		}
	}
	return l
}

func contextPct(look *render.Look, a PageAgent) string {
	if !a.Known {
		return padLeft(look.Glyphs.Skipped, 4, "")
	}
	return padLeft(fmt.Sprintf("%d%%", int(max(min(a.Pct, 999), 0)+0.5)), 4, "")
}

func tokens(a PageAgent) string {
	if !a.Known {
		return ""
	}
	if a.Window <= 0 {
		return words.Tokens(a.Tokens)
	}
	return words.Tokens(a.Tokens) + "/" + words.Tokens(a.Window)
}

func age(a PageAgent) string {
	if a.Age < time.Second {
		return ""
	}
	return PageRunning(a.Age)
}

func levelRole(level string) render.Role {
	switch level {
	case "":
		return render.Base
	case "warn", "warning":
		return render.Warn
	}
	return render.Bad
}

// someSubagents returns the lines of subagents in so many rows: if there are more, those that work come first, and the
// last row says how many are not shown.
func someSubagents(look *render.Look, list []Subagent, width, rows int) []render.Line {
	hidden := len(list) - rows + 1
	if hidden <= 1 {
		return SubagentLines(look, list, width)
	}
	works := func(s Subagent) bool { return s.Works }
	list = append(slices.DeleteFunc(slices.Clone(list), func(s Subagent) bool { return !s.Works }),
		slices.DeleteFunc(slices.Clone(list), works)...)
	return append(SubagentLines(look, list[:rows-1], width),
		render.Of(render.Dim, "and "+words.Count(hidden, "more subagent")))
}

// SubagentLines returns the lines of subagents, each with its meter.
func SubagentLines(look *render.Look, list []Subagent, width int) []render.Line {
	g := look.Glyphs
	name := 0
	for _, s := range list {
		name = max(name, render.Width(s.Name))
	}
	name = min(name, max(width*2/5, 8))
	var lines []render.Line
	for i, s := range list {
		branch := g.Branch
		if i == len(list)-1 {
			branch = g.LastLeaf
		}
		mark := render.Span{Text: g.Current, Role: render.Active}
		role := render.Base
		switch {
		case s.Failed:
			mark = render.Span{Text: g.Failed, Role: render.Bad}
		case !s.Works:
			mark, role = render.Span{Text: g.Done, Role: render.Dim}, render.Dim
		}
		l := render.Line{
			{Text: branch + " ", Role: render.Frame}, mark,
			{Text: " " + padPage(s.Name, name, g.Ellipsis) + "  ", Role: role},
		}
		right := render.Line{{Text: padLeft(PageRunning(s.Age), 7, ""), Role: render.Dim}}
		if width >= 60 {
			right = append(right, render.Span{Text: "  ", Role: render.Base})
			right = append(right, look.Meter(5, s.Pct, "")...)
		}
		count := strings.TrimSuffix(eventtext.TokenCount(s.Tokens), " tokens")
		right = append(right, render.Span{Text: padLeft(count, 6, ""), Role: render.Dim})
		space := width - l.Width() - right.Width()
		if space >= 0 {
			l = append(l, render.Span{Text: padPage(s.Doing, space, g.Ellipsis), Role: render.Dim})
			l = append(l, right...)
		}
		lines = append(lines, l.Shorten(width, g.Ellipsis))
	}
	return lines
}
