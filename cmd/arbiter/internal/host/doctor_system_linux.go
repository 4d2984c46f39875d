package host

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// networks are the network file systems, by their magic numbers.
var networks = map[int64]string{
	unix.NFS_SUPER_MAGIC: "NFS", unix.SMB_SUPER_MAGIC: "SMB", unix.CIFS_SUPER_MAGIC: "CIFS",
	unix.SMB2_SUPER_MAGIC: "SMB", unix.AFS_SUPER_MAGIC: "AFS", unix.CEPH_SUPER_MAGIC: "Ceph", unix.V9FS_MAGIC: "9P",
	unix.CODA_SUPER_MAGIC: "Coda",
}

// fileSystem returns the free bytes at a directory (-1: unknown), and the kind of network file system, if it is
// one.
func fileSystem(dir string) (free int64, network string) {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return -1, ""
	}
	return int64(st.Bavail) * st.Bsize, networks[int64(uint32(st.Type))]
}

func inotify(limit string) int64 { return number("/proc/sys/fs/inotify/" + limit) }

func number(path string) int64 {
	raw, err := os.ReadFile(path)
	if err != nil {
		return -1
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// NamespacesRestricted reports whether the system forbids users to create namespaces.
func NamespacesRestricted() bool {
	return number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1 ||
		number("/proc/sys/kernel/unprivileged_userns_clone") == 0
}

// WorkingDirs returns the working directories of all processes that we may inspect.
func WorkingDirs() []string {
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		return nil
	}
	var dirs []string
	for _, link := range links {
		if dir, err := os.Readlink(link); err == nil {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
