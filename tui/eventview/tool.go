package eventview

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/markdown"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// toolSummary lists the members of a tool's input that tell what it is about, the first
// being what it is all about. They were observed with CLI 2.1.329.
var toolSummary = map[string][]string{
	"Bash":         {"command"},
	"BashOutput":   {"bash_id", "filter"},
	"KillShell":    {"shell_id"},
	"TaskOutput":   {"task_id"},
	"TaskStop":     {"task_id"},
	"Read":         {"file_path", "pages"},
	"Write":        {"file_path"},
	"Edit":         {"file_path"},
	"MultiEdit":    {"file_path"},
	"NotebookEdit": {"notebook_path", "edit_mode"},
	"Glob":         {"pattern", "path"},
	"Grep":         {"pattern", "path", "glob", "type"},
	"LS":           {"path"},
	"LSP":          {"operation", "filePath"},
	"WebFetch":     {"url"},
	"WebSearch":    {"query"},
	"Agent":        {"description", "subagent_type"},
	"Task":         {"description", "subagent_type"},
	"Skill":        {"skill", "args"},
	"ToolSearch":   {"query"},
	"TodoWrite":    {"todos"},
	"Check":        {"command"},

	"StructuredOutput": {"decision", "kind", "message"},

	"spawn_orchestrator":   {"mode", "successor_of", "prompt"},
	"release_orchestrator": {"id", "reason"},
	"set_plan":             {"steps"},
	"report_progress":      {"message"},
	"update_plan":          {"index", "status"},
	"ask_predecessor":      {"question"},
}

// usual are the members that tell most in the input of a tool nobody knows.
var usual = []string{
	"command", "file_path", "path", "pattern", "query", "url", "description", "message", "question", "prompt", "text", "name", "id",
}

// maxToolSummary is as much of one member as is ever shown on one line.
const maxToolSummary = 400

// gist is what a tool's call is about, on one line.
func gist(tool string, input json.RawMessage) string {
	list, _ := members(input)
	keys, known := toolSummary[strings.TrimPrefix(tool, "mcp__arbiter__")]
	var parts []string
	for _, key := range keys {
		if value, ok := find(list, key); ok {
			if text := gistOf(value); text != "" {
				parts = append(parts, text)
			}
		}
	}
	if known || len(list) == 0 {
		return strings.Join(parts, "  ")
	}
	for _, key := range usual {
		if value, ok := find(list, key); ok && value[0] == '"' {
			return gistOf(value)
		}
	}
	return brief(input, maxToolSummary)
}

