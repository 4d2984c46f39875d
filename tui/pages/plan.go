package pages

import (
	"fmt"
	"strings"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/tui/cell"
)

// Plan is the plan in full.
type Plan struct {
	page
	scroller
	task  string
	steps []Step
}

// NewPlan is a plan of nothing.
func NewPlan(look *cell.Look) *Plan { return &Plan{page: newPage(look)} }

// Set replaces the plan and what it is for.
func (p *Plan) Set(task string, steps []Step) { p.task, p.steps = task, steps }

// Draw implements tview.Primitive.
func (p *Plan) Draw(screen tcell.Screen) {
	c := column(p.canvas(screen), 110)
	done, _ := count(p.steps)
	var right cell.Line
	if n := len(p.steps); n > 0 {
		pct := float64(done) / float64(n) * 100
		right = append(p.look.Meter(12, pct, ""), cell.Span{Text: fmt.Sprintf("  %d of %d", done, n), Role: cell.Dim})
	}
	body := header(c, "THE PLAN", right)
	w, h := body.Size()
	lines := p.lines(w - 1)
	p.fit(len(lines), h)
	body.Lines(0, lines[p.top:min(p.top+p.view, len(lines))])
	p.marks(body)
}

func (p *Plan) lines(w int) (lines []cell.Line) {
	if p.task != "" {
		lines = append(cell.WrapText(cell.Emphasis, p.task, max(w, 1)), nil)
	}
	if len(p.steps) == 0 {
		return append(lines, cell.Of(cell.Dim, "No plan is laid yet."))
	}
	digits := len(fmt.Sprint(len(p.steps)))
	indent := digits + 4
	for i, s := range p.steps {
		mark, role := stepMark(p.look.Glyphs, s.Status)
		text := cell.Of(stepText(s.Status), s.Text)
		if s.Agent != "" {
			text = append(text, cell.Span{Text: "  " + s.Agent, Role: cell.Dim})
		}
		for j, l := range cell.Wrap(text, max(w-indent, 1)) {
			head := cell.Line{{Text: strings.Repeat(" ", indent), Role: cell.Base}}
			if j == 0 {
				head = cell.Line{{Text: mark + " ", Role: role}, {Text: fmt.Sprintf("%*d  ", digits, i+1), Role: cell.Dim}}
			}
			lines = append(lines, append(head, l...))
		}
	}
	return lines
}

// count is how many steps are done, and which is the current one: the first active,
// else the first that is not over; all are over: the last.
func count(steps []Step) (done, current int) {
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

// PlanStrip is the plan in few rows, the current step in sight.
type PlanStrip struct {
	page
	steps []Step
}

// NewPlanStrip is a strip of no plan.
func NewPlanStrip(look *cell.Look) *PlanStrip { return &PlanStrip{page: newPage(look)} }

// Set replaces the plan.
func (p *PlanStrip) Set(steps []Step) { p.steps = steps }

// Rows is how many rows the plan wants, of so many at most.
func (p *PlanStrip) Rows(most int) int { return max(min(len(p.steps), most), 0) }

// Draw implements tview.Primitive.
func (p *PlanStrip) Draw(screen tcell.Screen) {
	c := p.canvas(screen)
	w, h := c.Size()
	n := len(p.steps)
	if n == 0 || h == 0 {
		return
	}
	_, current := count(p.steps)
	if h == 1 && n > 1 {
		c.Line(0, 0, append(cell.Of(cell.Dim, fmt.Sprintf("%d/%d ", current+1, n)), p.step(current, w)...).Shorten(w, p.look.Glyphs.Ellipsis))
		return
	}
	// What is over is of less interest than what comes: one of it above the current.
	top := max(min(current-1, n-h), 0)
	if h >= 5 && n > h {
		top = max(min(current-2, n-h), 0)
	}
	for i := range min(h, n-top) {
		l := p.step(top+i, w)
		switch hidden := n - top - h; {
		case i == 0 && top > 0 && top != current:
			l = p.step(top, w-6)
			c.Right(i, cell.Of(cell.Dim, fmt.Sprintf("%s%d", p.look.Glyphs.Less, top)))
		case i == h-1 && hidden > 0 && top+i != current:
			l = p.step(top+i, w-6)
			c.Right(i, cell.Of(cell.Dim, fmt.Sprintf("%s%d", p.look.Glyphs.More, hidden)))
		}
		c.Line(0, i, l)
	}
}

// step is one step in one row.
func (p *PlanStrip) step(i, w int) cell.Line {
	s, e := p.steps[i], p.look.Glyphs.Ellipsis
	mark, role := stepMark(p.look.Glyphs, s.Status)
	l := cell.Line{{Text: mark + " ", Role: role}}
	agent := ""
	if s.Agent != "" && w >= 48 && (s.Status == "active" || s.Status == "failed") {
		agent = "  " + cell.Shorten(s.Agent, w/4, e)
	}
	return append(l,
		cell.Span{Text: cell.Shorten(s.Text, max(w-2-cell.Width(agent), 0), e), Role: stepText(s.Status)},
		cell.Span{Text: agent, Role: cell.Dim})
}
