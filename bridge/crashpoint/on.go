//go:build crashpoints

package crashpoint

import "os"

// Enabled reports whether this build has crash points.
const Enabled = true

var process = mustTrap(os.Getenv(atVariable), os.Getenv(logVariable))

// Here marks a place that ARBITER_CRASH_AT can name.
func Here(name string) { process.here(name) }

// Role names this process (arbiter, bridge), for points that several reach. It is
// called before the first Here.
func Role(role string) { process.setRole(role) }

func mustTrap(at, log string) *trap {
	t, err := newTrap(at, log)
	if err != nil {
		panic(err)
	}
	return t
}
