package journal

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData does not sync the times of the file, which saves a write of its inode; a changed size is made
// durable.
func syncData(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }

func freePart(f *os.File, at, length int64) error {
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, at, length)
}
