package agents

import (
	"path/filepath"

	"github.com/arbiter-cli/arbiter/supervisor/trust"
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
	var own []string
	for _, base := range []string{p.Config, p.Claude} {
		if filepath.IsAbs(base) {
			own = append(own, filepath.Join(base, "agents"))
		}
	}
	var list []dir
	var up []string // up to the repository's root; without a repository only the directory
	if filepath.IsAbs(p.CWD) {
		var inRepo bool
		if up, inRepo = trust.Upwards(filepath.Clean(p.CWD)); !inRepo {
			up = up[:1]
		}
	}
	for _, kind := range []string{".arbiter", ".claude"} {
		for _, at := range up {
			d := dir{path: filepath.Join(at, kind, "agents"), bound: up[len(up)-1]}
			if !trust.IsOneOf(d.path, own) { // the home directory is the workspace
				list = append(list, d)
			}
		}
	}
	for _, path := range own {
		list = append(list, dir{path: path})
	}
	return list
}
