//go:build race

package tui

// underRace: with the race detector everything takes ten times as long.
const underRace = true
