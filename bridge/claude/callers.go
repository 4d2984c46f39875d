package claude

import "sync"

// callDirectories records the directory that the session's shell was in at each tool call. The PreToolUse
// hook reports it; the can_use_tool that follows does not (observed with CLI 2.1.329).
type callDirectories struct {
	mu   sync.Mutex
	dirs map[string]string // by tool use
}

// note records the directory of a call. The CLI never asks about some calls; their entries stay until there
// are maxCallers of them.
func (d *callDirectories) note(call, dir string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dirs == nil || len(d.dirs) >= maxCallers {
		d.dirs = map[string]string{}
	}
	d.dirs[call] = dir
}

// of returns the directory of a call, and forgets it; empty if it is not known.
func (d *callDirectories) of(call string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir := d.dirs[call]
	delete(d.dirs, call)
	return dir
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
