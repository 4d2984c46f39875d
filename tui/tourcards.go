package tui

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// Values of answers on a card of the tour.
const (
	onward   = "next"
	backward = "back"
)

// showTour shows a card of the tour, from 0.
func (ds *dialogs) showTour(at int) {
	steps := view.TourSteps()
	step := steps[at]
	data := view.AskData{
		Title: fmt.Sprintf("A tour %s %d of %d: %s", ds.d.look.Glyphs.Separator, at+1, len(steps), step.Title),
		Tone:  render.FrameFocus,
		Body:  func(width int) []render.Line { return render.WrapText(render.Base, step.Text, width) },
		Note:  "Esc ends the tour.",
	}
	if at+1 < len(steps) {
		data.Choices = append(data.Choices, view.PageChoice{Value: onward, Key: 'n', Label: "Next"})
	}
	if at > 0 {
		data.Choices = append(data.Choices, view.PageChoice{Value: backward, Key: 'b', Label: "Back"})
	}
	data.Choices = append(data.Choices, view.PageChoice{Value: no, Key: 'e', Label: "End"})
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
