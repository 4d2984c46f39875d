package sandbox

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/arbiter-cli/arbiter/internal/git"
)

// gitParts are the parts of a repository that name commands which run later, outside.
var gitParts = []string{"hooks", "config", "config.worktree", "info/attributes"}

// repository keeps a workspace's repository usable but prevents agents from planting commands in it. The
// directory itself is a mount: it cannot be moved away and created anew. own is the view of the workspace.
func (m mounts) repository(workspace string, own view) error {
	dotGit := filepath.Join(workspace, ".git")
	info, err := os.Lstat(dotGit)
	switch {
	case missing(err):
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return m.gitDir(dotGit, own)
	case !info.Mode().IsRegular():
		return nil // a link: its target is treated as any other file
	}
	if dir, common := git.Worktree(dotGit); dir != "" {
		if err := m.add(dotGit, planted, false); err != nil {
			return err
		}
		return m.gitDir(common, own)
	}
	return nil
}

// gitDir guards these parts, also of its submodules and worktrees.
func (m mounts) gitDir(dir string, own view) error {
	if err := m.add(dir, own, true); err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Join(dir, "worktrees"))
	if err != nil && !missing(err) { // mostly, there are none
		return err
	}
	dirs, err := git.Submodules(filepath.Join(dir, "modules"))
	if err != nil {
		return err
	}
	dirs = append(dirs, dir)
	var trees []string
	for _, e := range entries {
		d := filepath.Join(dir, "worktrees", e.Name())
		trees = append(trees, d)
		if !e.IsDir() {
			continue
		}
		modules, err := git.Submodules(filepath.Join(d, "modules")) // a worktree has submodules of its own
		if err != nil {
			return err
		}
		dirs = append(dirs, modules...)
	}
	for _, d := range dirs {
		if _, err := os.Lstat(filepath.Join(d, git.CommonDirFile)); err == nil {
			return fmt.Errorf("%s has git take its configuration from elsewhere: an agent may have planted it; look "+
				"at it, and remove it", filepath.Join(d, git.CommonDirFile))
		}
		// If there were no hooks directory, an agent could create one.
		if err := os.Mkdir(filepath.Join(d, "hooks"), 0o755); err != nil && !os.IsExist(err) {
			return err
		}
	}
	for _, d := range trees {
		if err := m.add(filepath.Join(d, git.CommonDirFile), planted, false); err != nil {
			return err
		}
	}
	for _, d := range append(dirs, trees...) {
		if err := m.addAll(d, gitParts, planted, false); err != nil {
			return err
		}
	}
	return nil
}
