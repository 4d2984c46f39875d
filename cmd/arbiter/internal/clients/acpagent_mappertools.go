package clients

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

const (
	maxResult = 64 << 10 // runes of a shown result
	ownTools  = "mcp__arbiter__"
)

// acpCall is a running tool call.
type acpCall struct {
	agent   string
	session string
	tool    string
	input   json.RawMessage
	diff    bool
}

// toolInput has the members of tool inputs that a client is shown separately.
type toolInput struct {
	Command      string  `json:"command"`
	FilePath     string  `json:"file_path"`
	NotebookPath string  `json:"notebook_path"`
	Path         string  `json:"path"`
	Pattern      string  `json:"pattern"`
	URL          string  `json:"url"`
	Query        string  `json:"query"`
	Description  string  `json:"description"`
	OldString    string  `json:"old_string"`
	NewString    *string `json:"new_string"`
	Content      *string `json:"content"`
	Offset       int     `json:"offset"`
}

// kindOf returns the protocol's kind of a tool.
func kindOf(tool string) string {
	switch tool {
	case "Bash", "BashOutput", "KillShell", "Monitor", "PowerShell":
		return "execute"
	case "Read", "NotebookRead", "LSP":
		return "read"
	case "Edit", "MultiEdit", "Write", "NotebookEdit":
		return "edit"
	case "Grep", "Glob", "LS", "ToolSearch":
		return "search"
	case "WebFetch", "WebSearch":
		return "fetch"
	case "Task", "Agent", "TodoWrite", "TaskCreate", "TaskUpdate", "Skill":
		return "think"
	}
	return "other"
}

// describe returns a tool call in the form in which the client is shown it.
func (m *mapper) describe(agent, tool string, input json.RawMessage) toolCall {
	var in toolInput
	_ = json.Unmarshal(input, &in) // input that cannot be parsed is shown unchanged
	subject := cmp.Or(in.Command, in.FilePath, in.NotebookPath, in.Pattern, in.Path, in.URL, in.Query, in.Description)
	title := tool
	if subject != "" {
		title += ": " + subject
	}
	t := toolCall{Title: sanitize.Line(title, maxTitle), Name: tool, Kind: kindOf(tool)}
	if isObject(input) {
		t.RawInput = input
	}
	path := cmp.Or(in.FilePath, in.NotebookPath, in.Path)
	if path == "" {
		return t
	}
	if !filepath.IsAbs(path) {
		dir := m.dir
		if a := m.agents[agent]; a != nil {
			dir = cmp.Or(a.dir, dir)
		}
		path = filepath.Join(dir, path)
	}
	if !filepath.IsAbs(path) {
		return t
	}
	path = sanitize.Line(path, 0)
	t.Locations = []location{{Path: path, Line: max(in.Offset, 0)}}
	diff := toolContent{Type: "diff", Path: path}
	switch {
	case tool == "Edit" && in.NewString != nil:
		before, after := sanitize.Text(in.OldString), sanitize.Text(*in.NewString)
		diff.OldText, diff.NewText = &before, &after
	case tool == "Write" && in.Content != nil:
		after := sanitize.Text(*in.Content)
		diff.NewText = &after
	default:
		return t
	}
	t.Content = []toolContent{diff}
	return t
}

// toolUse shows a call. Calls of Arbiter's own tools are not shown: their effects are.
func (m *mapper) toolUse(id string, b contract.ToolUse) []frame {
	if strings.HasPrefix(b.Tool, ownTools) || b.Tool == "StructuredOutput" {
		return nil
	}
	session, prefix := m.home(id)
	t := m.describe(id, b.Tool, b.Input)
	t.Update, t.ToolCallID, t.Status = toolStarted, b.ToolUse, inProgress
	if t.ToolCallID == "" {
		t.ToolCallID = m.newID("call")
	}
	if b.Subagent != "" {
		prefix += "(subagent) "
	}
	t.Title = sanitize.Line(prefix+t.Title, maxTitle)
	m.calls[t.ToolCallID] = acpCall{id, session, b.Tool, slices.Clone(b.Input), len(t.Content) > 0}
	return m.on(session, t)
}

