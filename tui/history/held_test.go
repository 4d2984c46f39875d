package history

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestOpenEntriesHoldNoText: for a call or a message that is still open, its name is kept in memory, but
// not all of its text.
func TestOpenEntriesHoldNoText(t *testing.T) {
	c := New(Memory / 2)
	before := inUse()
	text := strings.Repeat("x", 64<<10)
	for i := range 2000 {
		agent := fmt.Sprint("orch-", i)
		c.Add(time.Now(),
			contract.Event{ID: agent, Body: contract.ToolUse{Tool: "Write", ToolUse: fmt.Sprint("t", i),
				Input: []byte(`{"content":"` + text + `"}`)}})
		c.Add(time.Now(),
			contract.Event{ID: agent, Body: contract.Message{MessageID: fmt.Sprint("m", i), From: agent, To: "arbiter",
				Text: text}})
	}
	if held := inUse() - before; held > 32<<20 {
		t.Errorf("%d MB are held", held>>20)
	}
	runtime.KeepAlive(c)
}
