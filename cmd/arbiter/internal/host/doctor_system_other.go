//go:build !linux && !darwin

package host

func fileSystem(string) (free int64, network string) { return -1, "" }

func inotify() (watches, instances int64) { return -1, -1 }

// NamespacesRestricted returns false: this system has no namespaces.
func NamespacesRestricted() bool { return false }

// WorkingDirs is not supported here.
func WorkingDirs() []string { return nil }
