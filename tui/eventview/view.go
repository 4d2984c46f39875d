package eventview

import (
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/markdown"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// Options are how a card is to look.
type Options struct {
	Width int // columns, the indent included
	Look  *render.Look
	Open  bool // unfolded
	Now   time.Time
	Name  func(id string) string // how a party is called; nil: [Name]
	Time  bool                   // say when
	// Simulated says that a scripted model plays: what turns cost is marked.
	Simulated bool
	// Root is the directory that an agent works in: on one line, paths are relative to it. nil: as they are.
	Root func(agent string) string
	// Parent is the subagent that started a subagent, empty for an agent itself; nil:
	// every subagent is an agent's own. [Subagents.Parent] is one.
	Parent func(subagent string) string
	// Stream keeps what is laid out of a text that grows; nil: it is laid out anew.
	// [Live] only.
	Stream *markdown.Stream

	// most is how many lines of each text of an input are wanted; 0: all.
	most int
	root string // of the current agent
}

// View is one event as it is shown.
type View struct {
	Gutter   render.Role // the speaker's, or Alert where a human is needed
	Mark     string      // glyph at the head; empty: none
	Head     render.Line // who speaks to whom, and when; empty for quiet events
	Lines    []render.Line
	Foldable bool
	Indent   int // depth in the tree of subagents, each step IndentColumns wide
}

// IndentColumns is how far a step down the tree of subagents indents, until the steps
// take a third of the width. Lines leave room for it.
const IndentColumns = 2

const (
	maxDepth = 16 // of the tree
)

// begin is a card of an event that somebody is the speaker of.
func begin(speaker string) View { return View{Gutter: render.Speaker(speaker)} }

// finish holds the card to its width, whatever it was made of.
func (c View) finish(o Options) View {
	width := o.inside(c.Indent).width()
	if len(c.Head) > 0 {
		c.Head = clip(c.Head, width)
	}
	for i, l := range c.Lines {
		c.Lines[i] = clip(l, width)
	}
	return c
}

// inside are the options for what stands so deep in the tree. Deep trees stop growing
// to the right before they leave no room for the text.
func (o Options) inside(depth int) Options {
	return o.within(IndentColumns * max(min(depth, o.Width/6), 0))
}

// within are the options for lines that stand so many columns in.
func (o Options) within(columns int) Options {
	o.Width = max(o.Width-columns, 1)
	return o
}

func (o Options) width() int { return max(o.Width, 1) }

// prose is how many columns prose has.
func (o Options) prose() int { return min(o.width(), render.Prose) }

// head says who speaks to whom; tail is what else is to be known of it, and goes
// first where there is no room. The last span is the time, for the right edge; it is
// there even if it is empty.
func (o Options) head(from, to string, tail render.Line, at time.Time) render.Line {
	l := render.Line{{Text: o.name(from), Role: render.Speaker(from)}}
	if to != "" {
		l = append(l, render.Span{Text: " " + o.Look.Glyphs.Arrow + " ", Role: render.Dim},
			render.Span{Text: o.name(to), Role: render.Speaker(to)})
	}
	return o.titled(l, tail, at)
}

func (o Options) titled(l, tail render.Line, at time.Time) render.Line {
	when := o.when(at)
	room := o.width()
	if when != "" && l.Width()+1+render.Width(when) > room {
		when = ""
	} else if when != "" {
		room -= 1 + render.Width(when)
	}
	if len(tail) > 0 && l.Width()+2+tail.Width() <= room {
		l = append(append(l, render.Span{Text: "  ", Role: render.Dim}), tail...)
	}
	return append(o.shorten(l, room), render.Span{Text: when, Role: render.Dim})
}

// when is the time of day, and the day where it is another one.
func (o Options) when(at time.Time) string {
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

// depth is how deep in the tree of subagents something stands.
func (o Options) depth(subagent string) int {
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

// markdown lays prose out.
func (o Options) markdown(r render.Role, text string) []render.Line {
	return markdown.Markdown(text, markdown.Options{Width: o.prose(), Look: o.Look, Role: r})
}

// quiet is a card of one sentence.
func (o Options) quiet(e contract.Event, r render.Role, mark, text string) View {
	c := begin(e.ID)
	c.Lines = o.sentence(r, mark, text)
	return c
}

// sentence wraps a text behind a mark.
func (o Options) sentence(r render.Role, mark, text string) []render.Line {
	return o.behind(render.Span{Text: mark, Role: r}, render.WrapText(r, text, o.within(markWidth(mark)).prose()))
}

// behind puts a mark before the first of some lines, and room before the others.
// Where there is no room for both, the mark goes.
func (o Options) behind(mark render.Span, lines []render.Line) []render.Line {
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

func (o Options) name(id string) string { return eventtext.Called(o.Name, id) }
