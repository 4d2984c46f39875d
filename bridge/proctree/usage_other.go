//go:build unix && !linux

package proctree

// Usage is not known here: processes of others cannot be looked at without cgo.
func (c *Child) Usage() Usage { return Usage{} }
