package journal

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData does not sync the times of the file, which saves a write of its inode; a changed size is made
// durable.
func syncData(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
