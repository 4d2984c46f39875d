package claude

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/driver"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// Bounds of what a turn reports about a tool that failed, in bytes.
const (
	maxAttempted = 500
	maxCommand   = 1000
	maxMessage   = 2000
)

// toolCalls are the tool calls of the current turn. The reader owns them; once it has ended,
// superviseProcess does.
type toolCalls struct {
	open   map[string]toolCall // calls without a result yet, by tool use id
	tools  int                 // of the main thread
	last   string              // tool use id of the main thread's last call
	failed *bridge.FailedTool
	files  []string
}

// toolCall is a call. The whole input is kept only for task tools: the input of other tools can have
// megabytes.
type toolCall struct {
	tool      string
	main      bool
	attempted string
	command   string
	path      string // the file that an editing tool writes
	size      int    // of the input
	input     json.RawMessage
}

func newToolCalls() *toolCalls { return &toolCalls{open: map[string]toolCall{}} }

// call records a call. Calls of our own tools are not recorded: they are not work of the agent.
func (d *toolCalls) call(b block, parent string) {
	if strings.HasPrefix(b.Name, mcpPrefix) {
		return
	}
	c := toolCall{tool: b.Name, main: parent == "", size: len(b.Input)}
	input, _ := split(b.Input) // an input that is not an object has no members
	c.attempted = attempted(input, b.Input)
	switch b.Name {
	case "Bash":
		c.command = driver.Cut(text(input, "command"), maxCommand)
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

// attempts are the members of an input that describe a call best, in order of preference.
var attempts = []string{"command", "file_path", "notebook_path", "pattern", "path", "url", "query", "description",
	"prompt", "subject"}

func attempted(input object, raw json.RawMessage) string {
	for _, name := range attempts {
		if s := text(input, name); s != "" {
			return driver.Cut(s, maxAttempted)
		}
	}
	return driver.Cut(string(raw), maxAttempted)
}

// text returns a member that is a string, and "" for others.
func text(o object, name string) string {
	s, err := jsonl.String(o[name])
	if err != nil {
		return ""
	}
	return s
}

// result records the result of a call, and returns the call.
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
			Message: driver.Cut(content, maxMessage), Denied: denied || switchedOff(content), InputSize: c.size,
			Size: len(content)}
	}
	return c, true
}

// switchedOff recognizes the answer to a call of a tool that was disabled when the session started
// (observed with CLI 2.1.329).
func switchedOff(content string) bool {
	return strings.Contains(content, "No such tool available") && strings.Contains(content, "disabled for this session")
}

// closeTurn adds the tool calls to their turn, and begins the next.
func (d *toolCalls) closeTurn(t *bridge.Turn) {
	t.Tools, t.Failed, t.Files = d.tools, d.failed, d.files
	*d = *newToolCalls()
}
