package claude

import "sync"

// callDirectories knows the directory that the session's shell was in at each tool call. The
// PreToolUse hook says it, and can_use_tool, which follows, does not (observed with CLI 2.1.329).
type callDirectories struct {
	mu   sync.Mutex
	dirs map[string]string // by tool use
}

// note keeps the directory of a call. Of calls that the CLI never asks about it stays until
// there are maxCallers of them.
func (d *callDirectories) note(call, dir string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dirs == nil || len(d.dirs) >= maxCallers {
		d.dirs = map[string]string{}
	}
	d.dirs[call] = dir
}

// of returns the directory of a call, empty if it is not known.
func (d *callDirectories) of(call string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir := d.dirs[call]
	delete(d.dirs, call)
	return dir
}

// callers knows which calls of our tools subagents make. An MCP request does not say who
// within the process has called; the frame of the same tool use does, and comes before it
// (observed with CLI 2.1.329).
type callers struct {
	mu    sync.Mutex
	calls map[string]string // tool use of a call: that of the Agent call it belongs to
}

// maxCallers bounds the calls whose requests never come: those that were denied.
const maxCallers = 1024

// note is called by the reader, in the order of the frames.
func (c *callers) note(call, parent string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil || len(c.calls) >= maxCallers {
		c.calls = map[string]string{}
	}
	c.calls[call] = parent
}

// of returns the Agent call that a call belongs to, empty: it is the main thread's.
func (c *callers) of(call string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	parent := c.calls[call]
	delete(c.calls, call)
	return parent
}
