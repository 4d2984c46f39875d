package agents

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Places is where agent files are looked for. All are absolute paths.
type Places struct {
	CWD     string // the workspace
	Trusted bool   // whether what belongs to the workspace counts
	Config  string // the user's configuration of arbiter; its agents are in agents/; empty: none
	Claude  string // the user's configuration of Claude Code, the same
}

// UserPlaces are those of a person: $XDG_CONFIG_HOME/arbiter, or what the system has
// instead, and $CLAUDE_CONFIG_DIR or ~/.claude.
func UserPlaces(cwd string, trusted bool, getenv func(string) string) Places {
	p := Places{CWD: cwd, Trusted: trusted, Claude: getenv("CLAUDE_CONFIG_DIR")}
	home := getenv("HOME")
	if p.Claude == "" && filepath.IsAbs(home) {
		p.Claude = filepath.Join(home, ".claude")
	}
	if base := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(base) {
		p.Config = filepath.Join(base, "arbiter")
	} else if filepath.IsAbs(home) {
		p.Config = filepath.Join(home, ".config", "arbiter")
	}
	return p
}

// dir is one directory of agent files.
type dir struct {
	path  string
	bound string // links must not lead out of this one; empty: they may lead anywhere
}

// dirs are the directories that may hold agent files, the strongest first. Those of the
// workspace come first, and are marked by a bound.
func (p Places) dirs() []dir {
	var own []dir
	for _, base := range []string{p.Config, p.Claude} {
		if filepath.IsAbs(base) {
			own = append(own, dir{path: filepath.Join(base, "agents")})
		}
	}
	var list []dir
	up := upwards(p.CWD)
	root := ""
	if len(up) > 0 {
		root = up[len(up)-1]
	}
	for _, kind := range []string{".arbiter", ".claude"} {
		for _, at := range up {
			d := dir{path: filepath.Join(at, kind, "agents"), bound: root}
			if !isOneOf(d.path, own) { // the home directory is the workspace
				list = append(list, d)
			}
		}
	}
	return append(list, own...)
}

// upwards are the directory and those above it, up to the repository's root; without a
// repository the directory alone.
func upwards(cwd string) []string {
	if !filepath.IsAbs(cwd) {
		return nil
	}
	var list []string
	for at := filepath.Clean(cwd); ; at = filepath.Dir(at) {
		list = append(list, at)
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return list
		}
		if at == filepath.Dir(at) {
			return list[:1]
		}
	}
}

func isOneOf(path string, list []dir) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	for _, d := range list {
		if other, err := os.Stat(d.path); err == nil && os.SameFile(info, other) {
			return true
		}
	}
	return false
}

// missing says that there is nothing, which is nothing wrong.
func missing(err error) bool { return os.IsNotExist(err) }

// isFile reports whether something can be read to its end.
func isFile(info fs.FileInfo) bool { return info.Mode().IsRegular() }
