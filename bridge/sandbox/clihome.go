package sandbox

import (
	"os"
	"path/filepath"
	"slices"
)

// sharedDirs are the directories of its configuration that the CLI writes to as it works, and that sessions share
// (observed with CLI 2.1.329). The rest of the configuration is read-only: settings, agents, skills and
// plugins contain commands that other sessions run. The CLI continues if it cannot write there; the rest
// includes .claude.json, which it replaces by renaming.
var sharedDirs = []string{
	"projects", "todos", "tasks", "plans", "file-history", "backups",
}

// privateDirs are the directories of which each process tree gets an empty one of its own. Shell snapshots and
// session environments are scripts: the tool shells of other sessions, outside, read theirs from there.
// Files in ide open editors. Files in sessions are named by pids, which are the same in each PID namespace: a CLI
// would take those of others for its own, or for files of ended ones, which it removes.
var privateDirs = []string{
	"sessions", "shell-snapshots", "session-env", "ide", "statsig", "telemetry", "debug", "cache",
}

// commanding are the parts of the configuration that name commands or instruct sessions.
var commanding = []string{
	"settings.json", "settings.local.json", "CLAUDE.md", "agents", "commands", "skills", "hooks", "plugins",
	"output-styles", "rules", "workflows", "keybindings.json", "remote-settings.json", ".claude.json",
}

// login is the file where the CLI keeps its credentials. The CLI replaces the whole file when it refreshes
// a token; if it cannot save it then, the login is lost.
const login = ".credentials.json"

// configuration makes the CLI's configuration directory usable. It creates missing directories, so that
// they can be shared with the CLI outside.
func (m mounts) configuration(dir string) error {
	for _, name := range slices.Concat(sharedDirs, privateDirs) {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return err
		}
	}
	if err := m.addAll(dir, privateDirs, private, true); err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(dir, login)); err == nil {
		return m.loggedIn(dir)
	}
	if err := m.add(dir, guarded, true); err != nil {
		return err
	}
	return m.addAll(dir, sharedDirs, writable, true)
}

// loggedIn sets up the configuration of a user who has logged in: writable, so that a new token can replace
// the old one, except the commanding parts. Missing commanding parts are created empty: otherwise an agent
// could create them with content.
func (m mounts) loggedIn(dir string) error {
	if err := m.add(dir, writable, true); err != nil {
		return err
	}
	for _, name := range commanding {
		path := filepath.Join(dir, name)
		if _, err := os.Lstat(path); missing(err) {
			if err := makeEmpty(path); err != nil {
				return err
			}
		}
	}
	return m.addAll(dir, commanding, planted, false)
}

func makeEmpty(path string) error {
	switch filepath.Ext(path) {
	case "":
		return os.Mkdir(path, 0o700)
	case ".json":
		return writeNew(path, "{}\n")
	}
	return writeNew(path, "")
}
