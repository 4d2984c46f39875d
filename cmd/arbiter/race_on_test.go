//go:build race

package main

// underRace reports that the race detector is on. Memory accesses then take about ten times as long.
const underRace = true
