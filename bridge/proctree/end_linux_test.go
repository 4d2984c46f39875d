package proctree_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// curtain starts an arbiter and returns when it has printed its line.
func curtain(t testing.TB, cmd *exec.Cmd) (*proctree.Child, state) {
	t.Helper()
	out, w, err := os.Pipe()
	testkit.OK(t, err)
	defer out.Close()
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &stderr
	cmd.WaitDelay = time.Second
	c, err := proctree.Start(cmd, proctree.Mark{})
	w.Close()
	testkit.OK(t, err)
	testkit.OK(t, out.SetReadDeadline(time.Now().Add(3*proctree.WaitTimeout)))
	line, err := bufio.NewReader(out).ReadString('\n')
	var s state
	if err == nil {
		err = json.Unmarshal([]byte(line), &s)
	}
	if err != nil {
		_ = c.Signal(syscall.SIGKILL)
		_ = c.Wait()
		t.Fatalf("the arbiter did not get as far: %v\n%s", err, stderr.String())
	}
	return c, s
}

func home(t testing.TB, cmd *exec.Cmd, dir string) *exec.Cmd {
	t.Helper()
	cmd.Env = append(cmd.Env, "HOME="+dir, "TMPDIR="+dir)
	return cmd
}

// modes returns the modes that are possible here.
func modes(t testing.TB) []proctree.Mode {
	t.Helper()
	cmd := proctree.Again(os.Args[0], "bridge")
	if got := proctree.Isolate(t.Context(), cmd, proctree.ModeAlways); got.Kind == proctree.NoNamespace {
		t.Logf("without a namespace: %v", got)
		return []proctree.Mode{proctree.ModeNever}
	}
	return []proctree.Mode{proctree.ModeNever, proctree.ModeAlways}
}

const agents = 8

// collapse starts an arbiter with deaf agents, has it killed, and measures how long any process of the run
// survives.
func collapse(t testing.TB, dir string, mode proctree.Mode, run string, kill func(s state, arbiter int)) time.Duration {
	t.Helper()
	c, s := curtain(t, home(t, fakeAgents(dir, run, mode, agents).command(proctree.Again(os.Args[0], "arbiter")), dir))
	defer proctree.Sweep(run, "")
	if n := len(proctree.Survivors(run)); n != 2*agents { // the agents, and the escaped processes with a mark
		t.Fatalf("%d processes stand, want %d", n, 2*agents)
	}
	begun := time.Now()
	kill(s, c.PID())
	_ = c.Wait()
	if err := proctree.Until("nothing of the run is alive", func() bool {
		return !proctree.Exists(s.Bridge) && len(proctree.Survivors(run)) == 0
	}); err != nil {
		t.Errorf("%v: %v", err, proctree.Survivors(run))
	}
	return time.Since(begun)
}

func killArbiter(_ state, pid int) { _ = unix.Kill(pid, unix.SIGKILL) }

// TestArbiterKilled: the bridge ends all processes, including deaf and escaped ones.
func TestArbiterKilled(t *testing.T) {
	for _, mode := range modes(t) {
		t.Run(string(mode), func(t *testing.T) {
			took := collapse(t, t.TempDir(), mode, testkit.Run(t), killArbiter)
			t.Logf("%d deaf agents and %d escaped from them were gone after %v", agents, 2*agents, took)
			if n := orphans(); n != 0 {
				t.Errorf("%d without a mark are left", n)
			}
		})
	}
}

// orphans counts the escaped processes without a mark that this process has adopted.
func orphans() int {
	n := 0
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		line, _ := os.ReadFile(dir + "/cmdline")
		env, _ := os.ReadFile(dir + "/environ")
		if bytes.Contains(line, []byte("\x00escaped\x00")) && bytes.HasPrefix(line, []byte(os.Args[0])) &&
			bytes.HasPrefix(env, []byte("HIDDEN=1")) {
			n++
		}
	}
	return n
}

