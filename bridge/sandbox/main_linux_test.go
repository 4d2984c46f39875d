package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestMain(m *testing.M) {
	if IsScratch(os.Args) {
		if os.Getenv("STUCK") != "" {
			_ = syscall.Pause()
		}
		fmt.Fprintln(os.Stderr, RunScratch(os.Args))
		os.Exit(1)
	}
	if len(os.Args) == 2 && os.Args[1] == ProbeCommand {
		if err := RunProbe(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 2 && os.Args[1] == EntryCommand {
		fmt.Fprintln(os.Stderr, Enter(os.Args[2:]))
		os.Exit(126)
	}
	if len(os.Args) == 6 && os.Args[1] == "owner" {
		os.Exit(owner(os.Args[2], os.Args[3], os.Args[4], os.Args[5]))
	}
	if len(os.Args) == 3 && os.Args[1] == "connect" {
		if _, err := net.Dial("unix", os.Args[2]); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const waitTimeout = 2 * time.Minute

// owner runs a script in a sandbox.
func owner(program, work, home, script string) int {
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir, cmd.Env = work, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	child, release, err := Start(cmd, proctree.Mark{}, &bridge.SandboxConfig{Program: program}, &Gate{Self: os.Args[0]})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer release()
	_ = child.Wait()
	return 0
}

// bubblewrap returns the program's path, or skips the test: CI reports separately if it is missing.
func bubblewrap(t testing.TB) string {
	t.Helper()
	path, err := Find()
	if err != nil {
		t.Skip(err)
	}
	return path
}

// world is a home with secrets, a workspace and a state directory, none of them in the usual place for
// temporary files.
type world struct {
	home, work, state string
	cfg               bridge.SandboxConfig
	env               []string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	base := t.TempDir()
	w := &world{home: filepath.Join(base, "home"), work: filepath.Join(base, "work"),
		state: filepath.Join(base, "home", ".local", "state", "arbiter")}
	put(t, filepath.Join(w.home, ".ssh", "id_rsa"), "PRIVATE")
	put(t, filepath.Join(w.home, ".netrc"), "PRIVATE")
	put(t, filepath.Join(w.home, ".bashrc"), "echo hi")
	put(t, filepath.Join(w.home, ".claude", "settings.json"), "{}")
	put(t, filepath.Join(w.state, "journal"), "PRIVATE")
	put(t, filepath.Join(w.work, "README"), "hello")
	w.cfg = bridge.SandboxConfig{Program: bubblewrap(t), Hide: []string{w.state}}
	w.env = []string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "LANG=C"}
	return w
}

func put(t testing.TB, path, text string) {
	t.Helper()
	testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
	testkit.OK(t, os.WriteFile(path, []byte(text), 0o644))
}

// git runs git in the workspace, outside of the sandbox.
func (w *world) git(t testing.TB, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
	cmd.Dir, cmd.Env = w.work, w.env
	out, err := cmd.CombinedOutput()
	testkit.Need(t, err == nil, "git %v: %v: %s", args, err, out)
}

// sh runs a script in the sandbox and returns its output.
func (w *world) sh(t testing.TB, script string) (string, error) {
	t.Helper()
	return w.run(t, "/bin/sh", "-c", script)
}

func (w *world) run(t testing.TB, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = w.work, w.env
	testkit.OK(t, Wrap(cmd, &w.cfg))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	testkit.Need(t, err == nil || errors.As(err, &exit), "%v", err)
	return string(out), err
}

func (w *world) trial(t testing.TB, program string) bridge.SandboxResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	self := testkit.Must(os.Executable())(t)
	cfg := w.cfg
	cfg.Program = program
	r := testkit.Must(Verify(ctx, cfg,
		Place{CWD: w.work, Env: w.env, Mark: proctree.Mark{Run: testkit.Run(t), Agent: "canary"},
			Self: []string{self, ProbeCommand}}))(t)
	return r
}

// files lists everything below the world, to show what a trial leaves behind.
func (w *world) files(t testing.TB) string {
	t.Helper()
	var list []string
	for _, dir := range []string{w.work, w.state, w.home} {
		_ = filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
			testkit.OK(t, err)
			if strings.Contains(path, "canary") {
				list = append(list, path)
			}
			return nil
		})
	}
	return strings.Join(list, "\n")
}
