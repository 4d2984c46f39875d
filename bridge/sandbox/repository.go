package sandbox

import (
	"os"
	"path/filepath"
	"strings"
)

// planted are the parts of a repository that name commands which somebody runs later,
// outside.
var planted = []string{"hooks", "config", "config.worktree", "info/attributes"}

// repository keeps a workspace's repository usable without letting it be turned into a
// trap. The directory itself is a mount: it cannot be moved away and made anew.
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
		return nil // a link: what it leads to is as the rest
	}
	if dir, common := worktree(dotGit); dir != "" {
		if err := m.add(dotGit, guarded, false); err != nil {
			return err
		}
		return m.gitDir(common)
	}
	return nil
}

// gitDir guards what is planted, in submodules and worktrees of it, too.
func (m mounts) gitDir(dir string) error {
	if err := m.add(dir, writable, true); err != nil {
		return err
	}
	dirs := []string{dir}
	for _, pattern := range []string{"modules/*", "modules/*/modules/*", "worktrees/*"} {
		found, _ := filepath.Glob(filepath.Join(escapeGlob(dir), pattern)) // the pattern is well-formed
		dirs = append(dirs, found...)
	}
	// Without a place for hooks one could be made.
	if err := os.Mkdir(filepath.Join(dir, "hooks"), 0o755); err != nil && !os.IsExist(err) {
		return err
	}
	for _, d := range dirs {
		for _, name := range planted {
			if err := m.add(filepath.Join(d, name), guarded, false); err != nil {
				return err
			}
		}
	}
	return nil
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// worktree reads a .git file and returns the worktree's own directory and the
// repository's; empty where the two do not name each other: an agent can write the
// file, and must not choose what is writable next time.
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
