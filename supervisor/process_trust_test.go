package supervisor

import (
	"slices"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// changedProcess is a run whose Orchestrator did not start, because the workspace has changed since it was trusted.
func changedProcess(humanPresent bool) *ProcessContext {
	c := one(AgentStarting)
	c.Options.Trusted, c.Options.TrustHash = true, "old"
	c.Distrusted("orch-1", input.NotSpawned{Category: bridge.CatTrust, Message: "it changed", Trust: "new"}, humanPresent)
	return c
}

// TestDistrusted: no agent starts before the human has looked at the changes; what the human then trusts is
// recorded.
func TestDistrusted(t *testing.T) {
	c := changedProcess(true)
	if q := c.Lifecycle.TrustQuestion; !slices.Contains(q.Choices(), ChooseTrust) ||
		!c.Lifecycle.AwaitsTrust("") {
		t.Fatalf("asked %+v", q)
	}
	c.ChooseTrust("ref", ChooseTrust)
	if pinned := did[effect.PinTrust](c); len(pinned) != 1 || pinned[0].Hash != "new" || !c.Options.Trusted {
		t.Errorf("pinned %+v, trusted %v", pinned, c.Options.Trusted)
	}
	if c.Lifecycle.AwaitsTrust("") {
		t.Error("it still waits for an answer")
	}
}

// TestDistrustedAlone: without a human, the run continues without the workspace's settings.
func TestDistrustedAlone(t *testing.T) {
	c := changedProcess(false)
	if c.Options.Trusted || c.Options.TrustHash != "" || c.Lifecycle.TrustQuestion != nil {
		t.Errorf("trusted %v (%q), asked %+v", c.Options.Trusted, c.Options.TrustHash, c.Lifecycle.TrustQuestion)
	}
}
