package runloop

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// TestModelOutputHasNoKeys: the loop masks the fake secrets of the corpus, in every place where an agent
// can write them.
func TestModelOutputHasNoKeys(t *testing.T) {
	l, keys := masking(), 0
	for _, c := range corpus.ModelOutput(t, "../..") {
		if c.Family() != "keys" {
			continue
		}
		for _, f := range happenings(c.Text) {
			if _, pty := f.(input.AgentEvent).Event.Body.(bridge.PTY); pty {
				continue // what a terminal shows is private to its user
			}
			f := l.masked(f).(input.AgentEvent)
			f.Event.AgentRef = bridge.AgentRef{}
			raw, err := json.Marshal(f.Event)
			if err != nil {
				t.Fatal(err)
			}
			for _, piece := range []string{"7Zx9K2mVbq7Zx", "0f7e3a9c1b0f7", "Q7ZX9K2MVBQ"} {
				if keys += strings.Count(c.Text, piece); strings.Contains(string(raw), piece) {
					t.Errorf("%s: %T: %.300s", c.Name, f.Event.Body, raw)
				}
			}
		}
	}
	if keys < 40 && !t.Failed() {
		t.Errorf("%d keys", keys)
	}
}
