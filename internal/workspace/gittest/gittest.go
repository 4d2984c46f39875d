// Package gittest makes repositories for tests, with the real git, and kills processes in the middle of an
// operation.
//
// It does not use the machine's Git configuration. A repository belongs to its test, which removes it.
package gittest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace"
)

// Run is the run ID that tests use; RUN8 is what references are named after.
const (
	Run  = "0123abcd-4567"
	RUN8 = "0123abcd"
)

// Environ is the environment of git in tests.
func Environ() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=C",
		"GIT_COMMITTER_EMAIL=c@example.com", "TMPDIR=" + os.TempDir(), "LC_ALL=C",
	}
}

// Dir is a directory in which a test works.
type Dir struct {
	testing.TB
	Path string
}

// New creates a repository with one commit that contains files by their path. initArgs are added to git
// init.
func New(t testing.TB, files map[string]string, initArgs ...string) Dir {
	t.Helper()
	d := Dir{t, Temp(t)}
	d.Git(append([]string{"init", "-q", "-b", "trunk"}, initArgs...)...)
	for name, text := range files {
		d.Write(name, text)
	}
	d.commit("first")
	return d
}

// Temp returns a temporary directory by a path without links.
func Temp(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testkit.OK(t, err)
	return dir
}

// Command returns a git that works in the directory.
func (d Dir) Command(args ...string) *exec.Cmd {
	cmd := exec.Command("git", append([]string{"-c", "gc.auto=0", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = d.Path
	cmd.Env = environ(d.Path)
	return cmd
}

// userConfig is the file with the user's own configuration for a repository, if a test has set one.
func userConfig(dir string) string { return dir + ".gitconfig" }

// environ is the environment of git in a directory.
func environ(dir string) []string {
	if _, err := os.Lstat(userConfig(dir)); err != nil {
		return Environ()
	}
	return append(Environ(), "GIT_CONFIG_GLOBAL="+userConfig(dir))
}

// UserConfig sets what git config --global would set. It holds for this directory only.
func (d Dir) UserConfig(key, value string) {
	d.Helper()
	d.Git("config", "--file", userConfig(d.Path), key, value)
}

// Git runs git and returns its output, without spaces around it.
func (d Dir) Git(args ...string) string {
	d.Helper()
	out, err := d.Command(args...).CombinedOutput()
	testkit.Need(d, err == nil, "git %s: %v\n%s", strings.Join(args, " "), err, out)
	return strings.TrimSpace(string(out))
}

// Commit commits all files, and returns the commit.
func (d Dir) Commit(message string) string {
	d.Helper()
	d.commit(message)
	return d.Git("rev-parse", "HEAD")
}

func (d Dir) commit(message string) {
	d.Helper()
	d.Git("add", "-A")
	d.Git("commit", "-q", "--allow-empty", "-m", message)
}

// Write writes a file, and its directories; more are names and texts of others.
func (d Dir) Write(name, text string, more ...string) {
	d.Helper()
	path := filepath.Join(d.Path, name)
	d.Must(os.MkdirAll(filepath.Dir(path), 0o755))
	d.Must(os.WriteFile(path, []byte(text), 0o644))
	if len(more) > 0 {
		d.Write(more[0], more[1], more[2:]...)
	}
}

// Link replaces a path by a symbolic link.
func (d Dir) Link(name, target string) {
	d.Helper()
	path := filepath.Join(d.Path, name)
	d.Must(os.MkdirAll(filepath.Dir(path), 0o755), os.RemoveAll(path), os.Symlink(target, path))
}

// Remove removes a file or directory.
func (d Dir) Remove(name string) {
	d.Helper()
	d.Must(os.RemoveAll(filepath.Join(d.Path, name)))
}

// Chmod changes permissions.
func (d Dir) Chmod(name string, mode fs.FileMode) {
	d.Helper()
	d.Must(os.Chmod(filepath.Join(d.Path, name), mode))
}

// Must fails the test at the first error.
func (d Dir) Must(errs ...error) {
	d.Helper()
	testkit.OK(d, errs...)
}

// Open opens the directory as a workspace of the run.
func (d Dir) Open(step func(string)) *workspace.Repo {
	d.Helper()
	r, err := workspace.Open(context.Background(), Options(d.Path, step))
	d.Must(err)
	return r
}

// Options returns the options with which tests open a workspace.
func Options(dir string, step func(string)) workspace.Options {
	return workspace.Options{Dir: dir, Run: Run, Env: environ(dir), Step: step}
}

// Files returns the content of the directory, by path: kind, permissions and content. It omits Git's own
// files.
func (d Dir) Files() map[string]string {
	d.Helper()
	files := map[string]string{}
	d.Must(filepath.WalkDir(d.Path, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(d.Path, path)
		info, err := e.Info()
		switch {
		case err != nil:
			return err
		case e.Name() == ".git":
			if e.IsDir() {
				return fs.SkipDir
			}
		case e.IsDir():
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			files[name] = "-> " + target
			return err
		default:
			b, err := os.ReadFile(path)
			files[name] = fmt.Sprintf("%v %s", info.Mode().Perm(), b)
			return err
		}
		return nil
	}))
	return files
}

// Private returns the parts of the repository that only the user may change: index, HEAD, branches, stash,
// reflogs, configuration, hooks.
func (d Dir) Private() map[string]string {
	d.Helper()
	state := map[string]string{}
	dirs := d.Git("rev-parse", "--path-format=absolute", "--git-common-dir", "--absolute-git-dir")
	for dir := range strings.SplitSeq(dirs, "\n") {
		for _, name := range []string{"index", "HEAD", "ORIG_HEAD", "FETCH_HEAD", "config", "config.worktree", "logs",
			"hooks", "info", "rebase-merge"} {
			d.Must(filepath.WalkDir(filepath.Join(dir, name), func(path string, e fs.DirEntry, err error) error {
				if os.IsNotExist(err) || err == nil && (e.IsDir() || strings.Contains(path, "logs/refs/heads/arbiter/") ||
					strings.Contains(path, "logs/refs/arbiter/")) {
					return nil
				}
				b, bad := os.ReadFile(path)
				state[path] = fmt.Sprintf("%x", sha256.Sum256(b))
				return errors.Join(err, bad)
			}))
		}
	}
	for line := range strings.Lines(d.Git("for-each-ref")) {
		if !strings.Contains(line, "/arbiter/") {
			state["ref "+line] = ""
		}
	}
	return state
}

// Tree lists a tree or commit, by path: mode and content.
func (d Dir) Tree(tree string) map[string]string {
	d.Helper()
	files := map[string]string{}
	var names, ids []string
	for line := range strings.SplitSeq(d.Git("ls-tree", "-r", "-z", tree), "\x00") {
		head, name, ok := strings.Cut(line, "\t")
		if !ok {
			continue
		}
		parts := strings.Fields(head)
		files[name] = parts[0] + " " + parts[2]
		if parts[1] == "blob" {
			names, ids = append(names, name), append(ids, parts[2])
		}
	}
	contents := d.Command("cat-file", "--batch")
	contents.Stdin = strings.NewReader(strings.Join(ids, "\n"))
	out, err := contents.Output()
	d.Must(err)
	for i, name := range names {
		head, rest, _ := bytes.Cut(out, []byte("\n"))
		size, err := strconv.Atoi(string(head[len(ids[i])+len(" blob "):]))
		d.Must(err)
		files[name] = strings.TrimSuffix(files[name], ids[i]) + string(rest[:size])
		out = rest[size+1:]
	}
	return files
}

// Copy copies the repository, with its files.
func (d Dir) Copy() Dir {
	d.Helper()
	to := filepath.Join(Temp(d), "copy")
	out, err := exec.Command("cp", "-a", d.Path, to).CombinedOutput()
	testkit.Need(d, err == nil, "cp: %v\n%s", err, out)
	return Dir{d.TB, to}
}

const (
	operationVariable = "GITTEST_OPERATION"
	killVariable      = "GITTEST_KILL_AT"
)

// Operations are what a test binary can do in a process of its own, by name. They receive the step hook to
// use, and the arguments of [Killed].
type Operations map[string]func(step func(string), args []string) error

// Main is the TestMain of packages whose tests call [Killed].
func Main(m *testing.M, operations Operations) {
	name := os.Getenv(operationVariable)
	if name == "" {
		os.Exit(m.Run())
	}
	at, _ := strconv.Atoi(os.Getenv(killVariable))
	step := func(string) {
		if at--; at == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // until it arrives
		}
	}
	if err := operations[name](step, os.Args[1:]); err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Exit(0)
}

// Stride returns the increment between the steps after which a test kills an operation: some for each
// change, or one if ARBITER_LONG is set, as by scripts/nightly.
func Stride(some int) int {
	if testkit.AtNight() {
		return 1
	}
	return some
}

// Killed runs an operation in a process that kills itself after so many steps. It reports whether the process got that
// far: if not, the operation is complete.
func Killed(t testing.TB, operation string, after int, args ...string) bool {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), operationVariable+"="+operation, killVariable+"="+strconv.Itoa(after),
		"TMPDIR="+t.TempDir()) // a killed process leaves its views
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState != nil && cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true
	}
	testkit.Need(t, err == nil, "%s: %v\n%s", operation, err, out)
	return false
}

// EachKill gives copies of the directory in each of which an operation was killed, stride steps later than in the last,
// and after how many steps. args follow the path of the copy. The whole operation takes at least so many steps.
func (d Dir) EachKill(operation string, stride, least int, args ...string) iter.Seq2[int, Dir] {
	return func(yield func(int, Dir) bool) {
		n, c := 1, d.Copy()
		for ; Killed(d, operation, n, append([]string{c.Path}, args...)...); n, c = n+stride, d.Copy() {
			if !yield(n, c) {
				return
			}
		}
		testkit.Check(d, n >= least, "%s: only %d steps", operation, n-1)
	}
}
