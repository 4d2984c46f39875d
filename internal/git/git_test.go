package git

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestEnviron(t *testing.T) {
	got := Environ([]string{
		"HOME=/h", "PATH=/bin", "GIT_DIR=/x", "GIT_INDEX_FILE=/x", "GIT_CONFIG_PARAMETERS='a=b'", "GIT_CONFIG_COUNT=1",
		"GIT_AUTHOR_NAME=A", "XDG_CONFIG_HOME=/c", "ANTHROPIC_API_KEY=k", "AWS_SECRET_ACCESS_KEY=k",
		"GIT_SSH_COMMAND=x", "GIT_EXTERNAL_DIFF=x", "GIT_EDITOR=x", "LC_ALL=de_DE", "HTTPS_PROXY=p",
	})
	want := append([]string{"HOME=/h", "PATH=/bin", "GIT_AUTHOR_NAME=A", "XDG_CONFIG_HOME=/c", "LC_ALL=de_DE",
		"HTTPS_PROXY=p"}, Variables()...)
	testkit.Same(t, "", want, got)
	testkit.Same(t, "the last of two values counts, and it is not ours", "LC_ALL=C", got[len(got)-1])
}

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]Version{
		"git version 2.39.5":                 {2, 39},
		"git version 2.39.5 (Apple Git-154)": {2, 39},
		"git version 2.50.1.windows.1":       {2, 50},
		"git version 3.0-rc1":                {3, 0},
		"git version 2.40.GIT":               {2, 40},
	} {
		got, err := parseVersion(text)
		testkit.Check(t, err == nil && got == want, "%q: %v, %v", text, got, err)
	}
	for _, text := range []string{"", "git version", "git version x.y", "hello"} {
		got, err := parseVersion(text)
		testkit.Check(t, err != nil, "%q: %v", text, got)
	}
	testkit.Check(t, !(Version{2, 38}).Before(Needed) && (Version{2, 37}).Before(Needed) &&
		(Version{1, 99}).Before(Needed) && !(Version{3, 0}).Before(Needed), "versions are compared wrongly")
}

// program makes a runner that runs a shell script instead of git.
func program(t *testing.T, script string) Runner {
	t.Helper()
	path := filepath.Join(t.TempDir(), "git")
	testkit.OK(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755))
	return Runner{Program: path, Env: Environ(os.Environ()), Dir: filepath.Dir(path)}
}

func TestDo(t *testing.T) {
	ctx := context.Background()
	steps := []string{}
	r := program(t,
		`case "$*" in *fail*) echo "what is wrong" >&2; exit 3;; *flood*) yes;; *) cat; printf '%s\n' "$*";; esac`)
	r.Step = func(name string) { steps = append(steps, name) }
	out, err := r.Do(ctx, Call{Args: []string{"add", "x"}, Stdin: []byte("in "), Writes: true})
	testkit.Check(t, err == nil && bytes.HasPrefix(out, []byte("in ")) && bytes.HasSuffix(out, []byte(" add x\n")) &&
		bytes.Contains(out, []byte("gc.auto=0")), "%q, %v", out, err)
	text, err := r.Text(ctx, "log")
	testkit.Check(t, err == nil && strings.HasSuffix(text, " log") && !strings.Contains(text, "gc.auto") &&
		strings.Contains(text, "core.hooksPath="+os.DevNull), "%q, %v", text, err)
	_, err = r.Write(ctx, "-c", "a=b", "--literal-pathspecs", "fail")
	var failed *Error
	testkit.Check(t, errors.As(err, &failed) && failed.Exit == 3 && Exit(err) == 3 &&
		err.Error() == "git fail: what is wrong", "%v", err)
	out, err = r.Do(ctx, Call{Args: []string{"flood"}, Max: 1001})
	testkit.Check(t, errors.Is(err, ErrTooMuch) && len(out) == 1001, "%d bytes, %v", len(out), err)
	testkit.Check(t, slices.Equal(steps, []string{"git add", "git fail"}), "steps %v", steps)
	gone := r
	gone.Dir = filepath.Join(r.Dir, "gone")
	if _, err := gone.Text(ctx, "x"); err == nil || !strings.Contains(err.Error(), gone.Dir+" does not exist any more") {
		t.Errorf("in a directory that is gone: %v", err)
	}
	r.Program = filepath.Join(r.Dir, "missing")
	_, err = r.Text(ctx, "x")
	testkit.Check(t, errors.Is(err, os.ErrNotExist) && Exit(err) == -1, "%v", err)
	r.Confine = func(*exec.Cmd) error { return os.ErrPermission }
	testkit.Fails(t, "Text", testkit.Err(r.Text(ctx, "x")), os.ErrPermission)
}

