//go:build unix && !linux

package leash

// Usage is not known here: processes of others cannot be looked at without cgo.
func (c *Child) Usage() Usage { return Usage{} }
