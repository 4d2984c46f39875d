//go:build !unix

package claude

import (
	"fmt"
	"io/fs"
)

// identityOf tells one file from another, and from itself when it was written to.
func identityOf(info fs.FileInfo) string {
	return fmt.Sprintf("0:0:%d:%d", info.Size(), info.ModTime().UnixNano())
}
