//go:build !race

package tuitest

// Race reports whether the race detector is on, which makes everything ten times slower.
const Race = false
