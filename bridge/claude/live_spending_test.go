package claude

import (
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
)

// TestLiveSpending: the cost of a turn is reported while it runs, and never exceeds its final cost; each
// turn starts at zero, also after the session was resumed.
func TestLiveSpending(t *testing.T) {
	realAtNight(t)
	look := []call{{"Bash", map[string]any{"command": "ls", "description": "Look"}}}
	holds := []chan struct{}{make(chan struct{}), make(chan struct{}), make(chan struct{})}
	var script []reply
	for _, hold := range holds {
		script = append(script, reply{tools: look, usage: [3]int{3, 50_000, 1_000}},
			reply{text: "done", hold: hold, usage: [3]int{3, 51_000, 1_000}})
	}
	s, _ := live(t, script...)
	s.cfg.AllowedTools = []string{"Bash"}
	s.launch()
	for i, hold := range holds {
		nth := i + 1
		if i == 2 {
			_ = s.agent.Stop(t.Context(), false)
			s, nth = s.again().launch(), 1
		}
		id := s.send("go on")
		// The second answer may be reported, too, before the turn ends.
		spent := await(s.host, nth, func(b bridge.Spent) bool { return b.Usage.CacheRead == 50_000 })
		if spent.Usage.CacheCreation != 1_000 || spent.Usage.Output == 0 || spent.CostUSD <= 0 {
			t.Errorf("turn %d: reported %+v", i, spent)
		}
		close(hold)
		if turn := s.turnOf(id); turn.CostUSD <= spent.CostUSD {
			t.Errorf("turn %d cost %v, and %v was reported before", i, turn.CostUSD, spent.CostUSD)
		}
	}
}
