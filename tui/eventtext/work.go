package eventtext

import (
	"maps"
	"slices"
	"strings"

	"bytes"
	"encoding/json"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// Exit describes in a word how a tool failed: its exit code if there is one. The CLI begins the result of a
// failed command with "Exit code N" (observed with 2.1.329).
func Exit(text string) string {
	first, _, _ := strings.Cut(text[:min(len(text), 64)], "\n")
	if code, ok := strings.CutPrefix(first, "Exit code "); ok && !strings.ContainsFunc(code, unprintable) &&
		len(code) > 0 && len(code) < 6 {
		return "exit " + code
	}
	return "failed"
}

// SubagentEnd describes how a subagent ended, and reports whether it failed.
func SubagentEnd(b contract.SubagentStop) (text string, failed bool) {
	text = One(b.Status, MaxName)
	switch b.Status {
	case "", "completed", "done", "success":
		text = "done"
	case "failed", "error", "killed", "lost":
		failed = true
	}
	if b.Tokens > 0 {
		text += ", " + words.Tokens(b.Tokens) + " tokens"
	}
	return text, failed
}

// Progress is what a subagent has done so far.
func Progress(p contract.SubagentProgress) string {
	parts := []string{words.Tokens(p.Tokens) + " tokens", words.Count(p.ToolUses, "tool")}
	if last := ToolName(p.LastTool); last != "" {
		parts = append(parts, "last "+last)
	}
	return strings.Join(parts, ", ")
}

// Turn describes what a turn has used.
func Turn(b contract.Turn) string {
	var parts []string
	if b.Outcome != "" && b.Outcome != "done" {
		parts = append(parts, "turn "+One(b.Outcome, MaxName))
	} else {
		parts = append(parts, "turn")
	}
	if in := b.Usage.Input + b.Usage.CacheRead + b.Usage.CacheCreation; in > 0 || b.Usage.Output > 0 {
		parts = append(parts, words.Tokens(in)+" in", words.Tokens(b.Usage.Output)+" out")
	}
	if b.CostUSD > 0 {
		parts = append(parts, Dollars(b.CostUSD))
	}
	return strings.Join(parts, ", ")
}

// toolSummary lists the members of a tool's input that describe the call best, the most important first.
// They were observed with CLI 2.1.329.
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

// Tools returns the tools in toolSummary.
func Tools() []string { return slices.Sorted(maps.Keys(toolSummary)) }

// usual are the members that describe the input of an unknown tool best.
var usual = []string{
	"command", "file_path", "path", "pattern", "query", "url", "description", "message", "question", "prompt",
	"text", "name", "id",
}

// MaxSummary is the most runes of one member that are ever shown on one line.
const MaxSummary = 400

// Summary describes a tool's call on one line.
func Summary(tool string, input json.RawMessage) string {
	list, _ := Members(input)
	keys, known := toolSummary[strings.TrimPrefix(tool, "mcp__arbiter__")]
	var parts []string
	for _, key := range keys {
		if value, ok := Find(list, key); ok {
			if text := summaryOf(value); text != "" {
				parts = append(parts, text)
			}
		}
	}
	if known || len(list) == 0 {
		return strings.Join(parts, "  ")
	}
	for _, key := range usual {
		if value, ok := Find(list, key); ok && value[0] == '"' {
			return summaryOf(value)
		}
	}
	return brief(input, MaxSummary)
}

func summaryOf(value []byte) string {
	if value[0] == '[' {
		var items []json.RawMessage
		if len(value) < MaxFullText && json.Unmarshal(value, &items) == nil {
			return words.Count(len(items), "item")
		}
		return "many items"
	}
	text := brief(value, MaxSummary)
	if text == "null" {
		return ""
	}
	// The line end of a command must not become a blank.
	if first, rest, found := bytes.Cut(value[:min(len(value), MaxSummary)], []byte(`\n`)); found &&
		value[0] == '"' && len(rest) > 1 && len(first) > 1 {
		if line := brief(append(first[:len(first):len(first)], '"'), MaxSummary); line != "" &&
			!bytes.HasSuffix(first, []byte(`\`)) {
			return line + " …"
		}
	}
	return text
}

// Relative returns a path relative to a directory that contains it, and any other text as it is.
func Relative(root, text string) string {
	if root == "" || root == "/" || !strings.HasPrefix(text, root) {
		return text
	}
	switch rest := text[len(root):]; {
	case rest == "":
		return "."
	case rest[0] == '/' && len(rest) > 1:
		return rest[1:]
	}
	return text
}

// ToolName returns a tool's name as it is shown: without the prefix of its server.
func ToolName(tool string) string {
	name := One(tool, MaxName)
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

func unprintable(r rune) bool { return r < ' ' || r > '~' }
