package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// planted are the parts of a repository that name commands which run later, outside.
var planted = []string{"hooks", "config", "config.worktree", "info/attributes"}

// commonDir is a file in a worktree's directory that names the repository with its hooks and its
// configuration. A repository itself has none.
const commonDir = "commondir"

// maxModules bounds how many directories are searched for submodules.
const maxModules = 10_000

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
	if dir, common := worktree(dotGit); dir != "" {
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
	dirs, err := submodules(filepath.Join(dir, "modules"))
	if err != nil {
		return err
	}
	dirs = append(dirs, dir)
	for _, d := range dirs {
		if _, err := os.Lstat(filepath.Join(d, commonDir)); err == nil {
			return fmt.Errorf("%s has git take its configuration from elsewhere: an agent may have planted it; look "+
				"at it, and remove it", filepath.Join(d, commonDir))
		}
		// If there were no hooks directory, an agent could create one.
		if err := os.Mkdir(filepath.Join(d, "hooks"), 0o755); err != nil && !os.IsExist(err) {
			return err
		}
	}
	trees, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "worktrees", "*")) // the pattern is well-formed
	for _, d := range trees {
		if err := m.add(filepath.Join(d, commonDir), guarded, false); err != nil {
			return err
		}
	}
	for _, d := range append(dirs, trees...) {
		for _, name := range planted {
			if err := m.add(filepath.Join(d, name), guarded, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// submodules returns the repositories below a directory: their names may contain slashes.
func submodules(dir string) (list []string, err error) {
	seen := 0
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch seen++; {
		case missing(err):
			return nil
		case err != nil:
			return err
		case seen > maxModules:
			return fmt.Errorf("%s: too much to be searched for submodules", dir)
		case !d.IsDir():
			return nil
		}
		if !isRepository(path) {
			return nil
		}
		list = append(list, path)
		below, err := submodules(filepath.Join(path, "modules"))
		list = append(list, below...)
		if err != nil {
			return err
		}
		return fs.SkipDir
	})
	return list, err
}

// isRepository also checks for the configuration, which an agent in a sandbox cannot remove.
func isRepository(dir string) bool {
	return slices.ContainsFunc([]string{"config", "HEAD"}, func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	})
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// worktree reads a .git file and returns the worktree's own directory and the repository's. It returns
// empty paths if the two do not name each other: an agent can write the file, and must not choose what is
// writable next time.
func worktree(dotGit string) (dir, common string) {
	dir = pointer(dotGit, "gitdir:", filepath.Dir(dotGit))
	if dir == "" || filepath.Base(filepath.Dir(dir)) != "worktrees" {
		return "", ""
	}
	back := pointer(filepath.Join(dir, "gitdir"), "", dir)
	common = pointer(filepath.Join(dir, "commondir"), "", dir)
	real, err := filepath.EvalSymlinks(dotGit)
	if err != nil || back == "" || common == "" || common != filepath.Dir(filepath.Dir(dir)) {
		return "", ""
	}
	if back, err = filepath.EvalSymlinks(back); err != nil || back != real {
		return "", ""
	}
	return dir, common
}

// pointer reads a path from a small file; "" if there is none.
func pointer(file, prefix, base string) string {
	text, err := os.ReadFile(file)
	if err != nil || len(text) > 4096 {
		return ""
	}
	path, ok := strings.CutPrefix(strings.TrimSpace(string(text)), prefix)
	if path = strings.TrimSpace(path); !ok || path == "" || strings.ContainsAny(path, "\n\x00") {
		return ""
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	return filepath.Clean(path)
}
