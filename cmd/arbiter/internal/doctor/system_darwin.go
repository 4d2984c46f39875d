package doctor

import "golang.org/x/sys/unix"

// fileSystem says what is free at a directory, -1 if that is not known, and over what
// network it is had.
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

func inotify() (watches, instances int64) { return -1, -1 }

// NamespacesRestricted: there are none.
func NamespacesRestricted() bool { return false }

// WorkingDirs is not supported here.
func WorkingDirs() []string { return nil }
