//go:build unix

package transcript

import (
	"io/fs"
	"syscall"
)

func fileID(info fs.FileInfo) FileID {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return FileID{}
	}
	return FileID{Dev: uint64(stat.Dev), Ino: uint64(stat.Ino)} // their types differ between platforms
}
