package tui

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/tui/pages"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/tour"
)

// Values of answers on a card of the tour.
const (
	onward   = "next"
	backward = "back"
)

// showTour shows a card of the tour, from 0.
func (ds *dialogs) showTour(at int) {
	steps := tour.Steps()
	step := steps[at]
	data := pages.AskData{
		Title: fmt.Sprintf("A tour %s %d of %d: %s", ds.d.look.Glyphs.Separator, at+1, len(steps), step.Title),
		Tone:  render.FrameFocus,
		Body:  func(width int) []render.Line { return render.WrapText(render.Base, step.Text, width) },
		Note:  "Esc ends the tour.",
	}
	if at+1 < len(steps) {
		data.Choices = append(data.Choices, pages.Choice{Value: onward, Key: 'n', Label: "Next"})
	}
	if at > 0 {
		data.Choices = append(data.Choices, pages.Choice{Value: backward, Key: 'b', Label: "Back"})
	}
	data.Choices = append(data.Choices, pages.Choice{Value: no, Key: 'e', Label: "End"})
	if at+1 == len(steps) {
		data.Focus = len(data.Choices) - 1
	}
	ds.show(data, func(value string) {
		switch value {
		case onward:
			ds.showTour(at + 1)
		case backward:
			ds.showTour(at - 1)
		}
	})
}
