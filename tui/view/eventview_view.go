package view

import (
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/markdown"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// EventOptions set how a card looks.
type EventOptions struct {
	Width int // columns, the indent included
	Look  *render.Look
	Open  bool // unfolded
	Now   time.Time
	Name  func(id string) string // how a party is called; nil: [Name]
	Time  bool                   // show the time
	// Simulated reports that a scripted model plays: the cost of turns is marked.
	Simulated bool
	// Root returns the directory in which an agent works: on one line, paths are relative to it. nil: paths
	// are unchanged.
	Root func(agent string) string
	// Parent returns the subagent that started a subagent, empty for an agent itself; nil: all subagents
	// were started by an agent itself. [Subagents.Parent] is such a function.
	Parent func(subagent string) string
	// Stream caches the layout of a text that grows; nil: it is laid out each time. [EventLive] only.
	Stream *markdown.Stream

	// most is how many lines of each text of an input are wanted; 0: all.
	most int
	root string // of the current agent
}

// EventView is one event as it is shown.
type EventView struct {
	Gutter   render.Role // the speaker's, or Alert where a human is needed
	Mark     string      // glyph at the head; empty: none
	Head     render.Line // who speaks to whom, and when; empty for quiet events
	Lines    []render.Line
	Foldable bool
	Indent   int // depth in the tree of subagents, each level IndentColumns wide
}

// IndentColumns is the indentation of one level of the tree of subagents, until the levels take a third of
// the width. Lines leave room for it.
const IndentColumns = 2

const (
	maxDepth = 16 // of the tree
)

// begin returns a card of an event with that speaker.
func begin(speaker string) EventView { return EventView{Gutter: render.Speaker(speaker)} }

// finish limits the card to its width, whatever its content.
func (c EventView) finish(o EventOptions) EventView {
	width := o.inside(c.Indent).width()
	if len(c.Head) > 0 {
		c.Head = c.Head.Shorten(width, "")
	}
	for i, l := range c.Lines {
		c.Lines[i] = l.Shorten(width, "")
	}
	return c
}

// inside returns the options for a depth in the tree. Deep trees stop growing to the right before they
// leave no room for the text.
func (o EventOptions) inside(depth int) EventOptions {
	return o.within(IndentColumns * max(min(depth, o.Width/6), 0))
}

// within returns the options for lines that are indented by so many columns.
func (o EventOptions) within(columns int) EventOptions {
	o.Width = max(o.Width-columns, 1)
	return o
}

func (o EventOptions) width() int { return max(o.Width, 1) }

// prose returns how many columns prose may use.
func (o EventOptions) prose() int { return min(o.width(), render.Prose) }

// head shows who speaks to whom. tail is further information, and is omitted first if there is too little
// room. The last span is the time, for the right edge; it exists even if it is empty.
func (o EventOptions) head(from, to string, tail render.Line, at time.Time) render.Line {
	l := render.Line{{Text: o.name(from), Role: render.Speaker(from)}}
	if to != "" {
		l = append(l, render.Span{Text: " " + o.Look.Glyphs.Arrow + " ", Role: render.Dim},
			render.Span{Text: o.name(to), Role: render.Speaker(to)})
	}
	return o.titled(l, tail, at)
}

func (o EventOptions) titled(l, tail render.Line, at time.Time) render.Line {
	when := o.when(at)
	space := o.width()
	if when != "" && l.Width()+1+render.Width(when) > space {
		when = ""
	} else if when != "" {
		space -= 1 + render.Width(when)
	}
	if len(tail) > 0 && l.Width()+2+tail.Width() <= space {
		l = append(append(l, render.Span{Text: "  ", Role: render.Dim}), tail...)
	}
	return append(o.shorten(l, space), render.Span{Text: when, Role: render.Dim})
}

// when returns the time of day, and the date if it is another day.
func (o EventOptions) when(at time.Time) string {
	if !o.Time || at.IsZero() {
		return ""
	}
	if o.Now.IsZero() {
		return at.Format("15:04")
	}
	at = at.In(o.Now.Location())
	if y, m, d := at.Date(); o.Now.Year() != y || o.Now.Month() != m || o.Now.Day() != d {
		return at.Format("2 Jan 15:04")
	}
	return at.Format("15:04")
}

// depth returns the depth of a subagent in the tree.
func (o EventOptions) depth(subagent string) int {
	n := 0
	for subagent != "" && n < maxDepth {
		n++
		if o.Parent == nil {
			break
		}
		subagent = o.Parent(subagent)
	}
	return n
}

// markdown lays out prose.
func (o EventOptions) markdown(r render.Role, text string) []render.Line {
	return markdown.Markdown(text, markdown.Options{Width: o.prose(), Look: o.Look, Role: r})
}

// quiet returns a card of one sentence.
func (o EventOptions) quiet(e contract.Event, r render.Role, mark, text string) EventView {
	c := begin(e.ID)
	c.Lines = o.sentence(r, mark, text)
	return c
}

// sentence wraps a text behind a mark.
func (o EventOptions) sentence(r render.Role, mark, text string) []render.Line {
	return o.behind(render.Span{Text: mark, Role: r}, render.WrapText(r, text, o.within(markWidth(mark)).prose()))
}

// behind puts a mark before the first of some lines, and indents the others. If there is no room for both,
// the mark is omitted.
func (o EventOptions) behind(mark render.Span, lines []render.Line) []render.Line {
	w := markWidth(mark.Text)
	if w == 0 || o.width() <= w+1 {
		return lines
	}
	for i, l := range lines {
		if i == 0 {
			lines[i] = append(render.Line{mark, {Text: " ", Role: render.Base}}, l...)
		} else {
			lines[i] = append(render.Line{{Text: spaces(w), Role: render.Base}}, l...)
		}
	}
	return lines
}

func markWidth(mark string) int {
	if mark == "" {
		return 0
	}
	return render.Width(mark) + 1
}

func (o EventOptions) name(id string) string { return eventtext.Called(o.Name, id) }
