package agents

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Places are the places that are searched for agent files. All are absolute paths.
type Places struct {
	CWD     string // the workspace
	Trusted bool   // whether the workspace's own files count
	Config  string // the user's configuration of Arbiter; its agents are in agents/; empty: none
	Claude  string // the user's configuration of Claude Code, likewise
}

// UserPlaces are the places of a user: $XDG_CONFIG_HOME/arbiter, or the system's equivalent, and
// $CLAUDE_CONFIG_DIR or ~/.claude.
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
	bound string // links must not lead out of this directory; empty: they may lead anywhere
}

// dirs are the directories that may contain agent files, in order of rank. Those of the workspace come first,
// and have a bound.
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

// upwards are the directory and those above it, up to the repository's root; without a repository only the
// directory.
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

// isFile reports whether something can be read to its end.
func isFile(info fs.FileInfo) bool { return info.Mode().IsRegular() }
