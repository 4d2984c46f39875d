package runconfig

import (
	"cmp"
	"path"
	"path/filepath"
	"strings"
)

// Workspace says of which files snapshots are taken. The zero Workspace takes none.
type Workspace struct {
	Root    string `json:",omitempty"` // top of the Git work tree, an absolute path without links
	Base    string `json:",omitempty"` // commit of the first snapshot
	Prefix  string `json:",omitempty"` // the run's directory below Root, with slashes; empty for Root itself
	Objects string `json:",omitempty"` // where Git keeps the repository's objects, which clones read
	Own     string `json:",omitempty"` // where agents get their own directories, an absolute path without links
	// Isolation of all Orchestrators; empty: they share the run's directory, unless the Arbiter isolates one.
	Isolation string `json:",omitempty"`
}

// Isolated reports whether every Orchestrator has its own directory. The run's work is then on the run branch.
func (w Workspace) Isolated() bool { return w.Isolation != "" && w.Isolation != IsolationShared }

// Isolation of Orchestrators.
const (
	IsolationShared   = "shared"   // they work in the run's directory
	IsolationWorktree = "worktree" // each has a Git worktree
	IsolationClone    = "clone"    // each has a clone, so that it need not write to the user's Git directory
)

// Place describes a directory to create for an agent.
type Place struct {
	Agent      string
	Generation int    // of the agent
	Kind       string // IsolationWorktree or IsolationClone; empty: to read the files of the run branch
	After      string // the agent whose work it continues; empty: it begins with the run branch
}

// Worktree is an agent's own directory.
type Worktree struct {
	Branch    string `json:",omitempty"` // arbiter/RUN8/orch-1.1
	Base      string `json:",omitempty"` // commit that its work began with
	Isolation string `json:",omitempty"` // IsolationWorktree or IsolationClone
}

// Top is the top of an agent's own directory.
func (w Workspace) Top(agent string) string { return filepath.Join(w.Own, agent) }

// Dir is the place in an agent's own directory that corresponds to the run's directory: the agent starts there.
func (w Workspace) Dir(agent string) string {
	return filepath.Join(w.Top(agent), filepath.FromSlash(w.Prefix))
}

// Enabled reports whether snapshots are taken.
func (w Workspace) Enabled() bool { return w.Base != "" }

// Below lists the paths of files below a top, relative to it, as an agent that starts there names them; other
// files are left out.
func (w Workspace) Below(top string, files []string) []string {
	var list []string
	for _, file := range files {
		if !filepath.IsAbs(file) {
			file = filepath.Join(top, filepath.FromSlash(w.Prefix), file)
		}
		if rel := cmp.Or(Relative(top, file), Relative(w.Root, file)); rel != "" && rel != "." {
			list = append(list, rel)
		}
	}
	return list
}

// Relative is a file's path below the top of a work tree, with slashes; empty if it is not there.
func Relative(top, file string) string {
	rel, err := filepath.Rel(top, file)
	if err != nil || !filepath.IsAbs(file) || rel == ".." || strings.HasPrefix(rel, "../") {
		return ""
	}
	return path.Clean(filepath.ToSlash(rel))
}
