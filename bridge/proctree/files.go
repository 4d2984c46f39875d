//go:build unix

package proctree

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// KeepFiles prevents children from inheriting any file that this process has open, except the standard
// streams. Its own files are inherited only by [InheritLock], but its parent may have left it a file, a
// socket or another program's lock.
func KeepFiles() error {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return fmt.Errorf("find the open files: %w", err)
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd) // the directory's own is closed again
		}
	}
	return nil
}
