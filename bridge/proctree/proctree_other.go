//go:build unix && !linux && !darwin

package proctree

import (
	"context"
	"syscall"
)

// Sweep finds nothing here: environments of other processes cannot be read.
func Sweep(run, agent string) int { return 0 }

// SweepMarked finds nothing here.
func SweepMarked(Mark) int { return 0 }

// Survivors finds nothing here.
func Survivors(run string) []Process { return nil }

// SurvivorsMarked finds nothing here.
func SurvivorsMarked(Mark) []Process { return nil }

// Strays finds nothing here.
func Strays(dead func(run string) bool) map[string][]Process { return nil }

// SweepStrays finds nothing here.
func SweepStrays(dead func(run string) bool) map[string]int { return nil }

func (c *Child) killTree(context.Context) (int, error) {
	return 0, c.Signal(syscall.SIGKILL)
}

func (c *Child) remember() {}

// Present is empty here: processes cannot be listed.
type Present struct{}

// Present returns nothing here.
func (c *Child) Present() Present { return Present{} }

// KillNew finds nothing here.
func (c *Child) KillNew(context.Context, Present) (int, error) { return 0, nil }
