package settings

import "golang.org/x/sys/unix"

// machineMemory is what this machine has, in bytes; 0 if it does not tell.
func machineMemory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit)
}
