//go:build !linux

package main

import (
	"testing"
)

func awaitGone(*testing.T, string) {}

func awaitSurvivors(t *testing.T, _ string, _ int) { t.Skip("no /proc here") }

// noSecretArguments checks nothing here: it needs /proc.
func noSecretArguments(*testing.T, *script) {}

func noListeners(*testing.T, *script) {}
