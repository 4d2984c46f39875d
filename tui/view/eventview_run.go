package view

import (
	"strconv"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/history"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// errorView is the card of an error, with what can be done.
func (o EventOptions) errorView(e history.Entry, b contract.Error) EventView {
	c := begin(e.Event.ID)
	c.Gutter = render.Bad
	tail := render.Of(render.Dim, eventtext.Category(string(b.Category)))
	c.Head = o.titled(render.Line{{Text: o.name(e.Event.ID), Role: render.Bad}}, tail, e.At)
	lines, foldable := o.words(render.Base, strings.Trim(b.Message, "\n"), foldBody)
	c.Lines, c.Foldable = o.behind(render.Span{Text: o.Look.Glyphs.Failed, Role: render.Bad}, o.fit(lines)), foldable
	var options []render.Line
	for _, option := range b.RecoveryOptions {
		if text := eventtext.One(option, 200); text != "" {
			options = append(options,
				render.Line{{Text: o.Look.Glyphs.Prompt + " ", Role: render.Dim}, {Text: text, Role: render.Strong}})
		}
	}
	c.Lines = append(c.Lines, o.joined(options)...)
	return c
}

// fit wraps lines again for the room beside a mark.
func (o EventOptions) fit(lines []render.Line) []render.Line {
	width := o.within(markWidth(o.Look.Glyphs.Failed)).width()
	var out []render.Line
	for _, l := range lines {
		out = append(out, render.Wrap(l, width)...)
	}
	return out
}

// result is the card of the end of a run.
func (o EventOptions) result(e history.Entry, b contract.Result) EventView {
	c := begin(e.Event.ID)
	g := o.Look.Glyphs
	role, mark := render.Warn, g.Skipped
	switch b.Status {
	case contract.StatusComplete:
		role, mark = render.Good, g.Done
	case contract.StatusFailed:
		role, mark = render.Bad, g.Failed
	case contract.StatusNeedsInput:
		role, mark = render.Alert, g.Pending
	}
	c.Gutter = role
	c.Head = o.titled(render.Line{{Text: mark + " " + eventtext.Ending(b.Status), Role: role}}, nil, e.At)
	c.Lines, c.Foldable = o.body(render.Base, b.Summary, 2*foldBody)
	c.Lines = append(c.Lines, o.interrupted(b)...)
	c.Lines = append(c.Lines, o.joined(o.account(b))...)
	c.Lines = append(c.Lines, o.proved(b)...)
	return c
}

// proved lays out what was proved of a run's work, and what it changed.
func (o EventOptions) proved(b contract.Result) (lines []render.Line) {
	tally := func(label string, k contract.Checks) {
		lines = append(lines, o.labelled(label, o.results(k.Passed, k.Failed, k.Unproven, "passed",
			"failed"))...)
	}
	if b.Checks != nil {
		tally("checks", *b.Checks)
	}
	var criteria contract.Checks
	for _, a := range b.Acceptance {
		switch a.Status {
		case "passed":
			criteria.Passed++
		case "failed":
			criteria.Failed++
		default:
			criteria.Unproven++
		}
	}
	tally("criteria", criteria)
	if f := b.Changes; f != nil && f.Files > 0 {
		lines = append(lines, o.labelled("changed", []render.Line{
			render.Of(render.Base, words.Count(f.Files, "file")),
			render.Of(render.DiffAdd, "+"+words.Number(f.Added)),
			render.Of(render.DiffRemove, "-"+words.Number(f.Deleted)),
		})...)
	}
	return lines
}

// interrupted lists all interrupted work: a person has to check it.
func (o EventOptions) interrupted(b contract.Result) (lines []render.Line) {
	if len(b.InterruptedWork) > 0 {
		lines = o.sentence(render.Warn, "", "Left half-done:")
	}
	for _, text := range b.InterruptedWork {
		lines = append(lines, o.sentence(render.Base, o.Look.Glyphs.Bullet,
			eventtext.One(text, 2*eventtext.MaxWords))...)
	}
	return lines
}

// account lays out what a run has cost.
func (o EventOptions) account(b contract.Result) []render.Line {
	var parts []render.Line
	for _, text := range eventtext.Spent(b) {
		parts = append(parts, render.Of(render.Dim, text))
	}
	if b.Rehearsal {
		parts = append(parts, render.Of(render.Danger, "a rehearsal"))
	}
	return parts
}

// session is the card of the start of a process of the run.
func (o EventOptions) session(e contract.Event, s contract.Session) EventView {
	c := begin(e.ID)
	c.Lines = render.Wrap(render.Of(render.Motto, eventtext.Opening(s)), o.width())
	var parts []render.Line
	for _, text := range []string{eventtext.After("Claude Code ", eventtext.One(s.ClaudeVersion, eventtext.MaxName)),
		eventtext.One(s.CWD, 400), eventtext.After("run ", eventtext.One(s.Session, eventtext.MaxName))} {
		if text != "" {
			parts = append(parts, render.Of(render.Dim, text))
		}
	}
	for _, text := range eventtext.Safety(s) {
		parts = append(parts, render.Of(render.Dim, text))
	}
	for _, text := range eventtext.RiskWarnings(s) {
		parts = append(parts, render.Of(render.Danger, text))
	}
	c.Lines = append(c.Lines, o.joined(parts)...)
	return c
}

// plan is the card of the whole plan, folded to the finished steps and the current ones.
func (o EventOptions) plan(e contract.Event, p contract.Plan) EventView {
	c := begin(e.ID)
	if len(p.Steps) == 0 && (len(p.Tasks) == 0 || !o.Open) {
		c.Lines = o.sentence(render.Dim, "", "The plan is empty.")
		c.Foldable = len(p.Tasks) > 0
		return c
	}
	c.Foldable = true
	done := 0
	var now []contract.Step
	for _, s := range p.Steps {
		switch s.Status {
		case contract.StepDone:
			done++
		case contract.StepActive:
			now = append(now, s)
		}
	}
	c.Lines = o.sentence(render.Dim, "", "The plan: "+strconv.Itoa(done)+" of "+words.Count(len(p.Steps), "step")+
		" done")
	steps := now
	if o.Open {
		steps = p.Steps
	} else if len(steps) > foldBrief {
		steps = steps[:foldBrief]
	}
	for _, s := range steps {
		text := eventtext.One(s.Text, eventtext.MaxWords) + eventtext.Parenthesis(eventtext.Worker(s, o.Name))
		mark, role := stepMark(o.Look.Glyphs, s.Status)
		lines := render.WrapText(render.Base, text, o.within(markWidth(mark)).width())
		c.Lines = append(c.Lines, o.behind(render.Span{Text: mark, Role: role}, lines)...)
	}
	if o.Open {
		for _, t := range p.Tasks {
			c.Lines = append(c.Lines, o.sentence(render.Dim, "",
				o.name(t.Agent)+" keeps a list of its own: "+eventtext.Tally(t))...)
		}
	}
	return c
}
