package trust

import (
	"fmt"
	"io/fs"
	"syscall"
)

// changed is when a file was last changed in any way, which cannot be set, and its number.
func changed(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d.%09d %d", int64(st.Ctim.Sec), int64(st.Ctim.Nsec), st.Ino)
}
