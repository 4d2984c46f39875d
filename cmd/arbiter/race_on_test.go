//go:build race

package main

// underRace: memory costs ten times as much time under the race detector.
const underRace = true
