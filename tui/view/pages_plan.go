package view

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/tui/render"
)

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
