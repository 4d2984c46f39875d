package eventtext

import (
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestSubagentEnd: a subagent that ended with its agent's process did not succeed.
func TestSubagentEnd(t *testing.T) {
	for _, tt := range []struct {
		stop   contract.SubagentStop
		text   string
		failed bool
	}{
		{contract.SubagentStop{Status: "completed", Tokens: 1200}, "done, 1.2k tokens", false},
		{contract.SubagentStop{}, "done", false},
		{contract.SubagentStop{Status: "stopped"}, "stopped", false},
		{contract.SubagentStop{Status: "failed"}, "failed", true},
		{contract.SubagentStop{Status: "lost"}, "lost", true},
	} {
		if text, failed := SubagentEnd(tt.stop); text != tt.text || failed != tt.failed {
			t.Errorf("%+v: %q, %v, want %q, %v", tt.stop, text, failed, tt.text, tt.failed)
		}
	}
}
