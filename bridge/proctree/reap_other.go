//go:build unix && !linux

package proctree

// BecomeSubreaper does nothing here: there are no subreapers.
func BecomeSubreaper() (release func(), err error) { return func() {}, nil }

// AdoptOrphans does nothing here: there are no subreapers.
func AdoptOrphans() error { return nil }

// reap does nothing: the system's first process adopts orphans.
func reap() {}

// awaitExit returns false: here it is not possible to wait for a child and leave it a zombie.
func awaitExit(int) bool { return false }
