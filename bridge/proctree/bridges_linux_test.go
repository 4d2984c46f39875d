package proctree

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestBridgesOfOneRun: two bridges on one machine have agents of the same names. The end of one bridge ends
// its own processes, and leaves those of the other alone.
func TestBridgesOfOneRun(t *testing.T) {
	first := Mark{Run: testkit.Run(t), Bridge: "box", Agent: "orch-1.1"}
	second := Mark{Run: testkit.Run(t), Bridge: "box-2", Agent: "orch-1.1"}
	c, orphan, stdin := begin(t, "parent", first)
	_, other, _ := begin(t, "sleeper", second)
	stdin.Close()
	<-c.Done()
	if n := kill(t, c); n != 1 || !alive(other) {
		t.Errorf("the end of an agent killed %d others, and the other bridge's agent is alive: %v", n, alive(other))
	}
	gone(t, orphan)
	_, third, _ := begin(t, "sleeper", first)
	if n := SweepMarked(Mark{Run: testkit.Run(t), Bridge: "box"}); n != 1 || !alive(other) {
		t.Errorf("the sweep of a bridge killed %d, and the other bridge's agent is alive: %v", n, alive(other))
	}
	gone(t, third)
	if left := SurvivorsMarked(Mark{Run: testkit.Run(t), Bridge: "box-2"}); len(left) != 1 || left[0].PID != other {
		t.Errorf("survivors of the other bridge: %v", left)
	}
	if n := Sweep(testkit.Run(t), ""); n != 1 {
		t.Errorf("the sweep of the whole run killed %d", n)
	}
	gone(t, other)
}

// TestKeep: a process that another owner waits for, such as the ssh of a host, is not an orphan for a
// sweep.
func TestKeep(t *testing.T) {
	t.Run("kept", func(t *testing.T) { testKeep(t, Keep) })
	t.Run("tied", func(t *testing.T) { testKeep(t, Tie) })
}

func testKeep(t *testing.T, begin func(*exec.Cmd) (func(), error)) {
	cmd := exec.Command("/bin/sleep", "1000")
	cmd.Env, cmd.Stdout = []string{}, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	ended, err := begin(cmd)
	if err != nil {
		t.Fatal(err)
	}
	if n := Sweep(testkit.Run(t), ""); n != 0 || !alive(cmd.Process.Pid) {
		t.Errorf("the sweep killed %d", n)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("it was not killed")
	}
	ended()
	if children.has(cmd.Process.Pid) {
		t.Error("it is kept after its end")
	}
	if _, err := begin(exec.Command("/no/such/program")); err == nil {
		t.Error("no error for a program that is not there")
	}
}