func gistOf(value []byte) string {
	if value[0] == '[' {
		var items []json.RawMessage
		if len(value) < wholeBytes && json.Unmarshal(value, &items) == nil {
			return words.Count(len(items), "item")
		}
		return "many items"
	}
	text := brief(value, maxToolSummary)
	if text == "null" {
		return ""
	}
	// Two lines of a command are not one with a blank in it.
	if first, rest, found := bytes.Cut(value[:min(len(value), maxToolSummary)], []byte(`\n`)); found && value[0] == '"' && len(rest) > 1 && len(first) > 1 {
		if line := brief(append(first[:len(first):len(first)], '"'), maxToolSummary); line != "" && !bytes.HasSuffix(first, []byte(`\`)) {
			return line + " …"
		}
	}
	return text
}

// ToolName is a tool's name as it is shown: those of servers without their wrapping.
func ToolName(tool string) string {
	name := one(tool, maxName)
	if rest, ok := strings.CutPrefix(name, "mcp__arbiter__"); ok {
		return rest
	}
	if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
		if server, name, ok := strings.Cut(rest, "__"); ok && server != "" && name != "" {
			return server + ": " + name
		}
	}
	return name
}

// inputs lays out what tools are called with.
type inputs struct{ Options }

// call is a tool's call on one line of so many columns.
func (o inputs) call(tool string, input json.RawMessage, columns int) render.Line {
	name := ToolName(tool)
	l := render.Line{{Text: name, Role: render.Strong}}
	about := gist(tool, input)
	room := columns - render.Width(name) - 2
	if about == "" || room < 2 {
		return o.shorten(l, columns)
	}
	if strings.HasPrefix(about, "/") && !strings.Contains(about, " ") {
		about = o.shortenPath(about, room)
	}
	return append(l, render.Span{Text: "  " + render.Shorten(about, room, o.Look.Glyphs.Ellipsis), Role: render.Base})
}

// input shows all of a tool's input: as what it is where the tool is known, and its
// other members beside it, so that nothing of it is kept back.
func (o inputs) input(tool string, raw json.RawMessage) []render.Line {
	list, sound := members(raw)
	if !sound {
		return o.json(raw)
	}
	file := ""
	if v, ok := find(list, "file_path"); ok {
		file = o.long(v)
	}
	take := func(key string) (string, bool) {
		for i, m := range list {
			if m.key == key && m.value[0] == '"' {
				list = append(list[:i:i], list[i+1:]...)
				return o.long(m.value), true
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
			show(o.highlight(language(file), content))
		}
	case "NotebookEdit":
		if source, ok := take("new_source"); ok {
			show(o.highlight("python", source))
		}
	case "Edit":
		before, was := find(list, "old_string")
		now, is := find(list, "new_string")
		if was && is && before[0] == '"' && now[0] == '"' {
			take("old_string")
			take("new_string")
			show(o.path(file, take))
			show(o.diff(o.long(before), o.long(now), language(file)))
		}
	case "MultiEdit":
		if edits, rest, ok := o.edits(list, language(file)); ok {
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

func (o inputs) path(file string, take func(string) (string, bool)) []render.Line {
	if _, ok := take("file_path"); !ok {
		return nil
	}
	return render.Wrap(render.Of(render.CodeName, one(file, 0)), o.width())
}

// edits shows the edits of a MultiEdit, if they are what they should be.
func (o inputs) edits(list []member, lang string) (lines []render.Line, rest []member, ok bool) {
	for i, m := range list {
		if m.key != "edits" {
			continue
		}
		var edits []json.RawMessage
		if json.Unmarshal(m.value, &edits) != nil {
			return nil, nil, false
		}
		for _, raw := range edits {
			edit, sound := members(raw)
			before, was := find(edit, "old_string")
			now, is := find(edit, "new_string")
			if !sound || !was || !is || before[0] != '"' || now[0] != '"' {
				return nil, nil, false
			}
			lines = append(lines, o.diff(o.long(before), o.long(now), lang)...)
			var others []member
			for _, m := range edit {
				if m.key != "old_string" && m.key != "new_string" {
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
func (o inputs) others(list []member) []render.Line {
	var lines []render.Line
	for _, m := range list {
		text := o.long(m.value)
		key := render.Span{Text: one(m.key, maxName) + ": ", Role: render.CodeName}
		for i, line := range strings.Split(text, "\n") {
			l := render.Of(render.Base, line)
			if i == 0 {
				l = render.Line{key, {Text: line, Role: render.Base}}
			}
			lines = o.cut(lines, l)
		}
	}
	return lines
}

func (o inputs) json(raw json.RawMessage) []render.Line {
	if len(raw) == 0 {
		return nil
	}
	return o.highlight("json", o.structure(raw))
}

// highlight lays code out.
func (o Options) highlight(lang, text string) []render.Line {
	return o.code(markdown.Highlight(lang, strings.TrimSuffix(text, "\n")))
}

func (o Options) diff(before, now, lang string) []render.Line {
	const context = 3
	return markdown.Diff(before, now, lang, markdown.Options{Width: o.width(), Look: o.Look, Role: render.Base}, context)
}

// languages are those of files, by what their names end in.
var languages = map[string]string{
	"go": "go", "c": "c", "h": "c", "cc": "cpp", "cpp": "cpp", "hpp": "cpp", "cs": "csharp", "m": "c", "swift": "swift", "kt": "kotlin",
	"py": "python", "pyi": "python", "ipynb": "json", "js": "javascript", "mjs": "javascript", "cjs": "javascript", "jsx": "javascript",
	"ts": "typescript", "tsx": "typescript", "rs": "rust", "java": "java", "sh": "sh", "bash": "sh", "zsh": "sh",
	"json": "json", "jsonl": "json", "yaml": "yaml", "yml": "yaml", "toml": "toml", "sql": "sql", "html": "html", "htm": "html",
	"xml": "xml", "svg": "xml", "css": "css", "scss": "css", "diff": "diff", "patch": "diff", "md": "markdown",
	"makefile": "sh", "dockerfile": "sh", "rb": "ruby", "php": "php",
}

// language is that of a file, by its name.
func language(file string) string {
	name := strings.ToLower(file[strings.LastIndexByte(file, '/')+1:])
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		name = name[i+1:]
	}
	return languages[sanitize.Line(name, maxName)]
}