// cancelled runs a program in place of git until it reads from a pipe, and cancels it. It returns its directory, and
// the other end of the pipe.
func cancelled(t *testing.T, script string) (dir string, w *os.File) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r := program(t, script)
	fifo := filepath.Join(r.Dir, "fifo")
	if out, err := exec.Command("mkfifo", fifo).CombinedOutput(); err != nil {
		t.Skipf("mkfifo: %v %s", err, out)
	}
	done := make(chan error)
	go func() {
		_, err := r.Write(ctx, "x")
		done <- err
	}()
	// Opening the other end waits until the program opens its end for reading.
	w = testkit.Must(os.OpenFile(fifo, os.O_WRONLY, 0))(t)
	t.Cleanup(func() { w.Close() })
	cancel()
	testkit.Fails(t, "the end", <-done, context.Canceled)
	return r.Dir, w
}

// TestCancelled: git, with the processes that it started, is asked to end, so that it can remove its locks.
func TestCancelled(t *testing.T) {
	dir, _ := cancelled(t, `trap 'echo > ended; exit 1' TERM; cat fifo & wait`)
	testkit.Works(t, "it was not asked to end", testkit.Err(os.Stat(filepath.Join(dir, "ended"))))
}

// TestCancelledFilter: what git started ends with it, even if it ignores TERM.
func TestCancelledFilter(t *testing.T) {
	_, w := cancelled(t, `(trap '' TERM; exec cat fifo) > /dev/null 2>&1 & wait`)
	testkit.Await(t, "the end of the filter", func() bool { // nobody reads any more
		_, err := w.WriteString("x")
		return errors.Is(err, syscall.EPIPE)
	})
}

// TestNothingIsLeft: a process that adopts orphans keeps none of those that a git leaves, running or dead. The first
// process of a sandbox outlives bubblewrap so.
func TestNothingIsLeft(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("orphans are adopted on Linux only")
	}
	testkit.OK(t, proctree.AdoptOrphans())
	r := program(t, `sleep 60 > /dev/null 2>&1 & echo $!; true & exit $1`)
	for _, exit := range []string{"0", "1"} {
		r.Confine = func(cmd *exec.Cmd) error { cmd.Args = []string{cmd.Path, exit}; return nil }
		out, err := r.Do(t.Context(), Call{Args: []string{"x"}})
		testkit.Same(t, "exit code", exit != "0", err != nil)
		for _, pid := range strings.Fields(string(out)) {
			n := testkit.Must(strconv.Atoi(pid))(t)
			testkit.Fails(t, "a signal to what exit "+exit+" left", syscall.Kill(n, 0), syscall.ESRCH)
		}
	}
}

// TestSweepSparesGit: what a lost bridge has left is ended without the git that works meanwhile.
func TestSweepSparesGit(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("orphans are adopted on Linux only")
	}
	testkit.OK(t, proctree.AdoptOrphans())
	r := program(t, "echo > begun; cat fifo")
	fifo := filepath.Join(r.Dir, "fifo")
	testkit.OK(t, syscall.Mkfifo(fifo, 0o600))
	done := make(chan error)
	go func() {
		out, err := r.Text(t.Context(), "x")
		testkit.Same(t, "what git says", "done", out)
		done <- err
	}()
	testkit.Await(t, "git", func() bool { return testkit.Err(os.Stat(filepath.Join(r.Dir, "begun"))) == nil })
	proctree.Sweep("a-run", "")
	go os.WriteFile(fifo, []byte("done\n"), 0)
	testkit.OK(t, <-done)
}

func TestOperation(t *testing.T) {
	dir := t.TempDir()
	testkit.Same(t, "", "", Operation(dir))
	for file, want := range map[string]string{"rebase-apply": "rebase", "MERGE_HEAD": "merge",
		"REVERT_HEAD": "revert"} {
		path := filepath.Join(dir, file)
		testkit.OK(t, os.WriteFile(path, nil, 0o600))
		testkit.Same(t, file, want, Operation(dir))
		testkit.OK(t, os.Remove(path))
	}
}