// toolResult ends a call. The diff of a file change stays visible.
func (m *mapper) toolResult(b contract.ToolResult) []frame {
	c, ok := m.calls[b.ToolUse]
	if !ok {
		return nil
	}
	delete(m.calls, b.ToolUse)
	t := toolCall{Update: toolChanged, ToolCallID: b.ToolUse, Status: completed}
	if b.IsError {
		t.Status = failed
	}
	text := strings.TrimSpace(bound(b.Text, maxResult))
	switch {
	case text == "" || c.diff && !b.IsError:
	case kindOf(c.tool) == "execute" || kindOf(c.tool) == "read" || kindOf(c.tool) == "search":
		t.Content = []toolContent{textContent(words.Fenced(text))}
	default:
		t.Content = []toolContent{textContent(text)}
	}
	return m.on(c.session, t)
}

// permissionRequest shows that a call waits for the human. The request does not name its call: it is the call of
// the same agent with the same input. If there is no such call, the request is shown as a call of its own.
func (m *mapper) permissionRequest(id string, b contract.PermissionRequest) []frame {
	if _, again := m.asked[b.Request]; again {
		return nil // the run was resumed
	}
	session, prefix := m.home(id)
	t := m.describe(id, b.Tool, b.Input)
	t.Title, t.Status = sanitize.Line(prefix+t.Title, maxTitle), pending
	for callID, c := range m.calls {
		if c.agent == id && c.tool == b.Tool && sameJSON(c.input, b.Input) && !m.isAsked(callID) {
			t.ToolCallID = cmp.Or(min(t.ToolCallID, callID), callID)
		}
	}
	for _, about := range []string{b.Reason, eventtext.PlaceOf(b.Place), eventtext.DeniedAt(b.Deadline)} {
		if about != "" {
			t.Content = append(t.Content, textContent(bound(about, maxTitle)))
		}
	}
	frames := m.childState(id, childState{State: "requires_action"})
	if t.ToolCallID != "" {
		m.asked[b.Request] = t
		return append(frames, frame{session, toolCall{Update: toolChanged, ToolCallID: t.ToolCallID, Status: pending}})
	}
	t.ToolCallID = b.Request
	m.asked[b.Request] = t
	t.Update = toolStarted
	return append(frames, frame{session, t})
}

func (m *mapper) isAsked(callID string) bool {
	for _, t := range m.asked {
		if t.ToolCallID == callID {
			return true
		}
	}
	return false
}

// permission shows how a request was decided. A decision without a human is shown with its call.
func (m *mapper) permission(id string, b contract.Permission) []frame {
	t, ok := m.asked[b.Request]
	if !ok {
		return nil
	}
	delete(m.asked, b.Request)
	session, _ := m.home(id)
	u := toolCall{Update: toolChanged, ToolCallID: t.ToolCallID, Status: inProgress}
	own := t.ToolCallID == b.Request
	switch {
	case b.Behavior == bridge.Deny:
		u.Status = failed
	case own:
		u.Status = completed
	}
	frames := m.on(session, u)
	if a := m.agents[id]; a != nil && a.state.State == "requires_action" { // otherwise its turn is over
		frames = append(m.childState(id, childState{State: "running"}), frames...)
	}
	return frames
}

// closeCalls ends the calls of an ended agent, or of all agents if agent is empty: they get no result any more.
func (m *mapper) closeCalls(agent string) []frame {
	var frames []frame
	for _, id := range sortedKeys(m.calls) {
		c := m.calls[id]
		if agent == "" || c.agent == agent {
			delete(m.calls, id)
			frames = append(frames, frame{c.session, toolCall{Update: toolChanged, ToolCallID: id, Status: failed}})
		}
	}
	return frames
}

func textContent(text string) toolContent {
	t := textOf(text)
	return toolContent{Type: "content", Content: &t}
}

func isObject(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '{' && json.Valid(raw)
}

// sameJSON compares two inputs by value, regardless of formatting.
func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
