package view

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestModels: Claude Code's report comes first, and unknown values are shown as unknown.
func TestModels(t *testing.T) {
	s := &supervisor.State{}
	s.Options.Model = "claude-opus-9"
	s.Agents = []*supervisor.Agent{{AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: "arbiter"}},
		AgentProcess: supervisor.AgentProcess{Status: supervisor.AgentBusy}}}
	used := []contract.ModelCost{{Model: "claude-sonnet-4-5-20250929", CostUSD: 1.5, Window: 200_000},
		{Model: "evil\x1b[31m\nmodel", CostUSD: 0.25, Window: 1_000_000}}
	list := SnapshotModels(s, used)
	for i, want := range []string{
		"claude-sonnet-4-5-20250929: $3 in, $15 out; 200k window; $1.50 here",
		"evil model: price unknown; 1M window; $0.25 here",
		"claude-opus-9: price unknown; window unknown; in use",
		"opus: price unknown; window unknown",
	} {
		if got := list[i].Name + ": " + list[i].About(); got != want {
			t.Errorf("model %d is %q, want %q", i, got, want)
		}
	}
	if text := ModelsText(nil, nil); !strings.Contains(text, "claude-haiku-4-5: $1 in, $5 out") ||
		!strings.Contains(text, PricesOf) {
		t.Errorf("without a run: %s", text)
	}
}
