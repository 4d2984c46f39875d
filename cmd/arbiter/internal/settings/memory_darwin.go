package settings

import "golang.org/x/sys/unix"

// machineMemory is what this machine has, in bytes; 0 if it does not tell.
func machineMemory() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(n)
}
