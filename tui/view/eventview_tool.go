package view

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/history"
	"github.com/arbiter-cli/arbiter/tui/render"
)

func (o EventOptions) call(tool string, input json.RawMessage, columns int) render.Line {
	name := eventtext.ToolName(tool)
	l := render.Line{{Text: name, Role: render.Strong}}
	about := eventtext.Relative(o.root, eventtext.Summary(tool, input))
	space := columns - render.Width(name) - 2
	if about == "" || space < 2 {
		return o.shorten(l, columns)
	}
	if strings.HasPrefix(about, "/") && !strings.Contains(about, " ") {
		about = shortenLeft(about, space, o.Look.Glyphs.Ellipsis) // the name of a file says the most
	}
	return append(l, render.Span{Text: "  " + render.Shorten(about, space, o.Look.Glyphs.Ellipsis), Role: render.Base})
}

// input shows all of a tool's input: in the form of the tool if it is known, and its other members after
// that, so that nothing is hidden.
func (o EventOptions) input(tool string, raw json.RawMessage) []render.Line {
	list, sound := eventtext.Members(raw)
	if !sound {
		return o.json(raw)
	}
	file := ""
	if v, ok := eventtext.Find(list, "file_path"); ok {
		file = o.value(v)
	}
	take := func(key string) (string, bool) {
		value, ok := eventtext.Find(list, key)
		if !ok || value[0] != '"' {
			return "", false
		}
		list = without(list, key)
		return o.value(value), true
	}
	var lines []render.Line
	show := func(more []render.Line) { lines = append(lines, more...) }
	switch tool {
	case "Bash", "Check":
		if command, ok := take("command"); ok {
			show(o.highlight("sh", command))
		}
	case "Write":
		if content, ok := take("content"); ok {
			show(o.path(file, take))
			show(o.highlight(EventLanguage(file), content))
		}
	case "NotebookEdit":
		if source, ok := take("new_source"); ok {
			show(o.highlight("python", source))
		}
	case "Edit":
		if edit, rest, ok := o.edit(list, EventLanguage(file)); ok {
			list = rest
			show(o.path(file, take))
			show(edit)
		}
	case "MultiEdit":
		if edits, rest, ok := o.edits(list, EventLanguage(file)); ok {
			list = rest
			show(o.path(file, take))
			show(edits)
		}
	case "Agent", "Task":
		if prompt, ok := take("prompt"); ok {
			show(o.markdown(render.Base, prompt))
		}
	default:
		return o.json(raw)
	}
	return append(lines, o.others(list)...)
}

func (o EventOptions) path(file string, take func(string) (string, bool)) []render.Line {
	if _, ok := take("file_path"); !ok {
		return nil
	}
	return render.Wrap(render.Of(render.CodeName, eventtext.One(file, 0)), o.width())
}

// without returns the members that have none of some keys.
func without(list []eventtext.Member, keys ...string) []eventtext.Member {
	return slices.DeleteFunc(slices.Clone(list), func(m eventtext.Member) bool { return slices.Contains(keys, m.Key) })
}

// edit shows an edit, if it has the expected form, and returns its other members.
func (o EventOptions) edit(list []eventtext.Member, lang string) (
	lines []render.Line, rest []eventtext.Member, ok bool) {
	before, was := eventtext.Find(list, "old_string")
	now, is := eventtext.Find(list, "new_string")
	if !was || !is || before[0] != '"' || now[0] != '"' {
		return nil, nil, false
	}
	options := render.MarkdownOptions{Width: o.width(), Look: o.Look, Role: render.Base}
	lines = render.Diff(o.value(before), o.value(now), lang, options)
	return lines, without(list, "old_string", "new_string"), true
}

// edits shows the edits of a MultiEdit, if they have the expected form, and returns its other members.
func (o EventOptions) edits(list []eventtext.Member, lang string) (
	lines []render.Line, rest []eventtext.Member, ok bool) {
	value, ok := eventtext.Find(list, "edits")
	var edits []json.RawMessage
	if !ok || json.Unmarshal(value, &edits) != nil {
		return nil, nil, false
	}
	for _, raw := range edits {
		members, sound := eventtext.Members(raw)
		edit, others, ok := o.edit(members, lang)
		if !sound || !ok {
			return nil, nil, false
		}
		lines = append(append(lines, edit...), o.others(others)...)
	}
	return lines, without(list, "edits"), true
}

func (o EventOptions) others(list []eventtext.Member) []render.Line {
	var lines []render.Line
	for _, m := range list {
		text := o.value(m.Value)
		key := render.Span{Text: eventtext.One(m.Key, eventtext.MaxName) + ": ", Role: render.CodeName}
		for i, line := range strings.Split(text, "\n") {
			l := render.Of(render.Base, line)
			if i == 0 {
				l = render.Line{key, {Text: line, Role: render.Base}}
			}
			lines = append(lines, o.code(l)...)
		}
	}
	return lines
}

func (o EventOptions) json(raw json.RawMessage) []render.Line {
	if len(raw) == 0 {
		return nil
	}
	return o.highlight("json", eventtext.Structure(raw, o.most))
}

