package claude

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// files are the directories where a CLI with its environment writes.
type files struct {
	config string   // for its configuration and sessions
	temps  []string // where the outputs of running tools may be
}

// filesOf returns the directories. Running tools write into <temp>/claude-<uid>/<project>/<session>/tasks,
// also in the foreground; CLAUDE_CODE_TMPDIR takes precedence over TMPDIR (observed with CLI 2.1.329). All
// candidates are searched, because the precedence has changed before.
func filesOf(env []string, cwd string) files {
	f := files{config: configDir(env, cwd)}
	for _, dir := range []string{lookup(env, "CLAUDE_CODE_TMPDIR"), lookup(env, "TMPDIR"), "/tmp"} {
		if filepath.IsAbs(dir) {
			f.temps = append(f.temps, filepath.Join(dir, fmt.Sprintf("claude-%d", os.Getuid())))
		}
	}
	return f
}

// outputs adds up the sizes of what a session's tools wrote, and names the largest file. beside is the
// directory next to the transcript, where the CLI puts results that are too large for it; "" if there is
// none.
func (f files) outputs(session, beside string) (total int64, largest string) {
	var most int64
	add := func(dir string, counts func(name string) bool) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return
		}
		for _, e := range entries {
			// A symbolic link is not an output: a subagent's leads to its transcript.
			info, err := e.Info()
			if err != nil || !info.Mode().IsRegular() || !counts(e.Name()) {
				continue
			}
			total += info.Size()
			if info.Size() > most {
				most, largest = info.Size(), filepath.Join(dir, e.Name())
			}
		}
	}
	seen := map[string]bool{}
	for _, temp := range f.temps {
		projects, err := os.ReadDir(temp)
		if err != nil || seen[temp] {
			continue
		}
		seen[temp] = true
		for _, project := range projects {
			add(filepath.Join(temp, project.Name(), session, "tasks"), func(name string) bool {
				return strings.HasSuffix(name, ".output")
			})
		}
	}
	if beside != "" {
		add(filepath.Join(beside, "tool-results"), func(string) bool { return true })
	}
	return total, largest
}