// TestBothKilled: with a namespace no process outlives the bridge. Without one the next start finds the
// processes with a mark, and reports how many.
func TestBothKilled(t *testing.T) {
	for _, mode := range modes(t) {
		t.Run(string(mode), func(t *testing.T) {
			c, s := curtain(t,
				home(t, fakeAgents(t.TempDir(), testkit.Run(t), mode, agents).command(proctree.Again(os.Args[0], "arbiter")),
					t.TempDir()))
			t.Cleanup(func() { proctree.Sweep(testkit.Run(t), "") })
			bridge := testkit.Must(unix.PidfdOpen(s.Bridge, 0))(t)
			defer unix.Close(bridge)
			for _, pid := range []int{c.PID(), s.Bridge} {
				testkit.OK(t, unix.Kill(pid, unix.SIGKILL))
			}
			_ = c.Wait()
			if _, err := unix.Poll([]unix.PollFd{{Fd: int32(bridge), Events: unix.POLLIN}},
				int(proctree.WaitTimeout.Milliseconds())); err != nil && err != unix.EINTR {
				t.Fatal(err)
			}
			want := map[string]int{testkit.Run(t): 3 * agents} // those without a mark are their living parents' children
			if s.Isolation != proctree.NoNamespace {
				want = nil
			}
			swept := proctree.SweepStrays(func(run string) bool { return run == testkit.Run(t) })
			if len(swept) != len(want) || swept[testkit.Run(t)] != want[testkit.Run(t)] {
				t.Errorf("swept %v, want %v", swept, want)
			}
			if left := proctree.Survivors(testkit.Run(t)); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// BenchmarkArbiterKilled reports how long anything outlives a killed arbiter. The baseline is one
// plain process, from the signal until it is reaped.
func BenchmarkArbiterKilled(b *testing.B) {
	for _, mode := range modes(b) {
		b.Run(string(mode), func(b *testing.B) {
			var took, plain []time.Duration
			dir := b.TempDir()
			for i := 0; b.Loop(); i++ {
				took = append(took, collapse(b, dir, mode, fmt.Sprintf("%s %d", b.Name(), i), killArbiter))
				plain = append(plain, killPlain(b))
			}
			p99 := func(took []time.Duration) float64 {
				slices.Sort(took)
				return float64(took[(len(took)-1)*99/100].Microseconds()) / 1000
			}
			b.ReportMetric(p99(took), "p99-ms")
			b.ReportMetric(p99(plain), "plain-p99-ms")
		})
	}
}

func killPlain(b *testing.B) time.Duration {
	b.Helper()
	cmd := exec.Command("sleep", "600")
	testkit.OK(b, cmd.Start())
	begun := time.Now()
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	return time.Since(begun)
}

// TestAgentsDoNotHoldTheLock, and do not inherit the bridge's variables.
func TestAgentsDoNotHoldTheLock(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	testkit.OK(t, os.WriteFile(file, nil, 0o600))
	for _, mode := range modes(t) {
		t.Run(string(mode), func(t *testing.T) {
			p := fakeAgents(t.TempDir(), testkit.Run(t), mode, 1)
			p.Lock = file
			c, s := curtain(t, home(t, p.command(proctree.Again(os.Args[0], "arbiter")), t.TempDir()))
			t.Cleanup(func() {
				killArbiter(s, c.PID())
				_ = c.Wait()
				if err := proctree.Until("the bridge has ended",
					func() bool { return !proctree.Exists(s.Bridge) }); err != nil {
					t.Error(err)
				}
			})
			if !holds(t, s.Bridge, file) {
				t.Error("the bridge does not hold the lock: the test could not fail")
			}
			left := proctree.Survivors(testkit.Run(t))
			if len(left) != 2 {
				t.Fatalf("stand: %v", left)
			}
			for _, p := range left {
				if holds(t, p.PID, file) {
					t.Errorf("%+v holds the lock", p)
				}
				for _, name := range []string{proctree.EnvLock, proctree.EnvNamespace} {
					if value, there := entry(proctree.Environ(p.PID), name); there {
						t.Errorf("%+v was told %s=%s", p, name, value)
					}
				}
			}
		})
	}
}

func holds(t *testing.T, pid int, file string) bool {
	t.Helper()
	fds := testkit.Must(filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid)))(t)
	return slices.ContainsFunc(fds, func(fd string) bool {
		to, err := os.Readlink(fd)
		return err == nil && to == file
	})
}
