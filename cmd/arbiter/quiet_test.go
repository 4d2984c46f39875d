package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestQuietCommand: a command that prints nothing is reported while it runs, and runs to its end.
func TestQuietCommand(t *testing.T) {
	testkit.Long(t) // the supervisor's TestQuiet and TestSilentAgent show it faster
	for _, who := range players(t) {
		t.Run(who.name, func(t *testing.T) {
			t.Parallel()
			play := scenarioFile(t, spin("until [ -e go ]; do sleep 0.1; done; echo spun"))
			s := start(t, nil, append(who.args, "--json", "--watch-every", "500ms", "--quiet-after", "1500ms",
				"--scenario", play, "--task", "Spin")...)
			q := await[contract.Quiet](s, "word of its silence", func(id string, b contract.Quiet) bool {
				return id == "orch-1" && strings.Contains(b.Doing, "until")
			})
			if q.Seconds < 1 {
				t.Errorf("told %+v", q)
			}
			file := filepath.Join(collect[contract.Session](s)[0].CWD, "go")
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if r := s.finish(contract.ExitComplete); !sums(r, "spun") || len(s.spawns("orch-1")) != 1 {
				t.Errorf("result %+v", r)
			}
		})
	}
}
