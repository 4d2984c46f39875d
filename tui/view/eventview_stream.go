package view

import (
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/history"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// under begins a card that is indented like its subagent.
func (o EventOptions) under(e contract.Event, subagent string) EventView {
	c := begin(e.ID)
	c.Indent = o.depth(subagent)
	return c
}

// toolUse is the card of a tool's call on one line, and the result.
func (o EventOptions) toolUse(e history.Entry, b contract.ToolUse) EventView {
	c := o.under(e.Event, b.Subagent)
	o = o.inside(c.Indent)
	g := o.Look.Glyphs
	result, over := contract.ToolResult{}, false
	if e.Outcome != nil {
		result, over = e.Outcome.Body.(contract.ToolResult)
	}
	mark, tail := render.Span{Text: g.Current, Role: render.Active}, render.Line(nil)
	added, removed := eventtext.EditedLines(b.Tool, b.Input)
	if added+removed > 0 {
		tail = eventLineCounts(added, removed)
	}
	if over {
		mark = render.Span{Text: g.Done, Role: render.Dim}
		if took := e.OutcomeAt.Sub(e.At); tail == nil && took >= 1e9 && !e.OutcomeAt.IsZero() {
			tail = render.Of(render.Dim, eventtext.Span(took))
		}
		if result.IsError {
			mark = render.Span{Text: g.Failed, Role: render.Bad}
			tail = render.Of(render.Bad, eventtext.Exit(result.Text))
		}
	}
	space := o.within(markWidth(mark.Text)).width()
	free := space
	if n := tail.Width(); n > 0 && n+2 < space/2 {
		free -= n + 2
	} else {
		tail = nil
	}
	if o.Root != nil {
		o.root = o.Root(e.Event.ID)
	}
	l := o.call(b.Tool, b.Input, free)
	if tail != nil {
		l = append(l, render.Span{Text: spaces(space - l.Width() - tail.Width()), Role: render.Base})
		l = append(l, tail...)
	}
	c.Lines = o.behind(mark, []render.Line{l})
	c.Foldable = len(b.Input) > len("{}")
	inner := o.within(o.step())
	if o.Open {
		c.Lines = append(c.Lines, inset(inner.input(b.Tool, b.Input), o.step())...)
	}
	if over {
		lines, foldable := inner.toolResult(result)
		if o.Open && len(lines) > 0 && c.Foldable {
			c.Lines = append(c.Lines, o.rule(""))
		}
		c.Lines = append(c.Lines, inset(lines, o.step())...)
		c.Foldable = c.Foldable || foldable
	}
	return c
}

// toolResult lays out a tool's result.
func (o EventOptions) toolResult(b contract.ToolResult) (lines []render.Line, foldable bool) {
	role := render.Dim
	if o.Open {
		role = render.Base
	}
	if b.IsError {
		role = render.Bad
	}
	return o.output(role, b.Text, foldResult)
}

// subagent is the card of a subagent on one line, from its start to its end.
func (o EventOptions) subagent(e history.Entry, b contract.SubagentStart) EventView {
	c := o.under(e.Event, b.ToolUse)
	o = o.inside(c.Indent)
	g := o.Look.Glyphs
	mark, text, role := render.Span{Text: g.Current, Role: render.Active}, "at work", render.Dim
	if e.Progress != nil {
		text = eventtext.Progress(*e.Progress)
	}
	if e.Outcome != nil {
		if stop, ok := e.Outcome.Body.(contract.SubagentStop); ok {
			mark = render.Span{Text: g.Done, Role: render.Dim}
			var failed bool
			text, failed = eventtext.SubagentEnd(stop)
			if failed {
				role, mark = render.Bad, render.Span{Text: g.Failed, Role: render.Bad}
			}
			if e.Progress != nil && e.Progress.ToolUses > 0 {
				text += ", " + words.Count(e.Progress.ToolUses, "tool")
			}
		}
	}
	l := render.Line{{Text: eventtext.FirstOf(eventtext.One(b.Description, eventtext.MaxSummary), "a subagent"),
		Role: render.Strong}}
	if kind := eventtext.One(b.Type, eventtext.MaxName); kind != "" {
		l = append(l, render.Span{Text: " (" + kind + ")", Role: render.Dim})
	}
	l = append(l, render.Span{Text: "  " + text, Role: role})
	c.Lines = o.behind(mark, render.Wrap(l, o.within(markWidth(mark.Text)).width()))
	return c
}

// rule returns a thin line with a word in it.
func (o EventOptions) rule(word string) render.Line {
	width, bar := o.width(), o.Look.Glyphs.Horizontal
	if render.Width(bar) != 1 {
		bar = "-"
	}
	if word == "" || width < render.Width(word)+8 {
		if word != "" {
			return o.shorten(render.Of(render.Dim, word), width)
		}
		return render.Of(render.Frame, strings.Repeat(bar, width))
	}
	right := width - render.Width(word) - 6
	return render.Line{
		{Text: strings.Repeat(bar, 4), Role: render.Frame}, {Text: " " + word + " ", Role: render.Dim},
		{Text: strings.Repeat(bar, right), Role: render.Frame},
	}
}

// eventLineCounts returns the lines that an edit adds and removes: "+12 -3".
func eventLineCounts(added, removed int) render.Line {
	l := render.Of(render.DiffAdd, "+"+words.Number(added))
	if removed > 0 {
		l = append(l, render.Span{Text: " -" + words.Number(removed), Role: render.DiffRemove})
	}
	return l
}
