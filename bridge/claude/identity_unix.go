//go:build unix

package claude

import (
	"fmt"
	"io/fs"
	"syscall"
)

// identityOf returns a string that differs between files, and changes when a file is written to.
func identityOf(info fs.FileInfo) string {
	var dev, inode uint64
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		dev, inode = uint64(s.Dev), uint64(s.Ino)
	}
	return fmt.Sprintf("%d:%d:%d:%d", dev, inode, info.Size(), info.ModTime().UnixNano())
}
