package view

import (
	"strings"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/history"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// EventLog lays out an entry of the logbook: one line, or with raw the event's JSON.
func EventLog(e history.Entry, o EventOptions, raw bool) Block {
	c := begin(e.Event.ID)
	if raw {
		c.Lines, c.Foldable = o.raw(e)
	} else {
		c.Lines = []render.Line{o.logged(e)}
	}
	return c.finish(o)
}

// Widths of the logbook's columns.
const (
	logName  = 16
	logEvent = 18
)

// logged lays out an event on one line: when, who, what, and the most important part.
func (o EventOptions) logged(e history.Entry) render.Line {
	width, ellipsis := o.width(), o.Look.Glyphs.Ellipsis
	at := e.At
	if !o.Now.IsZero() {
		at = at.In(o.Now.Location())
	}
	event := ""
	if e.Event.Body != nil {
		event = eventtext.One(e.Event.Body.EventName(), eventtext.MaxName)
	}
	who := o.name(e.Event.ID)
	text := eventtext.One(o.priced(e.Event.Body, eventtext.Line(e.Event, o.Name)), eventtext.MaxSummary)
	l := render.Line{}
	if width >= 20 {
		l = append(l, render.Span{Text: at.Format("15:04:05") + " ", Role: render.Dim})
	}
	role := logRole(e.Event.Body)
	switch {
	case width >= 70:
		l = append(l, render.Span{Text: padPage(who, logName, ellipsis) + " ", Role: render.Speaker(e.Event.ID)},
			render.Span{Text: padPage(event, logEvent, ellipsis) + " ", Role: render.Dim})
	case width >= 40:
		l = append(l, render.Span{Text: padPage(who, logName, ellipsis) + " ", Role: render.Speaker(e.Event.ID)})
	}
	if width >= 40 { // the agent's name is in the column before
		text = strings.TrimPrefix(text, who+" ")
	}
	if text == "" {
		text = event
	}
	l = append(l, render.Span{Text: text, Role: role})
	return o.shorten(l, width)
}

// logRole highlights the events that matter to a person who looks for problems.
func logRole(b contract.Body) render.Role {
	switch b := b.(type) {
	case contract.Error, contract.Halted:
		return render.Bad
	case contract.ToolResult:
		if b.IsError {
			return render.Bad
		}
		return render.Dim
	case contract.Permission:
		if b.Behavior != "allow" {
			return render.Bad
		}
	case contract.Acceptance:
		switch b.Status {
		case "passed":
			return render.Good
		case "failed":
			return render.Bad
		}
	case contract.Check:
		switch b.Receipt.Result {
		case "passed":
			return render.Good
		case "failed":
			return render.Bad
		}
	case contract.Overlap, contract.Merge, contract.Takeover, contract.Withdrawn, contract.Rejected, contract.Retry,
		contract.Restart, contract.ContextWarning, contract.Compact, contract.Notice, contract.Quiet,
		contract.Budget:
		return render.Warn
	case contract.Fuse:
		if b.Status == contract.FuseSet {
			return render.Dim
		}
		return render.Warn
	case contract.Question, contract.PermissionRequest:
		return render.Alert
	case contract.Delivered, contract.Context, contract.Cost, contract.Quota, contract.SubagentProgress,
		contract.Accepted, contract.Turn:
		return render.Dim
	}
	return render.Base
}

// raw returns the event's line of the contract, broken at the width.
func (o EventOptions) raw(e history.Entry) (lines []render.Line, foldable bool) {
	line, err := contract.EncodeLine(nil, uint64(e.N)+1, e.At, e.Event)
	if err != nil {
		return o.sentence(render.Bad, "", eventtext.One(err.Error(), eventtext.MaxWords)), false
	}
	text := sanitize.Text(strings.TrimRight(string(line), "\n"))
	most := foldBody * o.width()
	if o.Open || len(text) <= most {
		lines = o.highlight("json", text)
		if o.Open || len(lines) <= foldBody+foldSlack {
			return lines, len(lines) > foldBody+foldSlack
		}
	} else {
		for most > 0 && !utf8.RuneStart(text[most]) {
			most--
		}
		lines = o.highlight("json", text[:most])
	}
	shown := min(foldBody, len(lines))
	return append(lines[:shown], o.more(0, max(len(text)-shown*o.width(), 1))), true
}

// priced marks the cost of a turn, which is at the end of the text, as simulated in a rehearsal.
func (o EventOptions) priced(b contract.Body, text string) string {
	switch b := b.(type) {
	case contract.Turn:
		if b.CostUSD > 0 {
			return text + eventtext.Simulated(o.Simulated)
		}
	case contract.Cost:
		return text + eventtext.Simulated(o.Simulated)
	}
	return text
}
