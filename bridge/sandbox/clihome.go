package sandbox

import (
	"os"
	"path/filepath"
	"slices"
)

// kept are the directories of its configuration that the CLI writes to as it works, and
// that sessions share (observed with CLI 2.1.329). All else of it is read-only: settings, agents, skills
// and plugins hold commands that other sessions run. It continues without what it cannot
// write there; .claude.json, which it replaces by renaming, is among that.
var kept = []string{
	"projects", "sessions", "todos", "tasks", "plans", "file-history", "backups",
}

// own are those that each process tree gets empty and for itself. Shell snapshots and
// session environments are scripts: the tool shells of other sessions, outside, read theirs
// from there. What is in ide opens editors.
var own = []string{"shell-snapshots", "session-env", "ide", "statsig", "telemetry", "debug", "cache"}

// commanding are the parts of the configuration that name commands or tell sessions
// what to do.
var commanding = []string{
	"settings.json", "settings.local.json", "CLAUDE.md", "agents", "commands", "skills", "hooks", "plugins",
	"output-styles", "rules", "workflows", "keybindings.json", "remote-settings.json", ".claude.json",
}

// login is where the CLI keeps what it logs in with. It is replaced as a whole when a
// token is refreshed, and what is not saved then is lost for good.
const login = ".credentials.json"

// configuration gives the CLI its place. Directories that are missing are made, so
// that they can be shared with the CLI outside.
func (m mounts) configuration(dir string) error {
	for _, name := range slices.Concat(kept, own) {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return err
		}
	}
	for _, name := range own {
		if err := m.add(filepath.Join(dir, name), private, true); err != nil {
			return err
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, login)); err == nil {
		return m.loggedIn(dir)
	}
	if err := m.add(dir, guarded, true); err != nil {
		return err
	}
	for _, name := range kept {
		if err := m.add(filepath.Join(dir, name), writable, true); err != nil {
			return err
		}
	}
	return nil
}

// loggedIn is the configuration of one who has logged in: writable, so that a new token
// can take the old one's place, but for what is commanding. What of that is missing is
// made, with nothing in it: else it could be made with something.
func (m mounts) loggedIn(dir string) error {
	if err := m.add(dir, writable, true); err != nil {
		return err
	}
	for _, name := range commanding {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); missing(err) {
			if err := makeEmpty(path); err != nil {
				return err
			}
		}
		if err := m.add(path, guarded, false); err != nil {
			return err
		}
	}
	return nil
}

func makeEmpty(path string) error {
	switch filepath.Ext(path) {
	case "":
		return os.Mkdir(path, 0o700)
	case ".json":
		return os.WriteFile(path, []byte("{}\n"), 0o600)
	}
	return os.WriteFile(path, nil, 0o600)
}
