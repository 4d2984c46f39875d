package acp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/driver"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// Limits of what is kept of a call, in bytes.
const (
	maxAttempted = 300
	maxMessage   = 1 << 10
)

// call is a tool call of the running turn, as its notices and its request have described it so far.
type call struct {
	id        string
	title     string
	kind      sdk.ToolKind
	name      string // of the tool, if the make has a place for it
	mcp       bool   // the make says that it is a tool of an MCP server
	terminal  string // what a command has written, if the make says it in pieces
	input     any
	content   []sdk.ToolCallContent
	output    any
	locations []sdk.ToolCallLocation
	status    sdk.ToolCallStatus

	known    chan struct{} // closed when its input is known; nil: it is, or nobody waits for it
	reported bool          // its ToolUse was emitted
	over     bool
	denied   bool
}

// learn adds what an update says. What it leaves out stays.
func (c *call) learn(u sdk.SessionToolCallUpdate, toolMeta string) {
	if u.Title != nil {
		c.title = *u.Title
	}
	if u.Kind != nil {
		c.kind = *u.Kind
	}
	if c.mcp {
		c.kind = sdk.ToolKindOther // its request may have another
	}
	if u.Status != nil {
		c.status = *u.Status
	}
	if u.RawInput != nil && !empty(u.RawInput) {
		c.input = u.RawInput
	}
	if u.Content != nil {
		c.content = u.Content
	}
	if u.RawOutput != nil {
		c.output = u.RawOutput
	}
	if len(u.Locations) > 0 {
		c.locations = u.Locations
	}
	switch meta := u.Meta[toolMeta].(type) {
	case map[string]any:
		if name, ok := meta["toolName"].(string); ok {
			c.name = name
		}
	case bool:
		if m, ok := u.RawInput.(map[string]any); ok && meta {
			c.name, c.input = fmt.Sprintf("mcp__%v__%v", m["server"], m["tool"]), m["arguments"]
			c.mcp, c.kind = true, sdk.ToolKindOther
		}
	}
	if meta, ok := u.Meta["terminal_output_delta"].(map[string]any); ok {
		text, _ := meta["data"].(string)
		if len(c.terminal) < bridge.ToolResultCap { // it is cut when it is whole: a secret may be in two pieces
			c.terminal += text
		}
	}
	if c.known != nil && c.knowsInput() {
		close(c.known)
		c.known = nil
	}
}

func empty(input any) bool {
	m, ok := input.(map[string]any)
	return ok && len(m) == 0
}

// knowsInput reports whether enough is known to name the call.
func (c *call) knowsInput() bool { return c.input != nil || len(c.locations) > 0 || len(c.content) > 0 }

// field is a text of the input, by the first of several names.
func (c *call) field(names ...string) string {
	m, _ := c.input.(map[string]any)
	for _, name := range names {
		switch v := m[name].(type) {
		case string:
			if v != "" {
				return v
			}
		case []any: // a command as its words
			var words []string
			for _, word := range v {
				if s, ok := word.(string); ok {
					words = append(words, s)
				}
			}
			if n := len(words); n > 2 && strings.HasSuffix(words[0], "sh") && strings.HasPrefix(words[1], "-") {
				return words[n-1] // a shell with the line to run
			}
			return strings.Join(words, " ")
		}
	}
	return ""
}

// files are the files that the call is about, the one it names first.
func (c *call) files() (list []string) {
	add := func(path string) {
		if path != "" && !slices.Contains(list, path) {
			list = append(list, path)
		}
	}
	add(c.field("file_path", "filePath", "filepath", "path", "abs_path", "notebook_path"))
	for _, d := range c.diffs() {
		add(d.Path)
	}
	for _, l := range c.locations {
		add(l.Path)
	}
	return list
}

// paths are the texts in a value that may be names of files elsewhere, whatever the fields are called.
func paths(v any) (list []string) {
	switch v := v.(type) {
	case string:
		if strings.HasPrefix(v, "/") || strings.HasPrefix(v, "~") || strings.Contains(v, "..") {
			return []string{v}
		}
	case []any:
		for _, x := range v {
			list = append(list, paths(x)...)
		}
	case map[string]any:
		for _, x := range v {
			list = append(list, paths(x)...)
		}
	}
	return list
}

func (c *call) diffs() (list []*sdk.ToolCallContentDiff) {
	for _, x := range c.content {
		if x.Diff != nil {
			list = append(list, x.Diff)
		}
	}
	return list
}

