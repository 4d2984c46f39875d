package pages

import (
	"fmt"
	"slices"
	"time"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// Roster is one line per agent.
type Roster struct {
	page
	agents   []Agent
	selected string
	rows     []string // ids by row, as last drawn
}

// NewRoster is a roster of nobody.
func NewRoster(look *render.Look) *Roster { return &Roster{page: newPage(look)} }

// Set replaces the agents, in the order they are drawn.
func (r *Roster) Set(agents []Agent) { r.agents = agents }

// Select marks an agent; an empty id marks none.
func (r *Roster) Select(id string) { r.selected = id }

// Selected is the agent that is marked, if it is still there.
func (r *Roster) Selected() (string, bool) {
	return r.selected, r.selected != "" && r.index(r.selected) >= 0
}

func (r *Roster) index(id string) int {
	for i, a := range r.agents {
		if a.ID == id {
			return i
		}
	}
	return -1
}

// Move marks the agent so many lines further, and returns it.
func (r *Roster) Move(by int) (string, bool) {
	if len(r.agents) == 0 {
		return "", false
	}
	i := r.index(r.selected)
	if i < 0 && by > 0 {
		i = -1
	} else if i < 0 {
		i = len(r.agents)
	}
	r.selected = r.agents[max(min(i+by, len(r.agents)-1), 0)].ID
	return r.selected, true
}

// At is the agent drawn at a place of the screen.
func (r *Roster) At(x, y int) (string, bool) {
	if !r.InRect(x, y) {
		return "", false
	}
	_, y = r.local(x, y)
	if y >= len(r.rows) || r.rows[y] == "" {
		return "", false
	}
	return r.rows[y], true
}

// Rows is how many rows the roster wants, of so many at most.
func (r *Roster) Rows(most int) int { return max(min(len(r.agents), most), 0) }

// Draw implements tview.Primitive.
func (r *Roster) Draw(screen tcell.Screen) {
	c := r.canvas(screen)
	w, h := c.Size()
	r.rows = r.rows[:0]
	if w == 0 || h == 0 {
		return
	}
	shown, hidden := r.shown(h)
	if w < 60 {
		shown = slices.Clone(shown)
		for i := range shown {
			shown[i].Name = short(shown[i].Name)
		}
	}
	t := r.measure(shown, w)
	for y, a := range shown {
		c.Line(0, y, r.line(a, t).Shorten(w, ""))
		if a.ID == r.selected {
			c.Restyle(0, y, w, render.Selection)
		}
		r.rows = append(r.rows, a.ID)
	}
	if hidden > 0 {
		c.Line(2, len(shown), render.Of(render.Dim, fmt.Sprintf("and %d more", hidden)))
	}
}

// shown are the agents there is room for. Those of the past go first, then those that
// do nothing, then those at work, the oldest before the others; the first, the marked
// one and those that wait for the human go last.
func (r *Roster) shown(h int) (shown []Agent, hidden int) {
	if len(r.agents) <= h {
		return r.agents, 0
	}
	room := max(h-1, 1) // a row says how many more there are
	drop := len(r.agents) - room
	gone := map[int]bool{}
	for rank := range 4 {
		for i, a := range r.agents {
			if len(gone) < drop && r.rank(i, a) == rank {
				gone[i] = true
			}
		}
	}
	for i, a := range r.agents {
		if !gone[i] && len(shown) < room {
			shown = append(shown, a)
		}
	}
	return shown, len(r.agents) - len(shown)
}

// rank is how much it matters to see an agent.
func (r *Roster) rank(i int, a Agent) int {
	switch {
	case i == 0, a.ID == r.selected, a.Bell:
		return 3
	case a.Past:
		return 0
	case a.Busy:
		return 2
	}
	return 1
}

// table is the widths of the columns; 0: there is no room for one.
type table struct{ name, mode, state, meter, pct, tokens, doing, age int }

// steady is the width from which on the columns stay where they are whatever the
// agents do.
const steady = 80

// measure gives room to the columns, the most telling first.
func (r *Roster) measure(agents []Agent, w int) (t table) {
	var want table
	for _, a := range agents {
		want.name = max(want.name, render.Width(a.Name))
		want.mode = max(want.mode, render.Width(a.Mode))
		want.state = max(want.state, render.Width(a.State))
		want.doing = max(want.doing, render.Width(a.Doing))
		want.tokens = max(want.tokens, len(r.tokens(a)))
		want.age = max(want.age, len(age(a)))
	}
	if w >= steady { // what changes every moment moves nothing else
		want.state, want.doing = max(want.state, 10), max(want.doing, 14)
	}
	left := w - 2
	// take gives a column up to `want` columns and a gap, if it can have `least`.
	take := func(column *int, want, least int) {
		if want == 0 || left < min(least, want)+2 {
			return
		}
		*column = min(want, left-2)
		left -= *column + 2
	}
	left += 2 // no gap before the first
	take(&t.name, min(want.name, 24), 4)
	take(&t.pct, 4, 4)
	take(&t.state, min(want.state, 16), 4)
	take(&t.meter, 5, 5)
	take(&t.age, want.age, 3)
	take(&t.doing, min(want.doing, 14), 10)
	take(&t.mode, min(want.mode, 14), 5)
	take(&t.tokens, want.tokens, 7)
	// What is left lengthens what is done, and the bars a little.
	if t.meter > 0 {
		more := min(left/2, 19)
		t.meter, left = t.meter+more, left-more
	}
	if t.doing > 0 {
		more := min(left, want.doing-t.doing)
		if w >= steady {
			more = min(left, max(48-t.doing, 0)) // the age is not far from what it is of
		}
		t.doing, left = t.doing+more, left-more
	}
	if t.meter > 0 {
		t.meter += max(min(left, 24-t.meter), 0)
	}
	return t
}

func (r *Roster) line(a Agent, t table) render.Line {
	g, e := r.look.Glyphs, r.look.Glyphs.Ellipsis
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
	mark, role := g.Pending, render.Pending
	switch {
	case a.Past:
		mark = g.Skipped
	case a.Bell:
		mark, role = "?", render.Alert
	case a.Busy:
		mark, role = r.look.Spin(time.Now()), render.Active
	}
	l = append(l, render.Span{Text: mark + " ", Role: role})
	put(t.name, pad(a.Name, t.name, e), soft(render.Speaker(a.ID)))
	put(t.mode, pad(a.Mode, t.mode, e), render.Dim)
	put(t.state, pad(a.State, t.state, e), soft(a.Tone))
	if t.meter > 0 {
		l = append(l, r.meter(a, t.meter)...)
		l = append(l, render.Span{Text: " ", Role: render.Base})
	}
	if t.pct > 0 {
		put(t.pct, r.pct(a), soft(levelRole(a.Level)))
	}
	put(t.tokens, padLeft(r.tokens(a), t.tokens, e), render.Dim)
	put(t.doing, pad(a.Doing, t.doing, e), soft(render.Base))
	put(t.age, padLeft(age(a), t.age, e), render.Dim)
	return l
}

func (r *Roster) meter(a Agent, columns int) render.Line {
	if !a.Known {
		return r.look.Meter(columns, 0, "")
	}
	l := r.look.Meter(columns, a.Pct, a.Level)
	if a.Past {
		for i := range l {
			l[i].Role = render.MeterEmpty
		}
	}
	return l
}

func (r *Roster) pct(a Agent) string {
	if !a.Known {
		return padLeft(r.look.Glyphs.Skipped, 4, "")
	}
	return padLeft(percent(a.Pct), 4, "")
}

func (r *Roster) tokens(a Agent) string {
	if !a.Known {
		return ""
	}
	if a.Window <= 0 {
		return words.Tokens(a.Tokens)
	}
	return words.Tokens(a.Tokens) + "/" + words.Tokens(a.Window)
}

func age(a Agent) string {
	if a.Age < time.Second {
		return ""
	}
	return elapsed(a.Age)
}

// levelRole is how a percentage of a level is written.
func levelRole(level string) render.Role {
	switch level {
	case "":
		return render.Base
	case "warn", "warning":
		return render.Warn
	}
	return render.Bad
}
