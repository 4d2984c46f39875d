//go:build !crashpoints

package crashpoint

// Enabled reports whether this build has crash points.
const Enabled = false

// Here marks a place that ARBITER_CRASH_AT can name.
func Here(string) {}

// Role names this process (arbiter, bridge), for points that several reach.
func Role(string) {}
