package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/internal/statedir"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// MaxSource bounds a configuration or scenario, in bytes.
const MaxSource = 4 << 20

// ReadFile reads a regular file of at most most bytes. It refuses other files, because a link in a workspace may
// lead to a device that never ends.
func ReadFile(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &os.PathError{Op: "read", Path: path, Err: errors.New("not a regular file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(raw)) > most {
		err = &SizeError{path, max(info.Size(), most+1), most}
	}
	return raw, err
}

// WithoutPath returns the error of a file operation without the file's name, for callers that name the file.
func WithoutPath(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return path.Err
	}
	return err
}

// SizeError says that something exceeds its size limit, in bytes.
type SizeError struct {
	What       string
	Size, Most int64
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("%s has %s bytes, at most %s are read", e.What, words.Number(e.Size), words.Number(e.Most))
}

// WriteOutput writes a file that the user names. A new or regular file is replaced atomically and keeps its
// permissions; links are followed. Any other file, such as a pipe, is written to directly.
func WriteOutput(path string, data []byte) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return err
	case info.IsDir():
		return &os.PathError{Op: "write", Path: path, Err: errors.New("it is a directory")}
	case !info.Mode().IsRegular():
		return AppendTo(path, data)
	}
	return statedir.WriteWhole(path, 0o644, func(f *os.File) error {
		if info != nil {
			if err := f.Chmod(info.Mode().Perm()); err != nil {
				return err
			}
		}
		_, err := f.Write(data)
		return err
	})
}

// AppendTo appends to a file that other processes may append to, too.
func AppendTo(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// RunAsUser runs a program as the user would run it in dir, with the user's environment, and returns its output. Errors
// have exit code 5 and quote the end of what it said.
func RunAsUser(ctx context.Context, dir, stdin, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		hint := ""
		if program == "gh" {
			hint = ": install GitHub's program gh (https://cli.github.com), and log in with gh auth login"
		}
		return "", Environmentf("%s is not installed%s", program, hint)
	}
	if err != nil {
		const most = 1000
		text := strings.TrimSpace(said.String())
		return "", Environmentf("%s %s: %v: %s", program, strings.Join(args[:min(len(args), 2)], " "), err,
			sanitize.Line(text[max(len(text)-most, 0):], most))
	}
	return out.String(), nil
}

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

// ConfigDir returns the directory of the user's own configuration of arbiter; "": it has no place.
func ConfigDir() string {
	dir, err := os.UserConfigDir()
	if err != nil { // a relative path in $XDG_CONFIG_HOME does not count, by its specification
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "arbiter")
}

// Private returns the directories that agents must not see: the state directory, and that of the configuration.
func Private(state string) []string {
	return slices.DeleteFunc([]string{state, ConfigDir()}, func(dir string) bool { return dir == "" })
}

// JSONFlag is the flag --json of commands that print something.
func JSONFlag() cli.Flag { return &cli.BoolFlag{Name: "json", Usage: "print JSON"} }

// SameDir compares paths after resolving symbolic links.
func SameDir(a, b string) bool {
	real := func(p string) string {
		if r, err := filepath.EvalSymlinks(p); err == nil {
			return r
		}
		return p
	}
	return a != "" && real(a) == real(b)
}

// This file creates directories for temporary files of a run outside of the run's own directory, and removes
// those of runs that have ended. Each has a mark that names its owner: a directory without a mark, or with
// the mark of another state directory, is left alone. The package has no goroutines.

// Prefixes of the names of directories that belong to a run.
const (
	ScratchSockets   = "arbiter-hook-"      // for sockets; of no use once their run has ended
	ScratchRehearsal = "arbiter-rehearsal-" // a rehearsal's workspace, kept for inspection as long as the run
)

// ScratchMark is the file that names the run's directory.
const ScratchMark = ".arbiter-run"

// MakeScratch makes a directory that only the user can access, in base or in the default place. It belongs to the run
// whose directory is owner.
func MakeScratch(base, prefix, owner string) (string, error) {
	dir, err := os.MkdirTemp(base, prefix) // 0700
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, ScratchMark), []byte(owner+"\n"), 0o600); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}

// ownerOf returns the directory of the run that a directory belongs to; empty: none.
func ownerOf(dir string) string {
	path := filepath.Join(dir, ScratchMark)
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || info.Size() > 1<<16 {
		return ""
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(raw), "\n")
}

// InUse reports whether a directory has the mark of an existing run, in any state directory. A run that cannot be
// checked counts as existing.
func InUse(dir string) bool {
	owner := ownerOf(dir)
	return owner != "" && !gone(owner)
}

func gone(run string) bool {
	_, err := os.Lstat(run)
	return errors.Is(err, fs.ErrNotExist)
}

// Places returns where such directories can be.
func Places() []string {
	places := []string{os.TempDir(), "/tmp"}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		places = append(places, dir)
	}
	return places
}

// SweepScratch removes directories in places that have the mark of a run below the directory runs: all directories of
// runs that no longer exist, and the directories for sockets of runs that over reports as ended. It returns what it
// removed, also with an error.
func SweepScratch(places []string, runs string, over func(run string) bool) (removed []string, err error) {
	if _, err := os.Stat(runs); err != nil {
		return nil, err // without the list of runs, it is unknown which have ended
	}
	var errs []error
	for _, place := range places {
		entries, _ := os.ReadDir(place) // a directory that cannot be read holds no scratch directory
		for _, e := range entries {
			dir := filepath.Join(place, e.Name())
			sockets := strings.HasPrefix(e.Name(), ScratchSockets)
			if !e.IsDir() || !sockets && !strings.HasPrefix(e.Name(), ScratchRehearsal) {
				continue
			}
			owner := ownerOf(dir)
			if owner == "" || filepath.Dir(owner) != filepath.Clean(runs) {
				continue
			}
			if !gone(owner) && !(sockets && over(filepath.Base(owner))) {
				continue
			}
			if err := os.RemoveAll(dir); err != nil { // it follows no link
				errs = append(errs, err)
				continue
			}
			removed = append(removed, dir)
		}
	}
	return removed, errors.Join(errs...)
}
