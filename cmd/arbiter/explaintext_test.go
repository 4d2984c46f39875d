package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
)

// TestExplainedCostOfARehearsal: the explanation marks the cost of a rehearsal as simulated.
func TestExplainedCostOfARehearsal(t *testing.T) {
	for _, rehearsal := range []bool{false, true} {
		var d runstore.Decision
		d.Number = 1
		d.Decision = decider.Decision{Decision: decider.Complete, Source: decider.ByModel,
			Usage: decider.Usage{CostUSD: 0.25}}
		var text bytes.Buffer
		subcommands.WriteExplanation(&text, subcommands.ExplainDecision("run", rehearsal, d, nil))
		if !strings.Contains(text.String(), "$0.2500") || strings.Contains(text.String(), " simulated") != rehearsal {
			t.Errorf("rehearsal %v:\n%s", rehearsal, text.String())
		}
	}
}
