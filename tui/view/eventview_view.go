package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/history"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// EventOptions set how a card looks.
type EventOptions struct {
	Width int // columns, the indent included
	Look  *render.Look
	Open  bool // unfolded
	Now   time.Time
	Name  func(id string) string // how a party is called; nil: [Name]
	// Simulated reports that a scripted model plays: the cost of turns is marked.
	Simulated bool
	// Root returns the directory in which an agent works: on one line, paths are relative to it. nil: paths
	// are unchanged.
	Root func(agent string) string
	// Parent returns the subagent that started a subagent, empty for an agent itself; nil: all subagents
	// were started by an agent itself. [history.Store.Parent] is such a function.
	Parent func(subagent string) string
	// Stream caches the layout of a text that grows; nil: it is laid out each time. [EventLive] only.
	Stream *render.MarkdownStream

	// most is how many lines of each text of an input are wanted; 0: all.
	most int
	root string // of the current agent
}

const (
	maxDepth = 16 // of the tree
)

func begin(speaker string) Block { return Block{Gutter: render.Speaker(speaker)} }

// finish limits the card to its width, whatever its content.
func (c Block) finish(o EventOptions) Block {
	width := o.inside(c.Indent).width()
	if len(c.Head) > 0 {
		c.Head = c.Head.Shorten(width, "")
	}
	for i, l := range c.Lines {
		c.Lines[i] = l.Shorten(width, "")
	}
	c.Open = o.Open
	return c
}

// inside returns the options for a depth in the tree. Deep trees stop growing to the right before they
// leave no room for the text.
func (o EventOptions) inside(depth int) EventOptions {
	return o.within(Inset(o.Width, depth))
}

// within returns the options for lines that are indented by so many columns.
func (o EventOptions) within(columns int) EventOptions {
	o.Width = max(o.Width-columns, 1)
	return o
}

func (o EventOptions) width() int { return max(o.Width, 1) }

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

// when returns the time of day, and the date if it is another day; empty: it is not known.
func (o EventOptions) when(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return eventtext.Clock(at, o.Now, "15:04")
}

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

func (o EventOptions) markdown(r render.Role, text string) []render.Line {
	return render.Markdown(text, render.MarkdownOptions{Width: o.prose(), Look: o.Look, Role: r})
}

func (o EventOptions) quiet(e contract.Event, r render.Role, mark, text string) Block {
	c := begin(e.ID)
	c.Lines = o.sentence(r, mark, text)
	return c
}

func (o EventOptions) sentence(r render.Role, mark, text string) []render.Line {
	return o.behind(render.Span{Text: mark, Role: r}, render.WrapText(r, text, o.within(markWidth(mark)).prose()))
}

// behind puts a mark before the first of some lines, and indents the others. If there is no room for both,
// the mark is omitted.
func (o EventOptions) behind(mark render.Span, lines []render.Line) []render.Line {
	if w := markWidth(mark.Text); w == 0 || o.width() <= w+1 {
		return lines
	}
	return render.Behind(render.Line{mark, {Text: " ", Role: render.Base}}, lines)
}

func markWidth(mark string) int {
	if mark == "" {
		return 0
	}
	return render.Width(mark) + 1
}

func (o EventOptions) name(id string) string { return eventtext.Called(o.Name, id) }

func spaces(n int) string { return strings.Repeat(" ", max(n, 0)) }

// shorten returns a line, or its beginning and an ellipsis.
func (o EventOptions) shorten(l render.Line, columns int) render.Line {
	return l.Shorten(columns, o.Look.Glyphs.Ellipsis)
}

// joined puts lines after one another, with a separator between them, on as many rows as they need.
func (o EventOptions) joined(parts []render.Line) []render.Line {
	var rows []render.Line
	var row render.Line
	gap := " " + o.Look.Glyphs.Separator + " "
	for i, p := range parts {
		if i > 0 && row.Width()+render.Width(gap)+p.Width() > o.width() {
			rows, row = append(rows, render.Wrap(row, o.width())...), nil
		} else if i > 0 {
			row = append(row, render.Span{Text: gap, Role: render.Dim})
		}
		row = append(row, p...)
	}
	if len(row) > 0 {
		rows = append(rows, render.Wrap(row, o.width())...)
	}
	return rows
}

func inset(lines []render.Line, columns int) []render.Line {
	if columns <= 0 {
		return lines
	}
	return render.Behind(render.Of(render.Base, spaces(columns)), lines)
}

