package claude

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// Bounds of what a turn reports about a tool that failed, in bytes.
const (
	maxAttempted = 500
	maxCommand   = 1000
	maxMessage   = 2000
)

// toolCalls are the tool calls of the turn under way. The reader owns them; once it has
// ended, life does.
type toolCalls struct {
	open   map[string]toolCall // whose result is to come, by tool use id
	tools  int                 // of the main thread
	last   string              // tool use id of the main thread's last call
	failed *bridge.FailedTool
	files  []string
}

// toolCall is a call. The whole input is kept of task tools alone: others have written
// files of megabytes.
type toolCall struct {
	tool      string
	main      bool
	attempted string
	command   string
	path      string // that an editing tool writes
	size      int    // of the input
	input     json.RawMessage
}

func newToolCalls() *toolCalls { return &toolCalls{open: map[string]toolCall{}} }

// call notes a call. Our own tools are no work of the agent's.
func (d *toolCalls) call(b block, parent string) {
	if strings.HasPrefix(b.Name, mcpPrefix) {
		return
	}
	c := toolCall{tool: b.Name, main: parent == "", size: len(b.Input)}
	input, _ := split(b.Input) // one that is no object has no members
	c.attempted = attempted(input, b.Input)
	switch b.Name {
	case "Bash":
		c.command = cut(text(input, "command"), maxCommand)
	case "Edit", "Write", "MultiEdit":
		c.path = text(input, "file_path")
	case "NotebookEdit":
		c.path = text(input, "notebook_path")
	}
	if isTaskTool(b.Name) {
		c.input = b.Input
	}
	d.open[b.ID] = c
	if c.main {
		d.tools++
		d.last, d.failed = b.ID, nil
	}
}

// attempts are the members of an input that say most about a call, the best first.
var attempts = []string{"command", "file_path", "notebook_path", "pattern", "path", "url", "query", "description",
	"prompt", "subject"}

func attempted(input object, raw json.RawMessage) string {
	for _, name := range attempts {
		if s := text(input, name); s != "" {
			return cut(s, maxAttempted)
		}
	}
	return cut(string(raw), maxAttempted)
}

// text is a member that is a string; others are "".
func text(o object, name string) string {
	s, err := jsonl.String(o[name])
	if err != nil {
		return ""
	}
	return s
}

// result notes what a call came to, and returns the call.
func (d *toolCalls) result(b block, content string, denied bool) (c toolCall, known bool) {
	c, known = d.open[b.ToolUseID]
	if !known {
		return c, false
	}
	delete(d.open, b.ToolUseID)
	switch {
	case !b.IsError && c.path != "":
		if len(d.files) < bridge.TurnFiles && !slices.Contains(d.files, c.path) {
			d.files = append(d.files, c.path)
		}
	case b.IsError && c.main && b.ToolUseID == d.last:
		d.failed = &bridge.FailedTool{Tool: c.tool, Attempted: c.attempted, Command: c.command,
			Message: cut(content, maxMessage), Denied: denied || switchedOff(content), InputSize: c.size,
			Size: len(content)}
	}
	return c, true
}

// switchedOff knows the answer to a call of a tool that the session was started
// without (observed with CLI 2.1.329).
func switchedOff(content string) bool {
	return strings.Contains(content, "No such tool available") && strings.Contains(content, "disabled for this session")
}

// settle tells a turn what was done in it, and begins the next.
func (d *toolCalls) settle(t *bridge.Turn) {
	t.Tools, t.Failed, t.Files = d.tools, d.failed, d.files
	*d = *newToolCalls()
}
