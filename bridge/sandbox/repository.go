package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/arbiter-cli/arbiter/internal/git"
)

// planted are the parts of a repository that name commands which run later, outside.
var planted = []string{"hooks", "config", "config.worktree", "info/attributes"}

// repository keeps a workspace's repository usable but prevents agents from planting commands in it. The
// directory itself is a mount: it cannot be moved away and created anew.
func (m mounts) repository(workspace string) error {
	dotGit := filepath.Join(workspace, ".git")
	info, err := os.Lstat(dotGit)
	switch {
	case missing(err):
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return m.gitDir(dotGit)
	case !info.Mode().IsRegular():
		return nil // a link: its target is treated as any other file
	}
	if dir, common := git.Worktree(dotGit); dir != "" {
		if err := m.add(dotGit, guarded, false); err != nil {
			return err
		}
		return m.gitDir(common)
	}
	return nil
}

// gitDir guards the planted parts, also of its submodules and worktrees.
func (m mounts) gitDir(dir string) error {
	if err := m.add(dir, writable, true); err != nil {
		return err
	}
	dirs, err := git.Submodules(filepath.Join(dir, "modules"))
	if err != nil {
		return err
	}
	dirs = append(dirs, dir)
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
	trees, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "worktrees", "*")) // the pattern is well-formed
	for _, d := range trees {
		if err := m.add(filepath.Join(d, git.CommonDirFile), guarded, false); err != nil {
			return err
		}
	}
	for _, d := range append(dirs, trees...) {
		if err := m.addAll(d, planted, guarded, false); err != nil {
			return err
		}
	}
	return nil
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
