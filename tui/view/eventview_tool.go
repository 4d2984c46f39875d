package view

import (
	"encoding/json"
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/markdown"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// call lays out a tool's call on one line of so many columns.
func (o EventOptions) call(tool string, input json.RawMessage, columns int) render.Line {
	name := eventtext.ToolName(tool)
	l := render.Line{{Text: name, Role: render.Strong}}
	about := eventtext.Relative(o.root, eventtext.Summary(tool, input))
	space := columns - render.Width(name) - 2
	if about == "" || space < 2 {
		return o.shorten(l, columns)
	}
	if strings.HasPrefix(about, "/") && !strings.Contains(about, " ") {
		about = o.shortenPath(about, space)
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
		for i, m := range list {
			if m.Key == key && m.Value[0] == '"' {
				list = append(list[:i:i], list[i+1:]...)
				return o.value(m.Value), true
			}
		}
		return "", false
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
		before, was := eventtext.Find(list, "old_string")
		now, is := eventtext.Find(list, "new_string")
		if was && is && before[0] == '"' && now[0] == '"' {
			take("old_string")
			take("new_string")
			show(o.path(file, take))
			show(o.diff(o.value(before), o.value(now), EventLanguage(file)))
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

// edits shows the edits of a MultiEdit, if they have the expected form.
func (o EventOptions) edits(list []eventtext.Member, lang string) (lines []render.Line, rest []eventtext.Member, ok bool) {
	for i, m := range list {
		if m.Key != "edits" {
			continue
		}
		var edits []json.RawMessage
		if json.Unmarshal(m.Value, &edits) != nil {
			return nil, nil, false
		}
		for _, raw := range edits {
			edit, sound := eventtext.Members(raw)
			before, was := eventtext.Find(edit, "old_string")
			now, is := eventtext.Find(edit, "new_string")
			if !sound || !was || !is || before[0] != '"' || now[0] != '"' {
				return nil, nil, false
			}
			lines = append(lines, o.diff(o.value(before), o.value(now), lang)...)
			var others []eventtext.Member
			for _, m := range edit {
				if m.Key != "old_string" && m.Key != "new_string" {
					others = append(others, m)
				}
			}
			lines = append(lines, o.others(others)...)
		}
		return lines, append(list[:i:i], list[i+1:]...), true
	}
	return nil, nil, false
}

// others shows members one below the other.
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

// highlight lays code out.
func (o EventOptions) highlight(lang, text string) []render.Line {
	return o.code(markdown.Highlight(lang, strings.TrimSuffix(text, "\n"))...)
}

func (o EventOptions) diff(before, now, lang string) []render.Line {
	const context = 3
	return markdown.Diff(before, now, lang, markdown.Options{Width: o.width(), Look: o.Look, Role: render.Base},
		context)
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
