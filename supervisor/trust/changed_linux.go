package trust

import (
	"fmt"
	"io/fs"
	"syscall"
)

// changed identifies a file by its number and the time of its last change of any kind, which cannot be set.
func changed(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d.%09d %d", int64(st.Ctim.Sec), int64(st.Ctim.Nsec), st.Ino)
}
