package supervisor

import (
	"os"
)

// often returns how many repetitions a loop makes: a few for each change, and many where
// ARBITER_LONG is set, as by scripts/nightly.
func often(few, many int) int {
	if os.Getenv("ARBITER_LONG") != "" {
		return many
	}
	return few
}
