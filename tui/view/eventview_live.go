package view

import (
	"time"

	"github.com/arbiter-cli/arbiter/tui/history"
	"github.com/arbiter-cli/arbiter/tui/markdown"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// beat is the duration of a frame of the quiet animation.
const beat = 160 * time.Millisecond

// EventLive lays out text that is still arriving: prose, or the part of a verdict's message that has arrived.
// Its last line shows that it is not finished.
func EventLive(l history.Live, o EventOptions) EventView {
	c := begin(l.Agent)
	c.Head = o.head(l.Agent, "", nil, l.Began)
	text := l.Text
	if l.Verdict {
		text = l.Message
	}
	if text != "" {
		r := markdown.Options{Width: o.prose(), Look: o.Look, Role: render.Base}
		var lines []render.Line
		if o.Stream != nil {
			lines = o.Stream.Set(text, r)
		} else {
			lines = markdown.Markdown(text, r)
		}
		c.Lines = append(make([]render.Line, 0, len(lines)+1), lines...)
	}
	c.Lines = append(c.Lines, render.Of(render.Dim, o.pulse(l.Began)))
	return c.finish(o)
}

// pulse returns the mark of an activity.
func (o EventOptions) pulse(since time.Time) string {
	frames := o.Look.Glyphs.Spinner
	if o.Look.Still || len(frames) == 0 || o.Now.Before(since) {
		return o.Look.Glyphs.Ellipsis
	}
	return frames[int(o.Now.Sub(since)/beat)%len(frames)]
}
