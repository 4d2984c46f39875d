package view

import (
	"fmt"
	"strings"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// PagePlan is the full plan, with one selected step, and below it the agents' own lists.
type PagePlan struct {
	page
	scroller
	data PlanData
	at   int      // the current step
	hold bool     // it was scrolled: the current step need not be visible
	rows [][2]int // first row of each step on the page, and the row after its last
	body [2]int   // column and row of the screen where the page's rows begin
}

// PlanData is the content of the plan page.
type PlanData struct {
	Task  string
	Steps []PageStep
	Tasks []Tasks
	Notes []string // notices about the person's changes
	Dirty bool     // there are changes that are not saved
}

// NewPlan returns an empty plan.
func NewPlan(look *render.Look) *PagePlan { return &PagePlan{page: newPage(look)} }

// Set replaces the content. The step with the same number stays selected.
func (p *PagePlan) Set(d PlanData) {
	p.data = d
	p.at = max(min(p.at, len(d.Steps)-1), 0)
}

// Chosen returns the number of the current step, counted from 0; false: there is none.
func (p *PagePlan) Chosen() (int, bool) { return p.at, p.at < len(p.data.Steps) }

// Choose selects a step.
func (p *PagePlan) Choose(i int) {
	p.at, p.hold = max(min(i, len(p.data.Steps)-1), 0), false
}

// Up and Down move by steps, and beyond them by rows.
func (p *PagePlan) Up(n int) {
	if p.at == 0 {
		p.scroller.Up(n)
		p.hold = true
		return
	}
	p.Choose(p.at - n)
}

// Down is Up in the other direction.
func (p *PagePlan) Down(n int) {
	if p.view == 0 {
		return // it was never drawn
	}
	if p.at >= len(p.data.Steps)-1 {
		p.scroller.Down(n)
		p.hold = true
		return
	}
	p.Choose(p.at + n)
}

// PageUp and PageDown scroll, and select the first visible step.
func (p *PagePlan) PageUp()   { p.scroller.PageUp(); p.takeKeys() }
func (p *PagePlan) PageDown() { p.scroller.PageDown(); p.takeKeys() }

// Top and Bottom go to the ends.
func (p *PagePlan) Top()    { p.Choose(0); p.scroller.Top(); p.hold = true }
func (p *PagePlan) Bottom() { p.Choose(len(p.data.Steps) - 1); p.scroller.Bottom(); p.hold = true }

func (p *PagePlan) takeKeys() {
	p.hold = true
	for i, r := range p.rows {
		if i < len(p.data.Steps) && r[0] >= p.top {
			p.at = i
			return
		}
	}
}

// At selects the step drawn at a place of the screen.
func (p *PagePlan) At(x, y int) (int, bool) {
	row := y - p.body[1] + p.top
	if !p.InRect(x, y) || y < p.body[1] || y >= p.body[1]+p.view {
		return 0, false
	}
	for i, r := range p.rows {
		if row >= r[0] && row < r[1] && i < len(p.data.Steps) {
			p.at = i
			return i, true
		}
	}
	return 0, false
}

// Draw implements tview.Primitive.
func (p *PagePlan) Draw(screen tcell.Screen) {
	c := column(p.canvas(screen), 110)
	done, _ := count(p.data.Steps)
	var right render.Line
	if p.data.Dirty {
		right = append(right, render.Span{Text: "changed, not saved  ", Role: render.Warn})
	}
	if n := len(p.data.Steps); n > 0 {
		right = append(right, p.look.Meter(12, float64(done)/float64(n)*100, "")...)
		right = append(right, render.Span{Text: fmt.Sprintf("  %d of %d", done, n), Role: render.Dim})
	}
	if cw, _ := c.Size(); p.data.Dirty && right.Width() > cw-len("THE PLAN")-2 {
		right = right[:1]
	}
	body := header(c, "THE PLAN", right)
	w, h := body.Size()
	p.body[0], p.body[1] = body.Origin()
	lines := p.lines(w - 1)
	p.fit(len(lines), h)
	p.follow()
	body.Lines(0, lines[p.top:min(p.top+p.view, len(lines))])
	if p.at < len(p.rows) {
		for y := max(p.rows[p.at][0]-p.top, 0); y < min(p.rows[p.at][1]-p.top, p.view); y++ {
			body.Restyle(0, y, w-1, render.Selection)
		}
	}
	p.marks(body)
}

// follow scrolls so that the current step is visible; for the first and last step, also what is beyond it.
func (p *PagePlan) follow() {
	if p.hold || p.at >= len(p.rows) {
		return
	}
	from, to := p.rows[p.at][0], p.rows[p.at][1]
	switch {
	case p.at == 0 && to <= p.view:
		p.top = 0
		return
	case to > p.top+p.view:
		p.top = to - p.view
	}
	p.top = max(min(p.top, from), 0)
}

// lines returns the rows of the page, and records where each step is.
func (p *PagePlan) lines(w int) (lines []render.Line) {
	p.rows = p.rows[:0]
	for _, note := range p.data.Notes {
		lines = append(lines, render.WrapText(render.Warn, note, max(w, 1))...)
	}
	if len(lines) > 0 {
		lines = append(lines, nil)
	}
	if p.data.Task != "" {
		lines = append(append(lines, render.WrapText(render.Emphasis, p.data.Task, max(w, 1))...), nil)
	}
	if len(p.data.Steps) == 0 {
		lines = append(lines, render.Of(render.Dim, "No plan is laid yet."))
	}
	digits := len(fmt.Sprint(len(p.data.Steps)))
	for i, s := range p.data.Steps {
		first := len(lines)
		lines = append(lines, p.step(i, s, digits, w)...)
		p.rows = append(p.rows, [2]int{first, len(lines)})
	}
	for _, t := range p.data.Tasks {
		lines = append(lines, p.tasks(t, w)...)
	}
	return lines
}

// step lays out one step: its text, its mode, and its agent.
func (p *PagePlan) step(i int, s PageStep, digits, w int) (lines []render.Line) {
	indent := digits + 6
	mark, role := stepMark(p.look.Glyphs, s.Status)
	text := render.Of(stepText(s.Status), s.Text)
	if about := about(s, " "+p.look.Glyphs.Separator+" "); about != "" {
		text = append(text, render.Span{Text: "  " + about, Role: render.Dim})
	}
	if s.Touched {
		text = append(text, render.Span{Text: "  changed", Role: render.Warn})
	}
	chosen := render.Span{Text: "  ", Role: render.Base}
	if i == p.at {
		chosen = render.Span{Text: p.look.Glyphs.Chosen + " ", Role: render.Active}
	}
	for j, l := range render.Wrap(text, max(w-indent, 1)) {
		head := render.Line{{Text: strings.Repeat(" ", indent), Role: render.Base}}
		if j == 0 {
			head = render.Line{chosen, {Text: mark + " ", Role: role},
				{Text: fmt.Sprintf("%*d  ", digits, i+1), Role: render.Dim}}
		}
		lines = append(lines, append(head, l...))
	}
	return lines
}

// about returns the mode and the agent of a step.
func about(s PageStep, separator string) string {
	if s.Mode != "" && s.Agent != "" {
		return s.Mode + separator + s.Agent
	}
	return s.Mode + s.Agent
}

// tasks lays out an agent's own list, indented and dim.
func (p *PagePlan) tasks(t Tasks, w int) []render.Line {
	done, _ := count(t.Items)
	lines := []render.Line{nil,
		append(render.Line{{Text: t.Agent, Role: t.Tone}},
			render.Span{Text: fmt.Sprintf("  its own list, %d of %d", done, len(t.Items)), Role: render.Dim})}
	for _, s := range t.Items {
		mark, role := stepMark(p.look.Glyphs, s.Status)
		for j, l := range render.WrapText(render.Dim, s.Text, max(w-6, 1)) {
			head := render.Line{{Text: "      ", Role: render.Base}}
			if j == 0 {
				head = render.Line{{Text: "    ", Role: render.Base}, {Text: mark + " ", Role: role}}
			}
			lines = append(lines, append(head, l...))
		}
	}
	return lines
}

// count returns how many steps are done, and which is the current one: the first active one, otherwise the
// first that has not ended; if all have ended, the last.
func count(steps []PageStep) (done, current int) {
	current = -1
	for i, s := range steps {
		switch s.Status {
		case "done":
			done++
		case "active":
			if current < 0 || steps[current].Status != "active" {
				current = i
			}
		case "pending", "":
			if current < 0 {
				current = i
			}
		}
	}
	if current < 0 {
		current = len(steps) - 1
	}
	return done, current
}
