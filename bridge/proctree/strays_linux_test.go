package proctree

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func init() {
	roles["nested"] = func([]string) { verdict(nested()) }
}

// amid starts a sleeper with exactly the environment env, like a process that a program outside of the
// registry left behind.
func amid(t *testing.T, env ...string) *Child {
	t.Helper()
	cmd := exec.Command("/bin/sleep", "1000")
	cmd.Env = append([]string{}, env...)
	c := testkit.Must(Start(cmd, Mark{}))(t)
	t.Cleanup(func() { kill(t, c) })
	if len(cmd.Env) > 0 { // Start returns a moment before the kernel has laid out the new program's environment
		testkit.OK(t, until("the environment can be read", func() bool {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", c.PID()))
			return err == nil && len(text) > 0
		}))
	}
	return c
}

func TestSweepStrays(t *testing.T) {
	one, two, alive := testkit.Run(t)+" one", testkit.Run(t)+" two", testkit.Run(t)+" alive"
	c, orphan, stdin := begin(t, "parent", Mark{Run: one, Agent: "a.1"})
	stdin.Close()
	<-c.Done()
	_, hidden, _ := begin(t, "hider", Mark{Run: two})
	_, spared, _ := begin(t, "sleeper", Mark{Run: alive})
	unmarked := amid(t)

	asked := map[string]int{}
	dead := func(run string) bool { asked[run]++; return run == one || run == two }
	list := Strays(dead)
	if len(list[one]) != 1 || list[one][0].PID != orphan || len(list[two]) != 1 || len(list) != 2 {
		t.Errorf("strays: %v", list)
	}
	clear(asked)
	testkit.Same(t, "swept", map[string]int{one: 1, two: 2}, SweepStrays(dead))
	gone(t, orphan)
	gone(t, hidden) // found by descent
	if p, err := procAt(spared); err != nil || p.zombie() || unmarked.State() != nil {
		t.Error("more was swept")
	}
	for _, run := range []string{one, two, alive} {
		if asked[run] != 1 {
			t.Errorf("asked %d times about %q", asked[run], run)
		}
	}
	if again := SweepStrays(dead); again != nil {
		t.Errorf("the second sweep found %v", again)
	}
}

// bears waits until a new process shows its environment: the kernel lets the process that started it
// continue a moment earlier.
func bears(t *testing.T, pid int) {
	t.Helper()
	testkit.OK(t, until("an environment", func() bool { return len(environ(pid)) > 0 }))
}

// Two marks in one environment: os/exec keeps the last one, other programs keep both.
func TestStrayOfTwoRuns(t *testing.T) {
	outer, inner := testkit.Run(t)+" outer", testkit.Run(t)+" inner"
	cmd := exec.Command("/bin/sleep", "1000")
	cmd.Env = Mark{Run: outer}.Env()
	c := testkit.Must(Start(cmd, Mark{Run: inner}))(t)
	t.Cleanup(func() { kill(t, c) })
	bears(t, c.PID())
	if got := runsOf(environ(c.PID())); !slices.Equal(got, []string{inner}) {
		t.Errorf("a child bears %q, want the inner run's mark alone", got)
	}
	over := func(runs ...string) func(string) bool {
		return func(run string) bool { return slices.Contains(runs, run) }
	}
	if list := Strays(over(outer)); len(list) > 0 {
		t.Errorf("the outer run is over, and strays are %v", list)
	}
	attr := &syscall.ProcAttr{Env: append(Mark{Run: outer}.Env(), Mark{Run: inner}.Env()...),
		Sys: &syscall.SysProcAttr{Setpgid: true}}
	children.mu.Lock() // so that it does not count as an orphan
	pid, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "1000"}, attr)
	children.pids[pid] = true
	children.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		_, _ = syscall.Wait4(pid, nil, 0, nil)
		children.forget(pid)
	})
	bears(t, pid)
	if list := Strays(over(outer)); len(list) > 0 {
		t.Errorf("the outer run of two is over, and strays are %v", list)
	}
	if list := Strays(over(inner)); len(list[inner]) != 1 || list[inner][0].PID != c.PID() {
		t.Errorf("the inner run of two is over, and strays are %v", list)
	}
	if list := Strays(over(outer, inner)); len(list[inner]) != 2 || len(list[outer]) != 0 {
		t.Errorf("both are over, and strays are %v", list)
	}
}

// nested is an arbiter in a shell of an agent of an outer run.
func nested() error {
	outer := os.Getenv(EnvRun)
	if outer == "" {
		return fmt.Errorf("no mark")
	}
	sibling := exec.Command("/bin/sleep", "1000") // it bears the mark, too
	if err := sibling.Start(); err != nil {
		return err
	}
	defer func() { _ = sibling.Process.Kill(); _ = sibling.Wait() }()
	if swept := SweepStrays(func(run string) bool { return run == outer }); len(swept) > 0 {
		return fmt.Errorf("swept %v of the run around us", swept)
	}
	if p, err := procAt(sibling.Process.Pid); err != nil || p.zombie() {
		return fmt.Errorf("what shares our shell was swept: %w", err)
	}
	return nil
}

// TestNestedRunSparesTheOuter: a run inside of another run never ends the outer run's processes, even if
// the outer run has ended.
func TestNestedRunSparesTheOuter(t *testing.T) {
	judged(t, again(os.Args[0], "nested"))
}
