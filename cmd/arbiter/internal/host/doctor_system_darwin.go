package host

import "golang.org/x/sys/unix"

// fileSystem returns the free bytes at a directory (-1: unknown), and the kind of network file system, if it is
// one.
func fileSystem(dir string) (free int64, network string) {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return -1, ""
	}
	if st.Flags&unix.MNT_LOCAL == 0 {
		network = unix.ByteSliceToString(st.Fstypename[:])
	}
	return int64(st.Bavail) * int64(st.Bsize), network
}

func inotify(string) int64 { return -1 }

// NamespacesRestricted returns false: this system has no namespaces.
func NamespacesRestricted() bool { return false }

// WorkingDirs is not supported here.
func WorkingDirs() []string { return nil }
