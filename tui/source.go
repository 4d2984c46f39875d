package tui

import (
	"time"

	"github.com/arbiter-cli/arbiter/tui/eventview"
	"github.com/arbiter-cli/arbiter/tui/history"
	"github.com/arbiter-cli/arbiter/tui/listview"
	"github.com/arbiter-cli/arbiter/tui/markdown"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// source shows a thread of the history as blocks. It belongs to tview's loop.
type source struct {
	thread *history.Thread
	look   func() *render.Look
	name   func(id string) string
	parent func(subagent string) string
	render func(history.Entry, eventview.Options) eventview.View
	live   func() []history.Live       // what is arriving
	grows  map[string]*markdown.Stream // its layout, by agent
}

// Len and Stamp implement listview.Source.
func (s *source) Len() int           { return s.thread.Len() }
func (s *source) Stamp(i int) uint64 { return s.thread.Stamp(i) }

// Block implements listview.Source.
func (s *source) Block(i, width int, open bool) listview.Block {
	e, ok := s.thread.Entry(i)
	if !ok {
		return listview.Block{Lines: []render.Line{render.Of(render.Dim, "(this can no longer be read)")}}
	}
	o := s.options(width)
	o.Open = open
	return block(s.render(e, o), open)
}

// Tail implements listview.Source.
func (s *source) Tail(width int) []listview.Block {
	if s.live == nil {
		return nil
	}
	var list []listview.Block
	arriving := s.live()
	for _, l := range arriving {
		if s.grows == nil {
			s.grows = map[string]*markdown.Stream{}
		}
		if s.grows[l.Agent] == nil {
			s.grows[l.Agent] = &markdown.Stream{}
		}
		o := s.options(width)
		o.Stream = s.grows[l.Agent]
		b := block(eventview.Live(l, o), true)
		b.Foldable, b.Key = false, liveKey(l.Agent, l.Began)
		list = append(list, b)
	}
	if len(arriving) == 0 {
		s.grows = nil
	}
	return list
}

func (s *source) options(width int) eventview.Options {
	return eventview.Options{Width: width, Look: s.look(), Now: time.Now(), Name: s.name, Time: true, Parent: s.parent}
}

// block is a card as the scrolling view takes it.
func block(c eventview.View, open bool) listview.Block {
	return listview.Block{
		Gutter: c.Gutter, Mark: c.Mark, Head: c.Head, Lines: c.Lines, Indent: c.Indent, Foldable: c.Foldable, Open: open,
	}
}

// liveKey names a text that is arriving, so that its reader stays with it.
func liveKey(agent string, began time.Time) string { return agent + "/" + began.String() }
