package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// tilePainter lays out the body of one tile.
type tilePainter struct {
	tile  Tile
	look  *render.Look
	now   time.Time
	width int
}

// body lays out the last lines of what an agent did, and below them its current activity.
func (p tilePainter) body(height int) lines {
	if p.tile.Row.Past {
		return lines{group: -1}
	}
	present := p.present(height)
	space := height - len(present.list)
	var before []render.Line
	resultShown := false // whether the result of a call was shown
	for _, item := range slices.Backward(p.tile.Work.Items) {
		if len(before) >= space {
			break
		}
		if item.Runs() || p.starts(item) {
			continue
		}
		of := p.past(item, !resultShown)
		resultShown = resultShown || item.Call()
		before = append(of, before...)
	}
	if extra := len(before) - space; extra > 0 {
		before = before[extra:]
	}
	if present.group >= 0 {
		present.group += len(before)
	}
	return lines{list: append(before, present.list...), group: present.group}
}

// starts reports whether a call started one of the subagents, which have lines of their own.
func (p tilePainter) starts(i eventtext.ActivityItem) bool {
	return i.Call() && slices.ContainsFunc(p.tile.Work.Subagents,
		func(s eventtext.SubagentActivity) bool { return s.ID == i.Use })
}

// past lays out a finished item. last reports that it is the last call that ended: its result is shown.
func (p tilePainter) past(i eventtext.ActivityItem, last bool) []render.Line {
	g := p.look.Glyphs
	if !i.Call() {
		return render.WrapText(render.Base, i.Text, min(p.width, render.Prose))
	}
	mark, role := render.Span{Text: g.Done, Role: render.Dim}, render.Dim
	tail := render.Line{}
	switch {
	case i.Failed:
		mark, role = render.Span{Text: g.Failed, Role: render.Bad}, render.Base
		tail = render.Of(render.Bad, eventtext.Exit(i.Result))
	case i.Cut:
		mark = render.Span{Text: g.Skipped, Role: render.Warn}
		tail = render.Of(render.Warn, "cut off")
	case i.Added+i.Removed > 0:
		tail = changedTile(i)
	case i.Until.Sub(i.At) >= time.Second:
		tail = render.Of(render.Dim, PageRunning(i.Until.Sub(i.At)))
	}
	list := []render.Line{p.call(mark, role, i, tail)}
	keep := 0
	switch {
	case i.Failed:
		keep = 2
	case last && resultTools[i.Tool]:
		keep = 2
	}
	result := strings.Split(i.Result, "\n")
	for _, line := range result[max(len(result)-keep, 0):] {
		if line != "" {
			list = append(list, render.Line{{Text: "  ", Role: render.Base},
				{Text: line, Role: map[bool]render.Role{true: render.Bad, false: render.Dim}[i.Failed]}})
		}
	}
	return list
}

// resultTools are the tools whose results are worth a line.
var resultTools = map[string]bool{"Bash": true, "BashOutput": true, "Check": true}

// changedTile counts the lines that an edit added and removed.
func changedTile(i eventtext.ActivityItem) render.Line {
	l := render.Of(render.DiffAdd, "+"+words.Number(i.Added))
	if i.Removed > 0 {
		l = append(l, render.Span{Text: " -" + words.Number(i.Removed), Role: render.DiffRemove})
	}
	return l
}

// call lays out a call on one line: its mark, its tool, its summary, and at the right the result.
func (p tilePainter) call(mark render.Span, role render.Role, i eventtext.ActivityItem, tail render.Line) render.Line {
	l := render.Line{mark, {Text: " " + i.Tool, Role: render.Strong}}
	if role == render.Dim {
		l[1].Role = render.Dim
	}
	space := p.width - l.Width() - tail.Width() - 2
	if summary := eventtext.Relative(p.tile.Root, i.Summary); summary != "" && space > 2 {
		l = append(l, render.Span{Text: " " + render.Shorten(summary, space-1, p.look.Glyphs.Ellipsis), Role: role})
	}
	if gap := p.width - l.Width() - tail.Width(); gap > 0 && len(tail) > 0 {
		l = append(append(l, render.Span{Text: blanksTile(gap), Role: render.Base}), tail...)
	}
	return l
}