// step returns how far subordinate lines are indented; 0 if there is hardly any room.
func (o EventOptions) step() int {
	if o.width() < 8 {
		return 0
	}
	return 2
}

// How much a folded card shows, in lines.
const (
	foldBody   = 12
	foldBrief  = 3 // for texts of minor importance
	foldResult = 4 // of a tool
	foldSlack  = 2 // if so few lines would be folded, they are shown
)

// body lays out prose, folded to keep lines unless the card is open. It reports whether the text is longer
// than that.
func (o EventOptions) body(r render.Role, text string, keep int) (lines []render.Line, foldable bool) {
	text = strings.Trim(text, "\n")
	if strings.TrimSpace(text) == "" {
		return nil, false
	}
	return o.folded(text, keep, func(text string) []render.Line { return o.markdown(r, text) })
}

// words is like body for plain text.
func (o EventOptions) words(r render.Role, text string, keep int) (lines []render.Line, foldable bool) {
	return o.folded(text, keep, func(text string) []render.Line { return render.WrapText(r, text, o.prose()) })
}

func (o EventOptions) folded(text string, keep int, lay func(string) []render.Line) ([]render.Line, bool) {
	head, rest := text, ""
	if !o.Open && len(text) > eventtext.MaxFullText {
		head = eventtext.Beginning(text, keep)
		rest = text[len(head):]
	}
	lines := lay(head)
	switch {
	case rest != "":
		return append(lines[:min(keep, len(lines))], o.more(strings.Count(rest, "\n"), len(rest))), true
	case len(lines) <= keep+foldSlack:
		return lines, false
	case o.Open:
		return lines, true
	}
	return append(lines[:keep:keep], o.more(len(lines)-keep, 0)), true
}

// output lays out the output of a program, with its lines and spaces unchanged.
func (o EventOptions) output(r render.Role, text string, keep int) (lines []render.Line, foldable bool) {
	text = strings.TrimRight(text, "\n \t")
	most, hidden, below := keep+foldSlack, 0, 0 // lines and bytes from the first folded line on
	for rest := text; rest != ""; {
		line, after, _ := strings.Cut(rest, "\n")
		if room := 4 * o.width() * (most + 1); !o.Open && len(line) > room { // the rest of it is folded
			line, after = strings.ToValidUTF8(line[:room], ""), rest[room:]
		}
		first := len(lines)
		lines = append(lines, o.code(render.Of(r, line))...)
		if first <= keep && len(lines) > keep {
			hidden, below = strings.Count(rest, "\n"), len(rest)
			if first == keep {
				hidden++
			}
		}
		if len(lines) > most && !o.Open {
			return append(lines[:keep:keep], o.more(hidden, below)), true
		}
		rest = after
	}
	return lines, len(lines) > most
}

func (o EventOptions) more(lines, bytes int) render.Line {
	text := words.Count(lines, "more line")
	if lines < 1 {
		text = words.Bytes(bytes) + " more"
	}
	return o.shorten(render.Line{{Text: o.Look.Glyphs.Folded + " " + text, Role: render.Dim}}, o.width())
}

// code breaks lines of code, or of an output, at the width.
func (o EventOptions) code(lines ...render.Line) (out []render.Line) {
	for _, l := range lines {
		for _, row := range render.Cut(l, o.width()) {
			out = append(out, o.shorten(row, o.width())) // a single character may be wider
		}
	}
	return out
}

// beat is the duration of a frame of the quiet animation.
const beat = 160 * time.Millisecond

// EventLive lays out text that is still arriving: prose, or the part of a verdict's message that has arrived.
// Its last line shows that it is not finished.
func EventLive(l history.Live, o EventOptions) Block {
	c := begin(l.Agent)
	c.Head = o.head(l.Agent, "", nil, l.Began)
	if l.Text != "" {
		stream := cmp.Or(o.Stream, &render.MarkdownStream{})
		options := render.MarkdownOptions{Width: o.prose(), Look: o.Look, Role: render.Base}
		c.Lines = slices.Clone(stream.Set(l.Text, options))
	}
	c.Lines = append(c.Lines, render.Of(render.Dim, o.pulse(l.Began)))
	return c.finish(o)
}

func (o EventOptions) pulse(since time.Time) string {
	frames := o.Look.Glyphs.Spinner
	if o.Look.Still || len(frames) == 0 || o.Now.Before(since) {
		return o.Look.Glyphs.Ellipsis
	}
	return frames[int(o.Now.Sub(since)/beat)%len(frames)]
}
