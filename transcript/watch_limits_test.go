//go:build linux

package transcript

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const limitsEnv = "ARBITER_TEST_INOTIFY_LIMITS"

// TestWatchKernelLimits tests with the kernel's own limits, in a user namespace where they can be lowered for
// this process alone.
func TestWatchKernelLimits(t *testing.T) {
	if os.Getenv(limitsEnv) != "" {
		meetLimits(t)
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestWatchKernelLimits$", "-test.v")
	cmd.Env = append(os.Environ(), limitsEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	switch {
	case strings.Contains(string(out), "--- SKIP") || err != nil && len(out) == 0:
		t.Skipf("limits cannot be lowered here: %v\n%s", err, out)
	case err != nil:
		t.Fatalf("%v\n%s", err, out)
	}
}

func limit(t *testing.T, what string, n int) {
	t.Helper()
	err := os.WriteFile("/proc/sys/user/max_inotify_"+what, []byte(fmt.Sprint(n)), 0)
	if err != nil {
		t.Skipf("the limit of inotify %s cannot be set: %v", what, err)
	}
}

func meetLimits(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "f")

	limit(t, "instances", 0)
	w, problem := watcher(t, WatchOptions{Interval: 10 * time.Millisecond})
	got := lines(t, w, path)
	wantNext(t, problem, true)
	appendTo(t, path, "no instance\n")
	wantNext(t, got, "no instance")
	limit(t, "instances", 10)
	wantNext(t, problem, false)

	limit(t, "watches", 4) // the directory, the one above it, and the same for one more
	for _, name := range []string{"a", "b", "c"} {
		change(t, root, "mkdir "+name)
		lines := lines(t, w, filepath.Join(root, name, "f"))
		appendTo(t, filepath.Join(root, name, "f"), "few watches\n")
		wantNext(t, lines, "few watches")
	}
	wantNext(t, problem, true)
	limit(t, "watches", 100)
	wantNext(t, problem, false)
	appendTo(t, path, "watched\n")
	wantNext(t, got, "watched")
}
