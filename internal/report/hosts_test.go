package report

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestAgentsWithHosts: an agent on another host is shown with the host's name in each format that names
// agents.
func TestAgentsWithHosts(t *testing.T) {
	r := reportWith(t, "words")
	r.Agents = []Agent{{ID: "orch-2", Name: "Orchestrator II", Host: "box"}}
	for _, f := range []Format{"markdown", "html", "json"} {
		var b strings.Builder
		if err := Write(&b, r, f); err != nil {
			t.Fatal(err)
		}
		want := map[Format]string{"markdown": inline("Orchestrator II @box"), "html": "Orchestrator II @box",
			"json": `"host": "box"`}[f]
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s does not say %s", f, want)
		}
	}
	c := NewCollector(nil)
	spawn := contract.Spawn{Name: "II", Host: "box"}
	line, err := contract.EncodeLine(nil, 1, began, contract.Event{ID: "orch-2", Body: spawn})
	if err == nil {
		err = c.TakeLine(line)
	}
	if err != nil || c.agent("orch-2").Host != "box" {
		t.Errorf("collected: %+v, %v", c.agent("orch-2"), err)
	}
}
