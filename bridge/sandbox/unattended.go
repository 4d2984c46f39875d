package sandbox

import (
	"os"
	"path/filepath"

	"github.com/arbiter-cli/arbiter/bridge"
)

// unattended are the parts of a workspace that shells, editors and other sessions outside run or obey by themselves.
// Existing ones are read-only. A missing one cannot be guarded without creating it in the workspace, so a new one is
// reported ([Watch]).
var unattended = []string{".envrc", ".vscode", ".idea", ".claude"}

// named makes writable again what the configuration names in a workspace.
func (m mounts) named(workspace string, paths []string) error {
	workspace, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return err
	}
	for _, path := range paths {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return err
		}
		if at := m[real]; at.view == guarded && under(real, workspace) {
			m[real] = mount{writable, at.dir}
		}
	}
	return nil
}

// Watch notes which of these parts a workspace has. The function that it returns lists those that have appeared
// since then, or are other links.
func Watch(cfg *bridge.SandboxConfig, workspace string) (appeared func() []string) {
	if cfg == nil {
		return func() []string { return nil }
	}
	before := map[string]string{}
	for _, name := range unattended {
		before[name] = lookAt(filepath.Join(workspace, name))
	}
	return func() (list []string) {
		for _, name := range unattended {
			path := filepath.Join(workspace, name)
			if now := lookAt(path); now != before[name] && now != "" {
				list = append(list, path)
			}
		}
		return list
	}
}

// lookAt describes what is at a path: "" for nothing, and where a link leads.
func lookAt(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	if info.Mode()&os.ModeSymlink == 0 {
		return "a file"
	}
	target, _ := os.Readlink(path)
	return "-> " + target
}
