package claude

import (
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
)

// TestCapOfALargeWindow: the CLI marks the name of a model with a large window; the API omits the mark. A
// cap for that model holds in both cases, no matter which message names it.
func TestCapOfALargeWindow(t *testing.T) {
	const plain = "claude-sonnet-4-5"
	marked := plain + large
	for _, text := range []string{marked, plain} {
		g := newGauge(bridge.AgentConfig{Model: marked, ContextCap: 300_000,
			ContextCaps: map[string]int{marked: 500_000}})
		for range 2 {
			g.learn(contextUsage{Model: text, RawMaxTokens: 1_000_000})
			if n := g.reach(); n != 500_000 {
				t.Errorf("%s: %d by the CLI's word", text, n)
			}
			s := messageOf("m1", 10_000)
			s.Model = plain
			g.sample(s, fromStream)
			if n := g.reach(); n != 500_000 {
				t.Errorf("%s: %d after a message", text, n)
			}
		}
		g.turnEnded(map[string]modelUsage{text: {ContextWindow: 400_000}})
		if n := g.reach(); n != 400_000 {
			t.Errorf("%s: %d after a result", text, n)
		}
	}
	// The cap of one model does not apply to another.
	g := newGauge(bridge.AgentConfig{Model: marked, ContextCap: 300_000, ContextCaps: map[string]int{marked: 500_000}})
	g.sample(messageOf("m1", 10_000), fromStream)
	if n := g.reach(); n != 300_000 {
		t.Errorf("%d for another model", n)
	}
}
