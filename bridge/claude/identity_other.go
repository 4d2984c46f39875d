//go:build !unix

package claude

import (
	"fmt"
	"io/fs"
)

// identityOf returns a string that differs between files, and changes when a file is written to.
func identityOf(info fs.FileInfo) string {
	return fmt.Sprintf("0:0:%d:%d", info.Size(), info.ModTime().UnixNano())
}
