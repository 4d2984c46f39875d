package runconfig

import (
	"path"
	"path/filepath"
	"strings"
)

// Workspace says where snapshots of the run's files are taken. The zero Workspace takes none.
type Workspace struct {
	Root string `json:",omitempty"` // top of the Git work tree, an absolute path without links
	Base string `json:",omitempty"` // commit of the first snapshot
}

// Enabled reports whether there are snapshots.
func (w Workspace) Enabled() bool { return w.Base != "" }

// Relative is a file's path below the work tree, with slashes; empty if it is not there.
func (w Workspace) Relative(file string) string {
	rel, err := filepath.Rel(w.Root, file)
	if err != nil || !filepath.IsAbs(file) || rel == ".." || strings.HasPrefix(rel, "../") {
		return ""
	}
	return path.Clean(filepath.ToSlash(rel))
}
