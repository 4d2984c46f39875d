package sandbox

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
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

// Watch notes which of these parts the workspace of a command has, and which parts of its repository and of the CLI's
// configuration are links: a link cannot be guarded where agents may write. The function that it returns lists those
// that have appeared since then, or are other links.
func Watch(cfg *bridge.SandboxConfig, cmd *exec.Cmd) (appeared func() []string) {
	before := map[string]string{}
	note := func(dir string, names []string, linksOnly bool) {
		for _, name := range names {
			path := filepath.Join(dir, name)
			if found := lookAt(path); !linksOnly || strings.HasPrefix(found, linkTo) {
				before[path] = found
			}
		}
	}
	if cfg != nil {
		note(cmd.Dir, unattended, false)
		note(filepath.Join(cmd.Dir, ".git"), gitParts, true)
		note(proctree.ConfigDir(cmd.Env, cmd.Dir), commanding, true)
	}
	return func() (list []string) {
		for _, path := range slices.Sorted(maps.Keys(before)) {
			if now := lookAt(path); now != before[path] && now != "" {
				list = append(list, path)
			}
		}
		return list
	}
}

const linkTo = "-> "

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
	return linkTo + target
}
