package supervisor

import (
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// often returns how many repetitions a loop makes: a few for each change, and many where
// ARBITER_LONG is set, as by scripts/nightly.
func often(few, many int) int {
	if testkit.AtNight() {
		return many
	}
	return few
}
