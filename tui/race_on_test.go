//go:build race

package tui

// underRace: everything takes ten times as long under the race detector.
const underRace = true
