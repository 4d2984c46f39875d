//go:build unix && !linux && !darwin

package proctree

import (
	"context"
	"syscall"
)

// Sweep finds nobody here: environments of others cannot be read.
func Sweep(run, agent string) int { return 0 }

// SweepMarked finds nobody here.
func SweepMarked(Mark) int { return 0 }

// Survivors finds nobody here.
func Survivors(run string) []Process { return nil }

// SurvivorsMarked finds nobody here.
func SurvivorsMarked(Mark) []Process { return nil }

// Strays finds nobody here.
func Strays(dead func(run string) bool) map[string][]Process { return nil }

// SweepStrays finds nobody here.
func SweepStrays(dead func(run string) bool) map[string]int { return nil }

func (c *Child) killTree(context.Context) (int, error) {
	return 0, c.Signal(syscall.SIGKILL)
}

func (c *Child) remember() {}
