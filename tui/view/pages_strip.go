package view

import (
	"fmt"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// mostTasks is how many agents' own lists are shown beside the plan.
const mostTasks = 3

// PlanStrip is the plan in few rows, with the current step visible, and a row for each of the last few
// agents that keep a list of their own.
type PlanStrip struct {
	page
	steps  []PageStep
	tasks  []Tasks
	folded bool // into one row
}

// NewPlanStrip returns an empty strip.
func NewPlanStrip(look *render.Look) *PlanStrip { return &PlanStrip{page: newPage(look)} }

// Set replaces the plan and the agents' own lists.
func (p *PlanStrip) Set(steps []PageStep, tasks []Tasks) { p.steps, p.tasks = steps, tasks }

// Fold draws the plan as one bar, or its steps one by one.
func (p *PlanStrip) Fold(folded bool) { p.folded = folded }

// Rows returns how many rows the plan needs, at most most.
func (p *PlanStrip) Rows(most int) int {
	rows := len(p.steps) + min(len(p.tasks), mostTasks)
	if p.folded {
		rows = min(len(p.steps), 1)
	}
	return max(min(rows, most), 0)
}

// Draw implements tview.Primitive.
func (p *PlanStrip) Draw(screen tcell.Screen) {
	c := p.canvas(screen)
	w, h := c.Size()
	if p.folded && len(p.steps) > 0 {
		c.Line(0, 0, p.bar(w))
		return
	}
	// The plan comes first: the lists of agents get the rows that it leaves.
	steps := min(len(p.steps), h)
	lists := min(len(p.tasks), mostTasks, h-steps)
	if lists < min(len(p.tasks), 1) && h >= 4 {
		lists = 1
	}
	p.plan(c.Sub(0, 0, w, h-lists))
	for i := range lists {
		c.Line(0, h-lists+i, p.list(p.tasks[len(p.tasks)-lists+i], w))
	}
}

// plan draws the steps.
func (p *PlanStrip) plan(c render.Canvas) {
	w, h := c.Size()
	n := len(p.steps)
	if n == 0 || h <= 0 {
		return
	}
	_, current := count(p.steps)
	if h == 1 && n > 1 {
		c.Line(0, 0, append(render.Of(render.Dim, fmt.Sprintf("%d/%d ", current+1, n)),
			p.step(current, w)...).Shorten(w, p.look.Glyphs.Ellipsis))
		return
	}
	// Finished steps matter less than coming ones: show one of them above the current one.
	top := max(min(current-1, n-h), 0)
	if h >= 5 && n > h {
		top = max(min(current-2, n-h), 0)
	}
	for i := range min(h, n-top) {
		l := p.step(top+i, w)
		switch hidden := n - top - h; {
		case i == 0 && top > 0 && top != current:
			l = p.step(top, w-6)
			c.Right(i, render.Of(render.Dim, fmt.Sprintf("%s%d", p.look.Glyphs.Less, top)))
		case i == h-1 && hidden > 0 && top+i != current:
			l = p.step(top+i, w-6)
			c.Right(i, render.Of(render.Dim, fmt.Sprintf("%s%d", p.look.Glyphs.More, hidden)))
		}
		c.Line(0, i, l)
	}
}

// bar returns the whole plan in one row: how much of it is done, and the active step.
func (p *PlanStrip) bar(w int) render.Line {
	g := p.look.Glyphs
	done, current := count(p.steps)
	l := render.Line{{Text: "Plan ", Role: render.Dim}}
	if w >= 60 {
		l = append(l, p.look.Meter(12, 100*float64(done)/float64(len(p.steps)), "")...)
		l = append(l, render.Span{Text: " ", Role: render.Base})
	}
	l = append(l, render.Span{Text: fmt.Sprintf("%d/%d  ", done, len(p.steps)), Role: render.Base})
	if current < 0 {
		return l
	}
	more := ""
	if n := active(p.steps); n > 1 {
		more = fmt.Sprintf("  +%d", n-1)
	}
	mark, role := stepMark(g, p.steps[current].Status)
	space := w - l.Width() - 2 - len(more)
	l = append(l, render.Span{Text: mark + " ", Role: role}, render.Span{
		Text: render.Shorten(p.steps[current].Text, max(space, 0), g.Ellipsis), Role: stepText(p.steps[current].Status)})
	return append(l, render.Span{Text: more, Role: render.Dim}).Shorten(w, g.Ellipsis)
}

func active(steps []PageStep) (n int) {
	for _, s := range steps {
		if s.Status == "active" {
			n++
		}
	}
	return n
}

func (p *PlanStrip) step(i, w int) render.Line {
	s, e := p.steps[i], p.look.Glyphs.Ellipsis
	mark, role := stepMark(p.look.Glyphs, s.Status)
	l := render.Line{{Text: mark + " ", Role: role}}
	tail := ""
	if w >= 48 {
		switch {
		case s.Status == "active" || s.Status == "failed":
			tail = about(s, " "+p.look.Glyphs.Separator+" ")
		case s.Status == "pending" || s.Status == "":
			tail = s.Mode
		}
		if tail != "" {
			tail = "  " + render.Shorten(tail, w/3, e)
		}
	}
	return append(l,
		render.Span{Text: render.Shorten(s.Text, max(w-2-render.Width(tail), 0), e), Role: stepText(s.Status)},
		render.Span{Text: tail, Role: render.Dim})
}

// list returns an agent's own list in one row: its progress, and the current task.
func (p *PlanStrip) list(t Tasks, w int) render.Line {
	done, current := count(t.Items)
	l := render.Line{{Text: "  " + shortPage(t.Agent), Role: t.Tone},
		{Text: fmt.Sprintf(" %d/%d", done, len(t.Items)), Role: render.Dim}}
	if current >= 0 && t.Items[current].Status != "done" {
		l = append(l, render.Span{Text: "  " + t.Items[current].Text, Role: render.Dim})
	}
	return l.Shorten(w, p.look.Glyphs.Ellipsis)
}

// StepMark returns the mark of a step in a status, and the role of its text.
func StepMark(look *render.Look, status string) (render.Span, render.Role) {
	mark, role := stepMark(look.Glyphs, status)
	return render.Span{Text: mark, Role: role}, stepText(status)
}

// TaskLines lays out an agent's own list.
func TaskLines(look *render.Look, t Tasks, width int) []render.Line {
	done, _ := count(t.Items)
	lines := []render.Line{render.Of(t.Tone, t.Agent).
		Append(render.Dim, fmt.Sprintf("  its own list, %d of %d", done, len(t.Items)))}
	for _, s := range t.Items {
		mark, role := stepMark(look.Glyphs, s.Status)
		for j, l := range render.WrapText(render.Dim, s.Text, max(width-6, 1)) {
			head := render.Of(render.Base, "      ")
			if j == 0 {
				head = render.Of(render.Base, "    ").Append(role, mark+" ")
			}
			lines = append(lines, append(head, l...))
		}
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
