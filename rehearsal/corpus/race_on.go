//go:build race

package corpus

// Race says that the race detector slows everything down: then less is enough.
const Race = true
