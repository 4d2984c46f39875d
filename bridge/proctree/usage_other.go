//go:build unix && !linux

package proctree

// Usage is not known here: other processes cannot be inspected without cgo.
func (c *Child) Usage() Usage { return Usage{} }
