package view

import (
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/history"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// EventTalk lays out an entry of the conversation.
func EventTalk(e history.Entry, o EventOptions) EventView {
	if _, ok := e.Event.Body.(contract.SubagentStop); ok { // one line: in the conversation it is below no card
		return o.quiet(e.Event, render.Dim, "", eventtext.Line(e.Event, o.Name)).finish(o)
	}
	return o.card(e).finish(o)
}

// EventStream lays out an entry of what one agent does.
func EventStream(e history.Entry, o EventOptions) EventView { return o.card(e).finish(o) }

// card is the table of all events and their cards.
func (o EventOptions) card(e history.Entry) EventView {
	g := o.Look.Glyphs
	switch b := e.Event.Body.(type) {
	case contract.Message:
		return o.message(e, b)
	case contract.Question:
		c := begin(e.Event.ID)
		role, open := render.Base, e.Outcome == nil
		if open {
			role, c.Gutter = render.Alert, render.Alert
			o.Open = true // the question is at its end
		}
		c.Head = o.titled(render.Line{{Text: o.name(e.Event.ID) + " asks", Role: role}}, nil, e.At)
		c.Lines, c.Foldable = o.body(render.Base, b.Text, 3*foldBody)
		c.Foldable = c.Foldable && !open
		return c
	case contract.Decision:
		return o.decision(e.Event, b)
	case contract.Handoff:
		c := begin(b.From)
		kind := render.Of(render.Dim, "hand-off")
		c.Head = o.head(b.From, b.To, append(slices.Clone(kind), o.proven(b)...), e.At)
		if !strings.Contains(c.Head.Text(), kind.Text()) { // there is no room for both
			c.Head = o.head(b.From, b.To, kind, e.At)
		}
		c.Lines, c.Foldable = o.handoff(b)
		return c
	case contract.Spawn:
		return o.spawn(e.Event, b)
	case contract.PermissionRequest:
		return o.permission(e, b)
	case contract.Permission:
		r, mark := render.Bad, g.Failed
		if b.Behavior == "allow" {
			r, mark = render.Good, g.Done
		}
		text := eventtext.Answered(b)
		if tool := eventtext.ToolName(b.Tool); tool != "" {
			text = tool + ": " + eventtext.Lower(text)
		}
		return o.quiet(e.Event, r, mark, text)
	case contract.Error:
		return o.errorView(e, b)
	case contract.Result:
		return o.result(e, b)
	case contract.Session:
		return o.session(e.Event, b)
	case contract.Plan:
		return o.plan(e.Event, b)
	case contract.Check:
		c := begin(e.Event.ID)
		if !o.Open {
			b.Receipt.Output = ""
		}
		c.Lines = append(o.sentence(render.Dim, "", eventtext.CheckNumber(b)), o.receipt(b.Receipt)...)
		c.Lines = append(c.Lines, o.aside("", eventtext.LastChange(b, o.Name))...)
		c.Foldable = b.Receipt.Output != "" || o.Open
		return c
	case contract.ContextWarning:
		r := render.Warn
		if b.Level == "critical" {
			r = render.Bad
		}
		return o.quiet(e.Event, r, "", "Context thins. "+o.name(e.Event.ID)+": "+eventtext.Percent(b.Pct))
	case contract.Assistant:
		c := o.under(e.Event, b.Subagent)
		o = o.inside(c.Indent)
		if b.Subagent == "" {
			c.Head = o.head(e.Event.ID, "", nil, e.At)
		}
		c.Lines, c.Foldable = o.body(render.Base, b.Text, foldBody)
		return c
	case contract.ToolUse:
		return o.toolUse(e, b)
	case contract.ToolResult:
		c := o.under(e.Event, b.Subagent)
		o = o.inside(c.Indent)
		c.Lines, c.Foldable = o.toolResult(b)
		return c
	case contract.ToolCall:
		c := begin(e.Event.ID)
		const mark = 2
		c.Lines = o.behind(render.Span{Text: o.Look.Glyphs.Arrow, Role: render.SpeakerArbiter},
			[]render.Line{o.call(b.Tool, b.Input, o.within(mark).width())})
		if c.Foldable = len(b.Input) > len("{}"); o.Open {
			c.Lines = append(c.Lines, inset(o.within(o.step()).input(b.Tool, b.Input), o.step())...)
		}
		return c
	case contract.SubagentStart:
		return o.subagent(e, b)
	case contract.SubagentStop:
		c := o.under(e.Event, b.ToolUse)
		text, failed := eventtext.SubagentEnd(b)
		role, mark := render.Dim, o.Look.Glyphs.Done
		if failed {
			role, mark = render.Bad, o.Look.Glyphs.Failed
		}
		c.Lines = o.inside(c.Indent).sentence(role, mark, eventtext.One(b.Description, eventtext.MaxSummary)+": "+text)
		return c
	case contract.SubagentProgress:
		c := o.under(e.Event, b.ToolUse)
		c.Lines = o.inside(c.Indent).sentence(render.Dim, o.Look.Glyphs.Current,
			eventtext.One(b.Description, eventtext.MaxSummary)+": "+eventtext.Progress(b))
		return c
	case contract.Turn:
		c := begin(e.Event.ID)
		c.Lines = []render.Line{o.rule(o.priced(b, eventtext.Turn(b)))}
		return c
	case contract.Takeover:
		r := render.Warn
		if b.State == "failed" {
			r = render.Bad
		}
		return o.taking(e.Event, b, r)
	case contract.Halted:
		c := o.quiet(e.Event, render.Danger, g.Failed, eventtext.Line(e.Event, o.Name))
		c.Gutter = render.Bad
		return c
	case contract.Rejected:
		return o.quiet(e.Event, render.Warn, g.Failed, eventtext.One(b.Message, eventtext.MaxWords))
	}
	return o.quiet(e.Event, render.Dim, "", eventtext.Line(e.Event, o.Name))
}
