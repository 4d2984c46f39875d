//go:build race

package tuitest

// Race says that the race detector slows everything down ten times.
const Race = true
