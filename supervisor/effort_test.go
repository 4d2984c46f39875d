package supervisor

import (
	"os"
	"testing"

	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
)

// often returns how many repetitions a loop makes: a few for each change, and many where
// ARBITER_LONG is set, as by scripts/nightly.
func often(few, many int) int {
	if os.Getenv("ARBITER_LONG") != "" {
		return many
	}
	return few
}

// onlyPure skips a test of Apply in builds with the race detector: it has one goroutine, so the
// detector finds nothing and takes ten times as long. CI runs these tests without it.
func onlyPure(t testing.TB) {
	t.Helper()
	if corpus.Race {
		t.Skip("one goroutine: nothing for the race detector")
	}
}

// noRush skips a long test in builds with the race detector, unless ARBITER_LONG is set.
func noRush(t *testing.T) {
	t.Helper()
	if corpus.Race && often(0, 1) == 0 {
		t.Skip("long with the race detector: ARBITER_LONG=1 runs it")
	}
}
