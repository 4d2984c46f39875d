package main

import "golang.org/x/sys/unix"

// limitFiles limits the size of files that a process can write: larger writes fail as on a full disk.
func limitFiles(pid int, size uint64) error {
	return unix.Prlimit(pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: unix.RLIM_INFINITY}, nil)
}
