//go:build !race

package testkit

// Race reports whether the race detector is on, which makes everything slower: tests then do less.
const Race = false
