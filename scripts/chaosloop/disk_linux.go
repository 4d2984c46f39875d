package main

import "golang.org/x/sys/unix"

// limitFiles lets a process write no file beyond a size: its writes are then answered
// as by a full disk.
func limitFiles(pid int, size uint64) error {
	return unix.Prlimit(pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: unix.RLIM_INFINITY}, nil)
}
