package eventtext

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
	"github.com/arbiter-cli/arbiter/tui/history"
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
	return text + After(", ", TokenCount(b.Tokens)), failed
}

// TokenCount is a number of tokens; empty: it is not known.
func TokenCount(n int) string {
	if n <= 0 {
		return ""
	}
	return words.Tokens(n) + " tokens"
}

// Progress is what a subagent has done so far.
func Progress(p contract.SubagentProgress) string {
	text := words.Count(p.ToolUses, "tool") + After(", last ", ToolName(p.LastTool))
	if tokens := TokenCount(p.Tokens); tokens != "" {
		text = tokens + ", " + text
	}
	return text
}

// Turn describes what a turn has used.
func Turn(b contract.Turn) string {
	parts := []string{"turn"}
	if b.Outcome != "done" {
		parts[0] += After(" ", One(b.Outcome, MaxName))
	}
	if in := b.Usage.Input + b.Usage.CacheRead + b.Usage.CacheCreation; in > 0 || b.Usage.Output > 0 {
		parts = append(parts, words.Tokens(in)+" in", words.Tokens(b.Usage.Output)+" out")
	}
	switch {
	case b.Unknown:
		parts = append(parts, "cost unknown")
	case b.CostUSD > 0:
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
	return brief(input)
}

func summaryOf(value []byte) string {
	if value[0] == '[' {
		var items []json.RawMessage
		if len(value) < MaxFullText && json.Unmarshal(value, &items) == nil {
			return words.Count(len(items), "item")
		}
		return "many items"
	}
	text := brief(value)
	if text == "null" {
		return ""
	}
	// The line end of a command must not become a blank.
	if first, rest, found := bytes.Cut(value[:min(len(value), MaxSummary)], []byte(`\n`)); found &&
		value[0] == '"' && len(rest) > 1 && len(first) > 1 {
		if line := brief(append(first[:len(first):len(first)], '"')); line != "" &&
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

// Within returns a text with the paths in a directory relative to it.
func Within(root, text string) string {
	if root == "" || root == "/" {
		return text
	}
	return strings.ReplaceAll(text, root+"/", "")
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

// edited are the texts of a call of an editing tool.
type edited struct {
	Content string   `json:"content"`
	Old     string   `json:"old_string"`
	New     string   `json:"new_string"`
	Edits   []edited `json:"edits"`
}

// EditedLines counts the lines that a call of an editing tool adds to a file and removes from it; 0 and 0 for other
// tools. A Write counts as if the file had been empty.
func EditedLines(tool string, input json.RawMessage) (added, removed int) {
	var in edited
	switch tool {
	case "Write", "Edit", "MultiEdit":
		if json.Unmarshal(input, &in) != nil {
			return 0, 0
		}
	}
	switch tool {
	case "Write":
		return len(splitLines(strings.TrimSuffix(in.Content, "\n"))), 0
	case "Edit":
		in.Edits = []edited{in}
	}
	for _, e := range in.Edits { // the equal lines at the beginning and end do not count
		a, b := splitLines(e.Old), splitLines(e.New)
		for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
			a, b = a[1:], b[1:]
		}
		for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
			a, b = a[:len(a)-1], b[:len(b)-1]
		}
		added, removed = added+len(b), removed+len(a)
	}
	return added, removed
}

func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// Member is one of the top-level members of a tool's input. Value is JSON.
type Member = jsonl.Member

// maxMembers is the most members of an input that are shown separately. No tool has so many; an input with
// more is shown as it is.
const maxMembers = 64

// Members splits an input into its members. sound is false if it is not an object, has too many members, or
// has one of them twice, so that it is undetermined which of the two the tool uses.
func Members(raw []byte) (list []Member, sound bool) {
	list, err := jsonl.Members(raw)
	if err != nil || len(list) > maxMembers {
		return nil, false
	}
	seen := map[string]bool{}
	for _, m := range list {
		if seen[m.Key] {
			return nil, false
		}
		seen[m.Key] = true
	}
	return list, true
}

// Find returns the value of a member.
func Find(list []Member, key string) ([]byte, bool) {
	for _, m := range list {
		if m.Key == key {
			return m.Value, true
		}
	}
	return nil, false
}

// long returns a value as text: a string's content, and the JSON of any other value.
func long(value []byte) string {
	if len(value) > 0 && value[0] == '"' {
		return sanitize.Text(history.PartialString(value))
	}
	return sanitize.Text(strings.ToValidUTF8(string(value), "\uFFFD"))
}

// Value returns a value as text, over several lines if it has parts. If only some lines are wanted (0:
// all), little more is decoded.
func Value(value []byte, lines int) string {
	switch {
	case len(value) == 0:
		return ""
	case value[0] != '"':
		return Structure(value, lines)
	case lines == 0:
		return long(value)
	}
	return Beginning(long(value[:min(len(value), 4*MaxFullText)]), lines)
}

// Structure returns the JSON of an object or a list in the same way.
func Structure(raw []byte, lines int) string {
	if lines > 0 && len(raw) > 4*MaxFullText {
		return Beginning(long(raw[:4*MaxFullText]), lines)
	}
	return pretty(raw)
}

// brief returns a value on one line, with at most MaxSummary characters. It decodes only as much as it needs.
func brief(value []byte) string {
	const most = len(`\ud83d\ude00`) * (MaxSummary + 2) // each character as JSON may write it
	return One(long(value[:min(len(value), most)]), MaxSummary)
}

// Concealed reports whether an input contains characters that cannot be shown, so that what is shown
// differs from the input.
func Concealed(raw json.RawMessage) bool {
	list, sound := Members(raw)
	if !sound {
		return changed(string(raw))
	}
	for _, m := range list {
		text := string(m.Value) // escapes outside of top-level strings are shown as they are
		if m.Value[0] == '"' && json.Unmarshal(m.Value, &text) != nil {
			return true
		}
		if changed(m.Key) || changed(text) {
			return true
		}
	}
	return false
}

func changed(text string) bool {
	return sanitize.Text(text) != strings.ReplaceAll(text, "\r\n", "\n")
}

// Unseen is shown with an input that contains characters that cannot be shown.
const Unseen = "It contains characters that cannot be shown; they are left out here."

// maxNesting is how deep JSON is indented. Every level takes room in every line.
const maxNesting = 32

func nesting(raw []byte) int {
	depth, deepest, text := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{', c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}', c == ']':
			depth--
		}
	}
	return deepest
}

// pretty returns JSON over several lines; what is not JSON, or too deep, is returned as it is.
func pretty(raw []byte) string {
	var b bytes.Buffer
	if nesting(raw) > maxNesting || json.Indent(&b, raw, "", "  ") != nil {
		return sanitize.Text(strings.ToValidUTF8(string(raw), "\uFFFD"))
	}
	return sanitize.Text(b.String())
}

// Beginning returns about as much of a long text as some lines show: whole lines if they are not too long.
func Beginning(text string, lines int) string {
	end := min(len(text), MaxFullText)
	for i := 0; i < end; i++ {
		if text[i] != '\n' {
			continue
		}
		if lines--; lines == 0 {
			return text[:i]
		}
	}
	if i := strings.LastIndexByte(text[:end], '\n'); i > 0 && end < len(text) {
		return text[:i]
	}
	for end > 0 && end < len(text) && text[end]&0xc0 == 0x80 {
		end--
	}
	return text[:end]
}

// MaxFullText is the length up to which a text is laid out completely only to count exactly how many lines
// are folded. For a longer text, its own lines are counted.
const MaxFullText = 8 << 10
