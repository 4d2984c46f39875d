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