// present lays out the current activity: running calls, subagents, the arriving text, and what the agent
// waits for.
func (p tilePainter) present(height int) lines {
	now := lines{group: -1}
	a := p.tile.Row
	for _, i := range p.tile.Work.Items {
		if i.Runs() && !p.starts(i) && !p.asksFor(i) {
			mark := render.Span{Text: p.look.Glyphs.Current, Role: render.Active}
			since := render.Of(render.Active, PageRunning(max(p.now.Sub(i.At), 0)))
			now.list = append(now.list, p.call(mark, render.Base, i, since))
		}
	}
	running := len(now.list)
	if a.Bell || a.Doing != "" && !a.Busy {
		now.list = append(now.list, p.waiting()...)
	}
	if n := len(a.Subagents); n > 0 && p.tile.Work.Working() > 0 {
		now.group = len(now.list)
		now.list = append(now.list, p.group(height-len(now.list))...)
	}
	switch writing := strings.TrimSpace(p.tile.Writing); {
	case a.Bell || !a.Busy:
	case writing != "":
		text := render.WrapText(render.Base, writing, min(p.width, render.Prose))
		text = text[max(len(text)-max(height-len(now.list), 1), 0):]
		now.list = append(now.list, text...)
	case running == 0 && now.group < 0:
		l := render.Line{{Text: p.look.Spin(p.now) + " ", Role: render.Active}, {Text: a.Doing, Role: render.Dim}}
		if a.Age >= time.Second {
			l = append(l, render.Span{Text: "  " + PageRunning(a.Age), Role: render.Dim})
		}
		now.list = append(now.list, l)
	}
	if extra := len(now.list) - height; extra > 0 {
		now.list = now.list[extra:]
		if now.group -= extra; now.group < 0 {
			now.group = -1
		}
	}
	return now
}

// asksFor reports whether a call waits for the human.
func (p tilePainter) asksFor(i eventtext.ActivityItem) bool {
	a := p.tile.Row
	return a.Bell && a.Doing == strings.TrimSpace(i.Tool+" "+eventtext.Relative(p.tile.Root, i.Summary))
}

// waiting describes what keeps the agent from working.
func (p tilePainter) waiting() []render.Line {
	a := p.tile.Row
	mark := render.Span{Text: p.look.Glyphs.Failed + " ", Role: a.Tone}
	text := a.State + ", " + a.Doing
	if a.Bell {
		mark.Text, text = "? ", a.State+": "+a.Doing
	}
	since := ""
	if a.Bell && a.Age >= time.Second {
		since = "  " + PageRunning(a.Age)
	}
	list := render.WrapText(a.Tone, text, max(min(p.width, render.Prose)-2-len(since), 1))
	list = list[:min(len(list), 3)]
	list[0] = append(list[0], render.Span{Text: since, Role: render.Dim})
	for i, l := range list {
		if i > 0 {
			mark.Text = "  "
		}
		list[i] = append(render.Line{mark}, l...)
	}
	return list
}

// group lays out the subagents: individually, or in one line if they are folded or there is no room.
func (p tilePainter) group(height int) []render.Line {
	a, g := p.tile.Row, p.look.Glyphs
	tokens, works := 0, 0
	for _, s := range a.Subagents {
		tokens += s.Tokens
		if s.Works {
			works++
		}
	}
	mark := g.Folded
	open := a.Open && len(a.Subagents)+1 <= height
	if open {
		mark = g.Unfolded
	}
	text := words.Count(len(a.Subagents), "subagent")
	if done := len(a.Subagents) - works; done > 0 {
		text += fmt.Sprintf(", %d done", done)
	}
	head := render.Line{{Text: mark + " ", Role: render.Active}, {Text: text, Role: render.Strong},
		{Text: "  " + words.Tokens(tokens) + " tokens", Role: render.Dim}}
	if !open {
		return []render.Line{head}
	}
	return append([]render.Line{head}, SubagentLines(p.look, a.Subagents, p.width)...)
}

func blanksTile(n int) string { return strings.Repeat(" ", max(n, 0)) }