// own is the name of our tool that is called; empty: it is another's. A model can choose the title of a shell command,
// so calls of a kind that does something are never ours, and neither is a title that has more than the tool's name.
func (c *call) own(names map[string]bool) string {
	if c.kind != "" && c.kind != sdk.ToolKindOther && c.kind != sdk.ToolKindThink {
		return ""
	}
	for _, text := range []string{c.name, c.title} {
		if name, ours := strings.CutSuffix(text, " ("+driver.MCPName+" MCP Server)"); ours && names[name] {
			return name
		}
		text = strings.TrimLeft(strings.TrimPrefix(text, "mcp_"), "_")
		if rest, ours := strings.CutPrefix(text, driver.MCPName); ours {
			if name := strings.TrimLeft(rest, "_-.:/ "); names[name] && name != rest {
				return name
			}
		}
	}
	return ""
}

// claude returns the call as Claude Code would make it: by that, rules and people judge it. The input of what has no
// counterpart there is its own.
func (c *call) claude(names map[string]bool) (tool string, input json.RawMessage) {
	if own := c.own(names); own == verdictTool {
		return own, encode(c.input)
	} else if own != "" {
		return "mcp__" + driver.MCPName + "__" + own, encode(c.input)
	}
	if c.name != "" && c.input != nil {
		return c.name, encode(c.input)
	}
	files, first := c.files(), ""
	if len(files) > 0 {
		first = files[0]
	}
	fields := map[string]any{}
	switch c.kind {
	case sdk.ToolKindExecute:
		tool = "Bash"
		fields["command"] = cmp.Or(c.field("command", "cmd", "script"), strings.Trim(c.title, "`"))
	case sdk.ToolKindEdit, sdk.ToolKindDelete, sdk.ToolKindMove:
		tool = "Write"
		fields["file_path"] = first
		if len(files) > 1 {
			fields["more_files"] = files[1:]
		}
		if list := c.diffs(); len(list) > 0 {
			d := list[0]
			if d.OldText != nil && *d.OldText != "" {
				tool = "Edit"
				fields["old_string"], fields["new_string"] = *d.OldText, d.NewText
			} else {
				fields["content"] = d.NewText
			}
		}
		if c.kind != sdk.ToolKindEdit {
			fields["does"] = string(c.kind)
		}
	case sdk.ToolKindRead:
		tool, fields["file_path"] = "Read", first
	case sdk.ToolKindSearch:
		tool, fields["pattern"] = "Grep", cmp.Or(c.field("pattern", "query"), c.title)
		if path := c.field("path"); path != "" {
			fields["path"] = path
		}
	case sdk.ToolKindFetch:
		tool, fields["url"] = "WebFetch", cmp.Or(c.field("url"), c.title)
	default:
		tool = cmp.Or(identifier(c.name), identifier(c.title), "Tool")
		if m, ok := c.input.(map[string]any); ok {
			return tool, encode(m)
		}
		fields["title"] = c.title
	}
	return tool, encode(fields)
}

// identifier is a title that can be the name of a tool; empty: it is prose.
func identifier(title string) string {
	if len(title) > 100 || strings.ContainsFunc(title, func(r rune) bool {
		return r != '_' && r != '-' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		return ""
	}
	return title
}

func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil || v == nil {
		return json.RawMessage("{}")
	}
	return raw
}

// text is the result of the call.
func (c *call) text() string {
	var parts []string
	for _, x := range c.content {
		if x.Content != nil && x.Content.Content.Text != nil {
			parts = append(parts, x.Content.Content.Text.Text)
		}
	}
	if len(parts) == 0 && c.terminal != "" {
		return c.terminal
	}
	if len(parts) == 0 && c.output != nil {
		if s, ok := c.output.(string); ok {
			return s
		}
		if m, ok := c.output.(map[string]any); ok {
			if s, ok := m["output"].(string); ok {
				return s
			}
		}
		parts = append(parts, string(encode(c.output)))
	}
	return strings.Join(parts, "\n")
}

// failed describes a call that failed.
func (c *call) failed(names map[string]bool) *bridge.FailedTool {
	tool, input := c.claude(names)
	text := c.text()
	f := &bridge.FailedTool{Tool: tool, Message: jsonl.Cut(text, maxMessage), Denied: c.denied, InputSize: len(input),
		Size: len(text)}
	if tool == "Bash" {
		f.Command = jsonl.Cut(cmp.Or(c.field("command", "cmd", "script"), c.title), maxAttempted)
	}
	f.Attempted = cmp.Or(f.Command, jsonl.Cut(append(c.files(), c.title)[0], maxAttempted))
	return f
}
