package screenhost

import (
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/tui"
)

// TestRunsInWords: each run is one line with the information needed to choose it, even with control characters in
// its title.
func TestRunsInWords(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	text := RunsText([]tui.RunInfo{
		{ID: "0aaaaaaa-1", Status: "live", CWD: "/srv/loom", Title: "Teach\x1b[2J the\nloom", Live: true, CostUSD: 1.5,
			LastActive: now.Add(-time.Hour)},
		{ID: "0bbbbbbb-2", Status: "complete", CWD: "/srv/\x1b]0;x\x07other", Title: "Mend",
			LastActive: now.Add(-2 * time.Hour)},
	}, now)
	want := []string{"0aaaaaaa live, $1.50, in /srv/loom: Teach the loom",
		"0bbbbbbb complete, 2 h 00 min ago, in /srv/other: Mend"}
	lines := strings.Split(text, "\n")
	if len(lines) != 3 || lines[0] != want[0] || lines[1] != want[1] ||
		!strings.Contains(lines[2], "arbiter report RUN") {
		t.Errorf("got\n%s", text)
	}
	if text := RunsText(nil, now); text != "There are no runs yet." {
		t.Errorf("without runs: %q", text)
	}
}
