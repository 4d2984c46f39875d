package proctree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

const nobody = 65534

// again makes a command of a role of this test binary, with only those variables in its environment that a
// test added.
func again(program, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, append([]string{roleArg, name}, args...)...)
	cmd.Env = []string{"PATH=/bin:/usr/bin", "GORACE=atexit_sleep_ms=0"} // else each takes a second to exit under -race
	return cmd
}

// judged runs a role that prints "ok", or what went wrong, and ends.
func judged(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var out testkit.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	c := testkit.Must(Start(cmd, Mark{Run: testkit.Run(t)}))(t)
	t.Cleanup(func() { kill(t, c); Sweep(testkit.Run(t), "") })
	select {
	case <-c.Done():
	case <-time.After(waitTimeout):
		t.Fatalf("it does not end; it said %s", out.String())
	}
	output := strings.TrimSpace(out.String())
	if reason, ok := strings.CutPrefix(output, "skip: "); ok {
		t.Skip(reason)
	}
	testkit.Check(t, output == "ok" && c.State().Success(), "%v: %s", c.State(), output)
}

// verdict ends a role that [judged] runs.
func verdict(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("ok")
}

// publicly makes file available to every user of the machine, and returns its path there: the go command
// puts its binaries in a private directory of its user.
func publicly(t *testing.T, file string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "proctree-public-")
	testkit.OK(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	testkit.OK(t, os.Chmod(dir, 0o755))
	link := filepath.Join(dir, "program")
	err = os.Link(file, link)
	if errors.Is(err, syscall.EXDEV) || errors.Is(err, fs.ErrPermission) {
		var data []byte
		if data, err = os.ReadFile(file); err == nil {
			err = os.WriteFile(link, data, 0o755)
		}
	}
	testkit.OK(t, err)
	return link
}

// unprivileged makes a command of a role that runs as the user nobody, or as the
// user of the test if that is not root.
func unprivileged(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	self := testkit.Must(os.Executable())(t)
	if os.Getuid() != 0 {
		return again(self, name, args...)
	}
	cmd := again(publicly(t, self), name, args...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return cmd
}

// until polls a condition of the system that no event announces.
func until(what string, holds func() bool) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(waitTimeout)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			return fmt.Errorf("waited in vain until %s", what)
		}
	}
	return nil
}

// insiders counts the live processes of a PID namespace, which is the target of the link
// /proc/<pid>/ns/pid.
func insiders(namespace string) int {
	n := 0
	for pid, p := range scan().byPID {
		link, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
		if err == nil && link == namespace && !p.zombie() {
			n++
		}
	}
	return n
}

func namespaceOf(pid int) (string, error) {
	return os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
}

// zombies counts our dead children.
func zombies() int {
	n := 0
	for _, p := range scan().byPID {
		if p.ppid == os.Getpid() && p.zombie() {
			n++
		}
	}
	return n
}

func openFiles() int {
	names, _ := os.ReadDir("/proc/self/fd")
	return len(names)
}

// limited calls f with a lower soft limit.
func limited(resource int, cur uint64, f func()) error {
	var was unix.Rlimit
	if err := unix.Getrlimit(resource, &was); err != nil {
		return err
	}
	if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: cur, Max: was.Max}); err != nil {
		return err
	}
	f()
	return unix.Setrlimit(resource, &was)
}
