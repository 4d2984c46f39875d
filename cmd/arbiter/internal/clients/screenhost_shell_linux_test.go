package clients

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
)

// TestShellLeavesNothing: all processes that a line has started end with it, whether it ends on its own or is
// stopped.
func TestShellLeavesNothing(t *testing.T) {
	t.Setenv("SHELL", "/bin/sh")
	for name, line := range map[string]string{
		"on its own": `sleep 600 & echo $! ; (setsid sleep 600 & echo $!)`,
		"stopped":    `trap '' TERM; sleep 600 & echo $! ; (setsid sleep 600 & echo $!); wait`,
	} {
		out := &testkit.Buffer{}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, err := NewScreen(command.Env{}, settings.Choices{}).Shell(ctx, t.TempDir(), line, out)
			testkit.Check(t, err == nil, "%v", err)
		}()
		if name == "stopped" {
			testkit.Await(t, "two processes", func() bool { return strings.Count(out.String(), "\n") == 2 })
			cancel()
		}
		<-ended
		cancel()
		pids := strings.Fields(out.String())
		testkit.Check(t, len(pids) == 2, "%s: said %q", name, out.String())
		for _, pid := range pids {
			testkit.Check(t, !isRunning(pid), "%s: process %s goes on", name, pid)
		}
	}
}

// isRunning reports whether a process exists and is not a zombie.
func isRunning(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
