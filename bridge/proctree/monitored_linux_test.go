package proctree

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMonitored: a signal does not go to the monitor but to the process that it waits for, which ends in
// its own time; the monitor exits with the code of that process.
func TestMonitored(t *testing.T) {
	// TERM ends the monitor, like bubblewrap.
	script := `sh -c 'trap "echo heard; exit 7" TERM; echo ready; while :; do sleep 0.01; done'; exit $?`
	cmd := exec.Command("sh", "-c", script)
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	out, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout = theirs
	c, err := StartMonitored(cmd, Mark{Run: "monitored-" + t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
		defer cancel()
		if _, err := c.Kill(ctx); err != nil {
			t.Error(err)
		}
	}()
	output := bufio.NewReader(out)
	if line, err := output.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if pid := c.Confined(); pid == 0 || pid == c.PID() {
		t.Errorf("confined is %d, the monitor %d", pid, c.PID())
	}
	if err := c.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
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
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	out, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout = theirs
	c, err := StartMonitored(cmd, Mark{Run: "monitored-" + t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	t.Cleanup(func() { kill(t, c) })
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
	if err := c.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(out); err != nil { // the end: nobody holds the pipe any more
		t.Fatal(err)
	}
	<-c.Done()
	if code := c.State().ExitCode(); code != 7 {
		t.Errorf("exit code %d", code)
	}
}
