package tui

import (
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// footerHeight is the minimum height of a page with a footer.
const footerHeight = 10

// arrows are the signs of keys that have one.
var arrows = map[string]string{"Left Right": "←→", "Up Down": "↑↓"}

// footer names the keys of a context and what each does, as far as there is room.
func footer(c keys.Context, look *render.Look, width int) render.Line {
	var l render.Line
	for _, h := range keys.Footer(c) {
		name := h.Keys
		if sign := arrows[name]; sign != "" && look.Glyphs != render.ASCII {
			name = sign
		}
		item := render.Line{{Text: name, Role: render.Key}, {Text: " " + h.Text, Role: render.Dim}}
		if len(l) > 0 {
			item = append(render.Of(render.Dim, "  "), item...)
		}
		if l.Width()+item.Width() > width {
			break
		}
		l = append(l, item...)
	}
	return l
}
