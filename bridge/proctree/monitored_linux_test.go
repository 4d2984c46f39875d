package proctree

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// monitored starts a monitor, and returns what it and its processes write.
func monitored(t *testing.T, cmd *exec.Cmd) (*Child, *os.File) {
	t.Helper()
	out, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	defer theirs.Close()
	cmd.Env, cmd.Stdout = []string{"PATH=/usr/bin:/bin"}, theirs
	c := testkit.Must(StartMonitored(cmd, Mark{Run: testkit.Run(t)}))(t)
	t.Cleanup(func() { kill(t, c) })
	return c, out
}

// TestMonitored: a signal does not go to the monitor but to the process that it waits for, which ends in
// its own time; the monitor exits with the code of that process.
func TestMonitored(t *testing.T) {
	// TERM ends the monitor, like bubblewrap.
	script := `sh -c 'trap "echo heard; exit 7" TERM; echo ready; while :; do sleep 0.01; done'; exit $?`
	cmd := exec.Command("sh", "-c", script)
	c, out := monitored(t, cmd)
	output := bufio.NewReader(out)
	if line, err := output.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if pid := c.Confined(); pid == 0 || pid == c.PID() {
		t.Errorf("confined is %d, the monitor %d", pid, c.PID())
	}
	testkit.OK(t, c.Signal(syscall.SIGTERM))
	rest, err := io.ReadAll(output)
	if err != nil || !strings.Contains(string(rest), "heard") {
		t.Errorf("said %q, %v", rest, err)
	}
	select {
	case <-c.Done():
	case <-time.After(waitTimeout):
		t.Fatal("it goes on")
	}
	if code := c.State().ExitCode(); code != 7 || !c.Confines() {
		t.Errorf("exit code %d: the monitor was ended itself", code)
	}
}

// TestMonitoredInANamespace: the first process of a PID namespace is not the confined one, signals do not end it, and
// nothing outlives it.
func TestMonitoredInANamespace(t *testing.T) {
	cmd := exec.Command("bwrap", "--bind", "/", "/", "--proc", "/proc", "--unshare-user", "--unshare-pid", "--",
		"sh", "-c", `trap "exit 7" TERM; setsid env -i sleep 98763 & echo ready; while :; do sleep 0.01; done`)
	if cmd.Err != nil {
		t.Skip(cmd.Err)
	}
	c, out := monitored(t, cmd)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Skipf("bubblewrap may not be used here: %q, %v", line, err)
	}
	confined := c.Confined()
	if p, err := procAt(confined); err != nil || p.name != "sh" {
		t.Errorf("confined is %d: %+v, %v", confined, p, err)
	}
	if u := c.Usage(); u.Processes < 3 || u.Stopped {
		t.Errorf("usage: %+v", u)
	}
	testkit.OK(t, c.Signal(syscall.SIGTERM))
	if _, err := io.ReadAll(out); err != nil { // the end: nobody holds the pipe any more
		t.Fatal(err)
	}
	<-c.Done()
	if code := c.State().ExitCode(); code != 7 {
		t.Errorf("exit code %d", code)
	}
}
