//go:build unix && !linux

package proctree

// Become does nothing here: there are no subreapers.
func Become() (release func(), err error) { return func() {}, nil }

// Adopt does nothing here: there are no subreapers.
func Adopt() error { return nil }

// reap does nothing: orphans go to the system's first process.
func reap() {}

// awaitExit does not wait: here nobody can wait for a child and leave it a zombie.
func awaitExit(int) bool { return false }
