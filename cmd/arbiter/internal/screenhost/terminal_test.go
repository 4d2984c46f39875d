package screenhost

import (
	"testing"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
)

// TestTerminalOfAnotherProgram: while another program has the terminal, only that program receives Ctrl+C. Other
// signals still end this program, and so does Ctrl+C if its terminal was never lent.
func TestTerminalOfAnotherProgram(t *testing.T) {
	h := New(command.Env{}, settings.Choices{})
	calls, left := 0, 0
	leave := func() { left++ }
	back := h.withTerminal(func() { calls++ })
	if h.handles("INT", leave) || calls != 1 || left != 0 || h.signal != "" {
		t.Errorf("told %d, left %d, signal %q", calls, left, h.signal)
	}
	if !h.handles("TERM", leave) || calls != 1 || left != 1 || h.signal != "TERM" {
		t.Errorf("told %d, left %d, signal %q", calls, left, h.signal)
	}
	if back(); h.awayUntil.Load() == 0 {
		t.Error("a signal that is under way is ours at once")
	}
	if h := New(command.Env{}, settings.Choices{}); !h.handles("INT", leave) || left != 2 || h.signal != "INT" {
		t.Errorf("left %d, signal %q", left, h.signal)
	}
}
