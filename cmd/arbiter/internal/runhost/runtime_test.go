package runhost

import (
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/askmodel"
)

// TestABridgeIsNotAskedTooEarly: one that is being opened has no sandbox that was tried, and
// would refuse the question for good.
func TestABridgeIsNotAskedTooEarly(t *testing.T) {
	var r runtimeRun
	if r.asked() != nil {
		t.Error("without a bridge")
	}
	c := &bridge.Client{}
	r.keep(c, false)
	if r.asked() != nil || r.bridge() != c {
		t.Error("while it is being opened")
	}
	r.keep(c, true)
	if r.asked() != askmodel.Querier(c) {
		t.Error("when it is open")
	}
}
