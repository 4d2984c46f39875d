package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
)

// ScratchCommand is the hidden command with which arbiter makes a scratch copy: [EnterScratch].
const ScratchCommand = "scratch-copy"

// IsScratch reports whether this program was started to make a scratch copy.
func IsScratch(args []string) bool { return len(args) > 1 && args[1] == ScratchCommand }

// RunScratch makes the scratch copy that [StartScratch] requests with args, and becomes bubblewrap. It returns only if
// that failed. It reports why to the process that requested it.
func RunScratch(args []string) error {
	report := os.NewFile(reportFD, "report")
	err := enterScratch(report, args[2:])
	_, _ = report.WriteString(err.Error()) // if nobody listens, there is nothing to be done
	return err
}

const (
	reportFD = 3 // the first of exec.Cmd.ExtraFiles
	filterFD = 4
	made     = "made " // what is reported when the copies exist
)

// direct returns an environment without variables that name proxies.
func direct(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return strings.HasSuffix(strings.ToLower(name), "_proxy")
	})
}

// copiedCaches are directories that tools need to write to, or to be fast: by the variable that moves one, and below
// the
// home directory. A cache that does not exist, or is hidden, is left as it is.
var copiedCaches = []struct{ variable, below, home string }{
	{"XDG_CACHE_HOME", "", ".cache"}, {"GOCACHE", "", ""}, {"GOMODCACHE", "", "go/pkg"}, {"GOPATH", "pkg", ""},
	{"npm_config_cache", "", ".npm"}, {"CARGO_HOME", "", ".cargo"}, {"PIP_CACHE_DIR", "", ""},
	{"GRADLE_USER_HOME", "", ".gradle"}, {"NUGET_PACKAGES", "", ".nuget"}, {"", "", ".m2"}, {"", "", ".yarn"},
}

// scratchPlan returns how a command in a scratch copy sees all paths, and the directories that are copies: the
// workspace, what else is writable, and caches. It differs from the agents' plan in that nothing else is writable,
// and that the CLI's configuration and all sockets that have a name are hidden.
func scratchPlan(cmd *exec.Cmd, cfg bridge.SandboxConfig) (m mounts, copies []string, err error) {
	if m, err = plan(cmd, cfg); err != nil {
		return nil, nil, err
	}
	if copies, err = m.copies(cmd, cfg); err != nil {
		return nil, nil, err
	}
	config, err := filepath.EvalSymlinks(proctree.ConfigDir(cmd.Env, cmd.Dir))
	if err != nil {
		return nil, nil, err
	}
	for _, dir := range copies {
		m[dir] = mount{writable, true}
	}
	for _, path := range m.paths(readOnly, private, writable, shown, guarded) {
		switch at := m[path]; {
		case slices.Contains(copies, path):
		case under(path, config), inCopy(path, copies) && at.view != private && m.above(path) == writable:
			delete(m, path) // writes in a copy do not leave it; a bind mount could follow a link out of it
		case at.view == writable || at.view == shown:
			m[path] = mount{guarded, at.dir}
		}
	}
	home := proctree.EnvLookup(cmd.Env, "HOME")
	hide := []string{filepath.Join(config, login), filepath.Join(home, ".claude.json")}
	if !slices.ContainsFunc(append(slices.Clone(copies), homes(home)...),
		func(dir string) bool { return under(dir, config) }) {
		hide = append(hide, config)
	}
	for _, path := range append(hide, sockets()...) {
		if v := m.above(path); v == hidden || v == private || v == secret {
			continue
		}
		if err := m.add(path, secret, false); err != nil {
			return nil, nil, err
		}
	}
	m.pin()
	return m, copies, nil
}

// copies returns the directories that are to be copies, none inside of another. A copy has no mounts in it.
func (m mounts) copies(cmd *exec.Cmd, cfg bridge.SandboxConfig) (list []string, err error) {
	mounted, err := mountPoints()
	if err != nil {
		return nil, err
	}
	dirs := append([]string{cmd.Dir}, cfg.Write...)
	must := len(dirs)
	for _, c := range copiedCaches {
		switch value := proctree.EnvLookup(cmd.Env, c.variable); {
		case filepath.IsAbs(value):
			dirs = append(dirs, filepath.Join(value, c.below))
		case c.home != "":
			dirs = append(dirs, filepath.Join(proctree.EnvLookup(cmd.Env, "HOME"), c.home))
		}
	}
	for i, dir := range dirs {
		real, err := filepath.EvalSymlinks(dir)
		if info, statErr := os.Stat(real); err != nil || statErr != nil || !info.IsDir() {
			continue // a single file is read-only
		}
		at, known := m[real]
		if !known {
			at.view = m.above(real)
		}
		if i >= must && (real == "/" || at.view == hidden || at.view == private || at.view == secret) {
			continue
		}
		inside := slices.IndexFunc(mounted, func(path string) bool { return path != real && under(path, real) })
		switch {
		case inside >= 0 && i < must:
			return nil, fmt.Errorf("%s cannot be copied: another file system is mounted on %s", real, mounted[inside])
		case inside < 0:
			list = append(list, real)
		}
	}
	slices.SortFunc(list, byDepth)
	var top []string
	for _, dir := range list {
		if !inCopy(dir, top) {
			top = append(top, dir)
		}
	}
	return top, nil
}

func inCopy(path string, copies []string) bool {
	return slices.ContainsFunc(copies, func(dir string) bool { return under(path, dir) })
}

// mountPoints returns where file systems are mounted.
func mountPoints() (list []string, err error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 4 {
			path, err := strconv.Unquote(`"` + strings.ReplaceAll(fields[4], `"`, `\"`) + `"`) // blanks are \040
			if err != nil {
				return nil, fmt.Errorf("/proc/self/mountinfo: %.200q: %w", line, err)
			}
			list = append(list, path)
		}
	}
	return list, nil
}

// sockets returns the paths to which processes of this network namespace have bound unix sockets: a read-only mount
// does not prevent a connection.
func sockets() (list []string) {
	text, _ := os.ReadFile("/proc/net/unix") // without it there are no unix sockets
	for line := range strings.Lines(string(text)) {
		if _, path, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " /"); ok {
			list = append(list, "/"+path)
		}
	}
	return list
}

// inCopies has the probe write into each copy and into the workspace's repository: that must be possible, and must not
// be seen outside. A copy has no proxy.
func (b *probePlan) inCopies(copies []string, workspace string) {
	b.task.Proxy = ""
	b.task.Tries = slices.DeleteFunc(b.task.Tries, func(a attempt) bool {
		return a.Does == read && under(a.Path, "/proc") // it has its own
	})
	for i := range b.task.Tries {
		if b.task.Tries[i].want == must {
			b.task.Tries[i].want = unseen
		}
	}
	dirs := slices.Clone(copies)
	for _, dir := range []string{filepath.Join(workspace, ".git"), filepath.Join(workspace, ".git", "hooks")} {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		b.add(write, filepath.Join(dir, b.name), unseen)
	}
}
