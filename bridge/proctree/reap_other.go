//go:build unix && !linux

package proctree

// BecomeSubreaper does nothing here: there are no subreapers.
func BecomeSubreaper() (release func(), err error) { return func() {}, nil }

// AdoptOrphans does nothing here: there are no subreapers.
func AdoptOrphans() error { return nil }

// reap does nothing: orphans go to the system's first process.
func reap() {}

// awaitExit does not wait: here it is not possible to wait for a child and leave it a zombie.
func awaitExit(int) bool { return false }