func (o EventOptions) highlight(lang, text string) []render.Line {
	return o.code(render.Highlight(lang, strings.TrimSuffix(text, "\n"))...)
}

// EventLanguage returns the end of a file's name, which package markdown knows as a language.
func EventLanguage(file string) string {
	name := strings.ToLower(file[strings.LastIndexByte(file, '/')+1:])
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		name = name[i+1:]
	}
	return sanitize.Line(name, eventtext.MaxName)
}

// value returns a value as text, with at most the wanted lines.
func (o EventOptions) value(raw []byte) string { return eventtext.Value(raw, o.most) }

func (o EventOptions) under(e contract.Event, subagent string) Block {
	c := begin(e.ID)
	c.Indent = o.depth(subagent)
	return c
}

// toolUse is the card of a tool's call on one line, and the result.
func (o EventOptions) toolUse(e history.Entry, b contract.ToolUse) Block {
	c := o.under(e.Event, b.Subagent)
	o = o.inside(c.Indent)
	g := o.Look.Glyphs
	result, over := e.Outcome.(contract.ToolResult)
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
	} else if e.Cut {
		mark, tail = cutOff(g)
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
	c.Lines = o.behind(mark, []render.Line{o.call(b.Tool, b.Input, free).Apart(tail, space)})
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

// cutOff is the mark of a call whose process, or turn, ended before it did, and the word for that.
func cutOff(g *render.Glyphs) (mark render.Span, tail render.Line) {
	return render.Span{Text: g.Skipped, Role: render.Warn}, render.Of(render.Warn, "cut off")
}

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
func (o EventOptions) subagent(e history.Entry, b contract.SubagentStart) Block {
	c := o.under(e.Event, b.ToolUse)
	o = o.inside(c.Indent)
	g := o.Look.Glyphs
	mark, text, role := render.Span{Text: g.Current, Role: render.Active}, "at work", render.Dim
	if e.Progress != nil {
		text = eventtext.Progress(*e.Progress)
	}
	if stop, ok := e.Outcome.(contract.SubagentStop); ok {
		mark = render.Span{Text: g.Done, Role: render.Dim}
		var failed bool
		if text, failed = eventtext.SubagentEnd(stop); failed {
			role, mark = render.Bad, render.Span{Text: g.Failed, Role: render.Bad}
		}
		if e.Progress != nil && e.Progress.ToolUses > 0 {
			text += ", " + words.Count(e.Progress.ToolUses, "tool")
		}
	}
	if e.Cut {
		var tail render.Line
		mark, tail = cutOff(g)
		text, role = tail.Text(), tail[0].Role
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

func (o EventOptions) rule(word string) render.Line {
	width, bar, right := o.width(), o.Look.Glyphs.Horizontal, o.width()-render.Width(word)-6
	switch {
	case word == "":
		return render.Of(render.Frame, strings.Repeat(bar, width))
	case right < 2:
		return o.shorten(render.Of(render.Dim, word), width)
	}
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

// Action lays out what a tool is asked to do, complete and exact, for a person who must decide whether to
// allow it.
func Action(tool string, input json.RawMessage, o EventOptions) []render.Line {
	lines := o.input(tool, input)
	if eventtext.Concealed(input) {
		lines = append(lines, o.sentence(render.Warn, o.Look.Glyphs.Failed, eventtext.Unseen)...)
	}
	for i, l := range lines {
		lines[i] = l.Shorten(o.width(), "")
	}
	return lines
}

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
	event := ""
	if e.Event.Body != nil {
		event = eventtext.One(e.Event.Body.EventName(), eventtext.MaxName)
	}
	who := o.name(e.Event.ID)
	text := eventtext.One(o.priced(e.Event.Body, eventtext.Line(e.Event, o.Name)), eventtext.MaxSummary)
	if o.Root != nil {
		text = eventtext.Within(o.Root(e.Event.ID), text)
	}
	l := render.Line{}
	if width >= 20 {
		l = append(l, render.Span{Text: eventtext.Clock(e.At, o.Now, "15:04:05") + " ", Role: render.Dim})
	}
	role := logRole(e.Event.Body)
	if width >= 40 {
		l = append(l, render.Span{Text: padPage(who, logName, ellipsis) + " ", Role: render.Speaker(e.Event.ID)})
		text = strings.TrimPrefix(text, who+" ") // it is in this column
	}
	if width >= 70 {
		l = append(l, render.Span{Text: padPage(event, logEvent, ellipsis) + " ", Role: render.Dim})
	}
	if text == "" {
		text = event
	}
	l = append(l, render.Span{Text: text, Role: role})
	return o.shorten(l, width)
}

// proofRoles are the roles of results; others are not highlighted.
var proofRoles = map[string]render.Role{verdict.CheckPassed: render.Good, verdict.CheckFailed: render.Bad}

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
		return proofRoles[b.Status]
	case contract.Check:
		return proofRoles[b.Receipt.Result]
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
		contract.Accepted, contract.Settled, contract.Turn:
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
		lines = o.highlight("json", strings.ToValidUTF8(text[:most], ""))
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
