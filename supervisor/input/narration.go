package input

import "github.com/arbiter-cli/arbiter/bridge"

// Narrates reports whether a fact only tells what an agent does: it leads to events, and
// changes nothing that outlives the moment. Where the disk does not keep up, the journal may
// leave such facts out.
func Narrates(f Fact) bool {
	if _, judged := f.(Judged); judged {
		return true
	}
	h, ok := f.(Happened)
	if !ok {
		return false
	}
	switch h.Event.Body.(type) {
	case bridge.Assistant, bridge.Delta, bridge.ToolResult, bridge.SubagentStart, bridge.SubagentStop,
		bridge.SubagentProgress, bridge.ToolUse, bridge.Error, bridge.Notice, bridge.Stderr, bridge.Unknown, bridge.PTY:
		return true
	}
	return false
}

// Recorded reports whether a fact belongs into the journal at all: pieces of text do
// not, the whole text follows.
func Recorded(f Fact) bool {
	h, ok := f.(Happened)
	if !ok {
		return true
	}
	switch h.Event.Body.(type) {
	case bridge.Delta, bridge.PTY: // what a terminal shows is nobody else's
		return false
	}
	return true
}
