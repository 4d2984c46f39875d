//go:build unix

package host

import (
	"io/fs"
	"math"
	"syscall"

	"golang.org/x/sys/unix"
)

func owner(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

// mayWrite returns why nothing can be created in a directory.
func mayWrite(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }

// LookAtLimits reads the limits of this process and of the system.
func LookAtLimits() DoctorLimits {
	l := DoctorLimits{Files: limit(unix.RLIMIT_NOFILE), Processes: limit(unix.RLIMIT_NPROC),
		FileSize: limit(unix.RLIMIT_FSIZE)}
	l.Watches, l.Instances = inotify()
	return l
}

// limit returns a soft limit; -1: none.
func limit(resource int) int64 {
	var r unix.Rlimit
	if unix.Getrlimit(resource, &r) != nil || r.Cur > math.MaxInt64/2 {
		return -1
	}
	return int64(r.Cur)
}
