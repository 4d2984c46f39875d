package input

import "github.com/arbiter-cli/arbiter/bridge"

// Narrates reports whether an input only reports what an agent does: it leads to events, and changes nothing
// that lasts. If the disk is too slow, the journal may drop such inputs. The start of a subagent is none: it is counted
// against a limit.
func Narrates(f Body) bool {
	if _, judged := f.(CallDecided); judged {
		return true
	}
	h, ok := f.(AgentEvent)
	if !ok {
		return false
	}
	switch h.Event.Body.(type) {
	case bridge.Assistant, bridge.Delta, bridge.ToolResult, bridge.SubagentStop, bridge.SubagentProgress,
		bridge.ToolUse, bridge.Error, bridge.Notice, bridge.Stderr, bridge.Unknown, bridge.PTY:
		return true
	}
	return false
}

// Recorded reports whether an input is recorded in the journal at all: pieces of text are not, because the
// whole text follows.
func Recorded(f Body) bool {
	h, ok := f.(AgentEvent)
	if !ok {
		return true
	}
	switch h.Event.Body.(type) {
	case bridge.Delta, bridge.PTY: // what a terminal shows is private
		return false
	}
	return true
}
