//go:build !linux

package trust

import "io/fs"

// changed is not determined on this system.
func changed(fs.FileInfo) string { return "" }
