package runloop

import (
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// TestMayWait: only an agent's event that nothing but frontends learn of shares the write of a later input.
func TestMayWait(t *testing.T) {
	event := input.AgentEvent{Event: bridge.Event{AgentRef: bridge.AgentRef{ID: "orch-1"}, Body: bridge.Delivered{}}}
	emit := input.Emit{Event: contract.Event{ID: "orch-1", Body: contract.Delivered{}}}
	for _, c := range []struct {
		name    string
		body    input.Body
		effects []input.Effect
		want    bool
	}{
		{"an event without effects", event, nil, true},
		{"an event that is reported", event, []input.Effect{emit, emit}, true},
		{"an event that sets a timer", event, []input.Effect{input.SetTimer{Key: "k", After: time.Second}, emit}, true},
		{"an event that leads to a message", event, []input.Effect{emit, input.Send{}}, false},
		{"an event that starts an agent", event, []input.Effect{input.Spawn{}}, false},
		{"an event that ends the run", event, []input.Effect{emit, input.Finish{}}, false},
		{"a command, whose sender waits", input.Command{}, []input.Effect{emit}, false},
		{"an agent's request, which waits", input.PermissionAsked{}, []input.Effect{emit}, false},
	} {
		if got := mayWait(c.body, c.effects); got != c.want {
			t.Errorf("%s: may wait %v, want %v", c.name, got, c.want)
		}
	}
}
