package claude

import (
	"crypto/sha256"
	"encoding/json"
	"sync"
)

// judgedCalls are the tool calls that passed the PreToolUse hook: it alone reports the directory of the session's
// shell, and the input before the hooks of the user's settings change it (observed with CLI 2.1.329).
type judgedCalls struct {
	mu    sync.Mutex
	calls map[string]judgedCall // by tool use
}

type judgedCall struct {
	dir   string
	input [sha256.Size]byte // of the input in canonical form
}

// note records a call. Of calls that are denied nothing comes later; their entries stay until there are
// maxCallers of them.
func (j *judgedCalls) note(call, dir string, input json.RawMessage) {
	c := judgedCall{dir, canonicalSum(input)}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.calls == nil || len(j.calls) >= maxCallers {
		j.calls = map[string]judgedCall{}
	}
	j.calls[call] = c
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
	j.mu.Lock()
	c, known := j.calls[call]
	delete(j.calls, call)
	j.mu.Unlock()
	return known && c.input != canonicalSum(input)
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

// callers records which calls of our tools subagents make. An MCP request does not say which agent within
// the process has called; the frame of the same tool use does, and comes before the request (observed with
// CLI 2.1.329).
type callers struct {
	mu    sync.Mutex
	calls map[string]string // id of a call → id of the Agent call that it belongs to
}

// maxCallers bounds the entries for calls whose requests never come because they were denied.
const maxCallers = 1024

// note records a call. The reader calls it in the order of the frames.
func (c *callers) note(call, parent string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil || len(c.calls) >= maxCallers {
		c.calls = map[string]string{}
	}
	c.calls[call] = parent
}

// of returns the Agent call that a call belongs to, and forgets it; empty if the main thread made the call.
func (c *callers) of(call string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	parent := c.calls[call]
	delete(c.calls, call)
	return parent
}
