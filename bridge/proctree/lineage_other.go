//go:build unix && !linux && !darwin

package proctree

import (
	"context"
	"errors"
)

// Ancestor is a process in the chain of parents of another.
type Ancestor struct {
	PID          int
	Start        uint64
	Name         string
	Runs, Agents []string
	Unreadable   bool
}

// The errors of other systems.
var (
	ErrLineageChanged = errors.New("its line of parents does not stand still")
	ErrEnded          = errors.New("it has ended")
)

// Lineage is not available here.
func Lineage(int) ([]Ancestor, error) { return nil, errors.ErrUnsupported }

// Marks finds none here.
func Marks() []string { return nil }

// End is not possible here: a pid cannot be tied to a process.
func End(context.Context, int, uint64) error { return errors.ErrUnsupported }
