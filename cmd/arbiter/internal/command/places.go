package command

import (
	"errors"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
)

// Workspace returns the absolute path of the workspace: the directory in --cwd, or else the current directory.
func Workspace(c *cli.Context) (string, error) {
	dir := c.String("cwd")
	if dir == "" && c.IsSet("cwd") {
		return "", Usagef("--cwd is empty") // probably an unset variable: do not use the current directory
	}
	if dir == "" {
		wd, err := os.Getwd()
		if err != nil {
			return "", Usagef("the current directory cannot be read (%v): name a workspace with --cwd", err)
		}
		dir = wd
	}
	abs, err := CheckDir(dir)
	if err != nil {
		return "", Usagef("--cwd %s: %v", dir, err)
	}
	return abs, nil
}

// CheckDir returns the absolute path of a directory that exists and can be read, and whose path is UTF-8: events and
// the bridge's protocol are JSON, which changes other bytes. Its errors do not name the path.
func CheckDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(abs)
	if err != nil {
		return "", WithoutPath(err)
	}
	if !info.IsDir() {
		return "", errors.New("not a directory")
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil && !utf8.ValidString(abs+real) {
		return "", errors.New("its path is not UTF-8, in which a run is recorded: rename the directory")
	}
	f, err := os.Open(abs)
	if err != nil {
		return "", WithoutPath(err)
	}
	return abs, f.Close()
}

// StateDir resolves the state directory and creates it with mode 0700.
func StateDir(flag string) (string, error) {
	dir, err := StatePath(flag)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", Environmentf("cannot create the state directory: %v; name another with --state-dir", err)
	}
	return dir, nil
}

// StatePath returns the path of the state directory, which may not exist yet.
func StatePath(flag string) (string, error) {
	dir := flag
	if dir == "" {
		if base := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(base) {
			dir = filepath.Join(base, "arbiter")
		} else if home, err := os.UserHomeDir(); err == nil {
			dir = filepath.Join(home, ".local", "state", "arbiter")
		} else {
			return "", Environmentf("there is no state directory: set HOME, XDG_STATE_HOME or --state-dir")
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", Environmentf("--state-dir %s: %v", flag, err)
	}
	return dir, nil
}

// JSONFlag is the flag --json of commands that print something.
func JSONFlag() cli.Flag { return &cli.BoolFlag{Name: "json", Usage: "print JSON"} }

// SameDir compares directories after resolving symbolic links.
func SameDir(a, b string) bool {
	real := func(p string) string {
		if r, err := filepath.EvalSymlinks(p); err == nil {
			return r
		}
		return p
	}
	return a != "" && real(a) == real(b)
}
