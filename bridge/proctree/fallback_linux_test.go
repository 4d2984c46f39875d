package proctree

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	roles["no namespaces"] = noNamespaces
	roles["masked"] = masked
	roles["no proc"] = noProc
	roles["fine"] = func([]string) {
		_, err := EnterNamespace()
		verdict(err)
	}
}

// fallsBack checks that a command that cannot be isolated still runs.
func fallsBack(cmd *exec.Cmd, got Isolation) error {
	if got.Kind != NoNamespace || got.Why == "" {
		return fmt.Errorf("made %v", got)
	}
	if out, err := cmd.Output(); err != nil || !strings.HasPrefix(string(out), "ok") {
		return fmt.Errorf("without one: %w: %s", err, out)
	}
	return nil
}

// scene ends a role whose container cannot be simulated here.
func scene(err error) {
	if err != nil {
		fmt.Println("skip: no container can be played here:", err)
		os.Exit(0)
	}
}

// noNamespaces may create no namespaces.
func noNamespaces([]string) {
	verdict(func() error {
		scene(os.WriteFile("/proc/sys/user/max_pid_namespaces", []byte("0"), 0))
		cmd := again(os.Args[0], "fine")
		return fallsBack(cmd, Isolate(context.Background(), cmd, ModeAlways))
	}())
}

// masked has a /proc with something mounted over a part of it, as in containers.
func masked([]string) {
	verdict(func() error {
		scene(unix.Mount("nothing", "/proc/tty", "tmpfs", 0, ""))
		cmd := again(os.Args[0], "fine")
		err := probe(context.Background(), cmd, UserNamespace)
		if err == nil || !strings.Contains(err.Error(), "mount /proc") {
			return fmt.Errorf("the probe says %v", err)
		}
		return fallsBack(cmd, Isolation{NoNamespace, err.Error()})
	}())
}

// noProc has no /proc at all.
func noProc([]string) {
	verdict(func() error {
		scene(unix.Mount("nothing", "/proc", "tmpfs", 0, ""))
		cmd := again(os.Args[0], "fine")
		return fallsBack(cmd, Isolate(context.Background(), cmd, ModeAlways))
	}())
}

// TestFallsBack: where there is no namespace, nothing fails.
func TestFallsBack(t *testing.T) {
	t.Run("never", func(t *testing.T) {
		cmd := again(os.Args[0], "fine")
		if err := fallsBack(cmd, Isolate(t.Context(), cmd, ModeNever)); err != nil {
			t.Error(err)
		}
	})
	t.Run("a program that knows nothing of it", func(t *testing.T) {
		cmd := exec.Command("/bin/echo", "ok")
		if err := fallsBack(cmd, Isolate(t.Context(), cmd, ModeAlways)); err != nil {
			t.Error(err)
		}
	})
	for _, name := range []string{"no namespaces", "masked", "no proc"} {
		t.Run(name, func(t *testing.T) {
			if !userNamespaces() {
				t.Skip("no user namespaces here to play a container in")
			}
			cmd := again(os.Args[0], name)
			cmd.SysProcAttr = &syscall.SysProcAttr{
				Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
				UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
				GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
			}
			judged(t, cmd)
		})
	}
}

// userNamespaces reports whether user namespaces can be created.
func userNamespaces() bool {
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS}
	return cmd.Run() == nil
}
