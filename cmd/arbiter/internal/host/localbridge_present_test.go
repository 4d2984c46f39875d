package host

import (
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
)

// TestBridgeIsNotAskedTooEarly: while a bridge is being opened, its sandbox has not been tried, and it would
// refuse every question permanently.
func TestBridgeIsNotAskedTooEarly(t *testing.T) {
	var p BridgePresent
	if p.Opened() != nil || p.Client() != nil {
		t.Error("without a bridge")
	}
	c := &bridge.Client{}
	p.Keep(c, false)
	if p.Opened() != nil || p.Client() != c {
		t.Error("while it is being opened")
	}
	p.Keep(c, true)
	if p.Opened() != c || p.Client() != c {
		t.Error("when it is open")
	}
}
