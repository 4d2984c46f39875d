package view

import (
	"encoding/json"

	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// Action lays out what a tool is asked to do, complete and exact, for a person who must decide whether to
// allow it.
func Action(tool string, input json.RawMessage, o EventOptions) []render.Line {
	lines := o.input(tool, input)
	if eventtext.Concealed(input) {
		lines = append(lines, o.sentence(render.Warn, o.Look.Glyphs.Failed, eventtext.Unseen)...)
	}
	for i, l := range lines {
		lines[i] = l.Shorten(o.width(), "")
	}
	return lines
}
