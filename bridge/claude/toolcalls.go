package claude

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
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
	if b.Name == "Bash" {
		c.command = jsonl.Cut(text(input, "command"), maxCommand)
	}
	if bridge.IsEditor(b.Name) {
		c.path = cmp.Or(text(input, "file_path"), text(input, "notebook_path"))
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
			return jsonl.Cut(s, maxAttempted)
		}
	}
	return jsonl.Cut(string(raw), maxAttempted)
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
			Message: jsonl.Cut(content, maxMessage), Denied: denied || switchedOff(content), InputSize: c.size,
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

// judgedCalls are the tool calls that passed the PreToolUse hook: it alone reports the directory of the session's
// shell, and the input before the hooks of the user's settings change it (observed with CLI 2.1.329).
type judgedCalls struct{ recentCalls[judgedCall] }

type judgedCall struct {
	dir   string
	input [sha256.Size]byte // of the input in canonical form
}

func (j *judgedCalls) note(call, dir string, input json.RawMessage) {
	j.recentCalls.note(call, judgedCall{dir, canonicalSum(input)})
}

// directory returns the directory of a call; empty if it is not known.
func (j *judgedCalls) directory(call string) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.calls[call].dir
}

// ran reports whether a call, which is over now, ran with another input than the one that was judged, and
// forgets the call.
func (j *judgedCalls) ran(call string, input json.RawMessage) (changed bool) {
	c := j.of(call)
	return c != judgedCall{} && c.input != canonicalSum(input)
}

// canonicalSum is the hash of a JSON value without regard to spaces and the order of members.
func canonicalSum(raw json.RawMessage) [sha256.Size]byte {
	var v any
	if json.Unmarshal(raw, &v) == nil {
		if canonical, err := json.Marshal(v); err == nil {
			raw = canonical
		}
	}
	return sha256.Sum256(raw)
}

// callers are the Agent calls that calls of our tools belong to, where subagents make them. An MCP request does not say
// which agent within the process has called; the frame of the same tool use does, and comes before the request
// (observed with CLI 2.1.329).
type callers = recentCalls[string]

// recentCalls records something about tool calls, by their ids. Of calls that are denied nothing comes later; their
// entries stay until there are maxCallers of them.
type recentCalls[V any] struct {
	mu    sync.Mutex
	calls map[string]V
}

const maxCallers = 1024

func (c *recentCalls[V]) note(call string, what V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil || len(c.calls) >= maxCallers {
		c.calls = map[string]V{}
	}
	c.calls[call] = what
}

// of returns what is recorded about a call, and forgets it.
func (c *recentCalls[V]) of(call string) V {
	c.mu.Lock()
	defer c.mu.Unlock()
	what := c.calls[call]
	delete(c.calls, call)
	return what
}

// files are the directories where a CLI with its environment writes.
type files struct {
	config string   // for its configuration and sessions
	temps  []string // where the outputs of running tools may be
}

// filesOf returns the directories. Running tools write into <temp>/claude-<uid>/<project>/<session>/tasks,
// also in the foreground; CLAUDE_CODE_TMPDIR takes precedence over TMPDIR (observed with CLI 2.1.329). All
// candidates are searched, because the precedence has changed before.
func filesOf(env []string, cwd string) files {
	f := files{config: proctree.ConfigDir(env, cwd)}
	for _, dir := range []string{
		proctree.EnvLookup(env, "CLAUDE_CODE_TMPDIR"), proctree.EnvLookup(env, "TMPDIR"), "/tmp",
	} {
		if filepath.IsAbs(dir) {
			f.temps = append(f.temps, filepath.Join(dir, fmt.Sprintf("claude-%d", os.Getuid())))
		}
	}
	return f
}

// outputs adds up the sizes of what a session's tools wrote, and names the largest file. beside is the
// directory next to the transcript, where the CLI puts results that are too large for it; "" if there is
// none.
func (f files) outputs(session, beside string) (total int64, largest string) {
	var most int64
	add := func(dir string, counts func(name string) bool) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return
		}
		for _, e := range entries {
			// A symbolic link is not an output: a subagent's leads to its transcript.
			info, err := e.Info()
			if err != nil || !info.Mode().IsRegular() || !counts(e.Name()) {
				continue
			}
			total += info.Size()
			if info.Size() > most {
				most, largest = info.Size(), filepath.Join(dir, e.Name())
			}
		}
	}
	seen := map[string]bool{}
	for _, temp := range f.temps {
		projects, err := os.ReadDir(temp)
		if err != nil || seen[temp] {
			continue
		}
		seen[temp] = true
		for _, project := range projects {
			add(filepath.Join(temp, project.Name(), session, "tasks"), func(name string) bool {
				return strings.HasSuffix(name, ".output")
			})
		}
	}
	if beside != "" {
		add(filepath.Join(beside, "tool-results"), func(string) bool { return true })
	}
	return total, largest
}
