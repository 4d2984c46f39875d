package tui

import (
	"time"

	"github.com/arbiter-cli/arbiter/tui/card"
	"github.com/arbiter-cli/arbiter/tui/cell"
	"github.com/arbiter-cli/arbiter/tui/chronicle"
	"github.com/arbiter-cli/arbiter/tui/rich"
	"github.com/arbiter-cli/arbiter/tui/scroll"
)

// source shows a thread of the chronicle as blocks. It belongs to tview's loop.
type source struct {
	thread *chronicle.Thread
	look   func() *cell.Look
	name   func(id string) string
	parent func(subagent string) string
	render func(chronicle.Entry, card.Options) card.Card
	live   func() []chronicle.Live // what is arriving
	grows  map[string]*rich.Stream // its layout, by agent
}

// Len and Stamp implement scroll.Source.
func (s *source) Len() int           { return s.thread.Len() }
func (s *source) Stamp(i int) uint64 { return s.thread.Stamp(i) }

// Block implements scroll.Source.
func (s *source) Block(i, width int, open bool) scroll.Block {
	e, ok := s.thread.Entry(i)
	if !ok {
		return scroll.Block{Lines: []cell.Line{cell.Of(cell.Dim, "(this can no longer be read)")}}
	}
	o := s.options(width)
	o.Open = open
	return block(s.render(e, o), open)
}

// Tail implements scroll.Source.
func (s *source) Tail(width int) []scroll.Block {
	if s.live == nil {
		return nil
	}
	var list []scroll.Block
	arriving := s.live()
	for _, l := range arriving {
		if s.grows == nil {
			s.grows = map[string]*rich.Stream{}
		}
		if s.grows[l.Agent] == nil {
			s.grows[l.Agent] = &rich.Stream{}
		}
		o := s.options(width)
		o.Stream = s.grows[l.Agent]
		b := block(card.Live(l, o), true)
		b.Foldable, b.Key = false, liveKey(l.Agent, l.Began)
		list = append(list, b)
	}
	if len(arriving) == 0 {
		s.grows = nil
	}
	return list
}

func (s *source) options(width int) card.Options {
	return card.Options{Width: width, Look: s.look(), Now: time.Now(), Name: s.name, Time: true, Parent: s.parent}
}

// block is a card as the scrolling view takes it.
func block(c card.Card, open bool) scroll.Block {
	return scroll.Block{
		Gutter: c.Gutter, Mark: c.Mark, Head: c.Head, Lines: c.Lines, Indent: c.Indent, Foldable: c.Foldable, Open: open,
	}
}

// liveKey names a text that is arriving, so that its reader stays with it.
func liveKey(agent string, began time.Time) string { return agent + "/" + began.String() }
