package proctree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	probeTimeout = 5 * time.Second
	// probePassed is the exit code of a passed probe. It is not 0, because a program without probes may
	// exit with 0, too.
	probePassed = 86
	probeFailed = 87

	// Prefixes of the kind in EnvNamespace.
	stageEnter  = "enter:"
	stageProbe  = "probe:"
	stageInside = "inside:" // entered already, and executed again without privileges
)

// Isolate makes cmd, which starts this program or a copy of it, the first process of a PID namespace of its
// own, if possible. When such a process ends, for whatever reason, the kernel kills all others in the
// namespace before its parent can wait for it. KILL and STOP sent from inside do not reach it. The program
// must call [EnterNamespace] before anything else.
//
// A trial comes first, by starting cmd's program for a moment: many containers refuse clone, or a new /proc
// if theirs is masked. A failed trial is not an error; cmd then stays unchanged. The result says which
// isolation is used, and why there is no namespace.
//
// Inside, only processes of the namespace are visible, and mounts made there are not seen outside. HOME,
// files, network, terminal and descriptors are the same.
func Isolate(ctx context.Context, cmd *exec.Cmd, want Mode) Isolation {
	var kind Kind
	switch {
	case want == ModeNever:
		return Isolation{NoNamespace, "not wanted"}
	case privileged():
		kind = PIDNamespace
	case want == ModeAlways:
		kind = UserNamespace
	default:
		return Isolation{NoNamespace, "that needs a user namespace, in which sudo does not work"}
	}
	if err := probe(ctx, cmd, kind); err != nil {
		return Isolation{NoNamespace, err.Error()}
	}
	addNamespaces(cmd, kind, stageEnter)
	return Isolation{Kind: kind}
}

// privileged reports whether namespaces can be made without a user namespace.
func privileged() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false
	}
	return data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}

// probe runs cmd's program, which enters such a namespace and exits.
func probe(ctx context.Context, cmd *exec.Cmd, kind Kind) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	try := exec.CommandContext(ctx, cmd.Path)
	try.Args, try.Dir, try.Env = cmd.Args, cmd.Dir, slices.Clone(cmd.Env)
	if cmd.SysProcAttr != nil {
		try.SysProcAttr = &syscall.SysProcAttr{Credential: cmd.SysProcAttr.Credential}
	}
	addNamespaces(try, kind, stageProbe)
	var reason strings.Builder
	try.Stderr = &reason
	err := try.Run()
	switch {
	case try.ProcessState != nil && try.ProcessState.ExitCode() == probePassed:
		return nil
	case try.ProcessState != nil && try.ProcessState.ExitCode() == probeFailed:
		return errors.New(strings.TrimSpace(reason.String()))
	case err == nil:
		return errors.New("the program does not enter namespaces")
	}
	return fmt.Errorf("start in a namespace: %w", err)
}

// addNamespaces makes cmd start in new namespaces of that kind.
func addNamespaces(cmd *exec.Cmd, kind Kind, value string) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, EnvNamespace+"="+value+string(kind))
	attr := cmd.SysProcAttr
	attr.Cloneflags |= unix.CLONE_NEWPID | unix.CLONE_NEWNS
	if kind != UserNamespace {
		return
	}
	attr.Cloneflags |= unix.CLONE_NEWUSER
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	// A user other than root loses all capabilities at exec, including those for mounting.
	attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
}

// EnterNamespace must be the first call of a program that [Isolate] may have started: it gives a new PID
// namespace a /proc of its own, without which no search would find any process. It returns how this process
// is isolated. After an error the process must not serve as a subreaper.
//
// A probe exits here. In a user namespace the program is executed again, in the same process: agents must
// not inherit the capabilities for mounting, and a Go program cannot drop them in its threads one by one.
func EnterNamespace() (Isolation, error) {
	value := os.Getenv(EnvNamespace)
	if value == "" {
		return Isolation{NoNamespace, "not asked for"}, nil
	}
	_ = os.Unsetenv(EnvNamespace) // the name is well-formed
	if os.Getpid() != 1 {
		return Isolation{NoNamespace, "not asked for"},
			fmt.Errorf("enter namespace: %s=%q, but this is process %d", EnvNamespace, value, os.Getpid())
	}
	if kind, ok := strings.CutPrefix(value, stageInside); ok {
		return Isolation{Kind: Kind(kind)}, nil
	}
	err := mountProc()
	if _, ok := strings.CutPrefix(value, stageProbe); ok {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(probeFailed)
		}
		os.Exit(probePassed)
	}
	kind := Kind(strings.TrimPrefix(value, stageEnter))
	if err == nil && kind == UserNamespace {
		err = reexec()
	}
	if err != nil {
		return Isolation{NoNamespace, err.Error()}, fmt.Errorf("enter namespace: %w", err)
	}
	return Isolation{Kind: kind}, nil
}

// mountProc mounts the namespace's own /proc.
func mountProc() error {
	// The old /proc still shows our pid outside of the namespace.
	outside, err := os.Readlink("/proc/self")
	if err != nil {
		return fmt.Errorf("look at /proc: %w", err)
	}
	// Mounts made outside, such as an automounter's, still appear here, but none made here appears outside.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("keep mounts to ourselves: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if self, err := os.Readlink("/proc/self"); err != nil || self != "1" {
		return fmt.Errorf("the new /proc is not the namespace's: self is %q, %v", self, err)
	}
	// Pids start at 1 in every namespace, and the CLI names files after its pid that all sessions of a user
	// share (observed with CLI 2.1.329: <config>/sessions/<pid>.json, overwritten). So pids continue from
	// our pid outside. If that is refused, only those files are less reliable.
	_ = os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(outside), 0)
	return nil
}

// reexec drops all capabilities and executes this program again. It returns only if that failed.
func reexec() error {
	runtime.LockOSThread() // capabilities belong to a thread, and exec keeps those of its caller
	defer runtime.UnlockOSThread()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	env := append(os.Environ(), EnvNamespace+"="+stageInside+string(UserNamespace))
	return fmt.Errorf("start anew: %w", syscall.Exec("/proc/self/exe", os.Args, env))
}
