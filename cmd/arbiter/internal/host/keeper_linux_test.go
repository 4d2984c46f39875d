package host_test

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
)

const lease = 2 * time.Second

// modes are the two ways to keep a bridge: if the tests run as root, the second uses a PID namespace.
var modes = map[string]proctree.Mode{"without a namespace": proctree.ModeNever, "as the host allows": proctree.ModeAuto}

// TestLossOfContact: whatever is stopped, killed or dropped, the agents have ended by the time that the
// client reports for it.
func TestLossOfContact(t *testing.T) {
	testkit.Long(t)
	for name, happen := range map[string]func(*testing.T, *far){
		"the client is gone":   func(t *testing.T, f *far) { f.Close() },
		"a black hole":         func(t *testing.T, f *far) { f.relay.swallow() },
		"the bridge is killed": func(t *testing.T, f *far) { signal(t, f.bridgePID(t), syscall.SIGKILL) },
		"the bridge is stopped": func(t *testing.T, f *far) {
			signal(t, f.bridgePID(t), syscall.SIGSTOP)
		},
		"the keeper is stopped, and a black hole": func(t *testing.T, f *far) {
			signal(t, f.keeper.Process.Pid, syscall.SIGSTOP)
			f.relay.swallow()
		},
	} {
		for how, mode := range modes {
			t.Run(name+", "+how, func(t *testing.T) {
				f := begin(t, t.TempDir(), proctree.Mark{Run: testkit.Run(t), Bridge: "box"}, lease, mode)
				began := time.Now()
				happen(t, f)
				<-f.Done()
				noticed := time.Since(began)
				by, _ := f.Stopped()
				f.await(t, "the agents have ended", func() bool { return len(f.agents()) == 0 })
				now := time.Now()
				testkit.Check(t, !now.After(by), "they ended %v after it was certain", now.Sub(by))
				t.Logf("lease %v: the client noticed after %v, the agents had ended after %v, certain after %v", lease,
					noticed.Round(time.Millisecond), time.Since(began).Round(time.Millisecond),
					by.Sub(began).Round(time.Millisecond))
				signal(t, f.keeper.Process.Pid, syscall.SIGCONT)
			})
		}
	}
}

// TestStoppedClient stops the client for longer than the lease, with its pipes open: when the client
// continues, the bridge has ended, and the client knows that.
func TestStoppedClient(t *testing.T) {
	t.Parallel()
	m := proctree.Mark{Run: testkit.Run(t), Bridge: "box"}
	cmd := exec.Command(os.Args[0], roleArg, "client", t.TempDir(), string(proctree.ModeNever), m.Run)
	cmd.Env, cmd.Stderr = []string{"PATH=/bin:/usr/bin", "GORACE=atexit_sleep_ms=0"}, os.Stderr
	stdout := testkit.Must(cmd.StdoutPipe())(t)
	testkit.OK(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		proctree.SweepMarked(m)
	})
	lines := bufio.NewScanner(stdout)
	testkit.Need(t, lines.Scan() && lines.Text() == "ready", "the client said %q", lines.Text())
	f := &far{mark: m}
	f.await(t, "the agent and its child run", func() bool { return len(f.agents()) == 2 })
	signal(t, cmd.Process.Pid, syscall.SIGSTOP)
	f.await(t, "the agents have ended", func() bool { return len(f.agents()) == 0 })
	<-time.After(lease + bridge.LeaseGrace) // it stays stopped until the bridge has certainly ended
	signal(t, cmd.Process.Pid, syscall.SIGCONT)
	testkit.Check(t, lines.Scan() && strings.HasPrefix(lines.Text(), "certain=true: "),
		"the client that goes on said %q", lines.Text())
}

// TestKilledKeeper: the bridge ends with its keeper. Whatever survives ends when the next bridge of the run
// begins.
func TestKilledKeeper(t *testing.T) {
	locks, m := t.TempDir(), proctree.Mark{Run: testkit.Run(t), Bridge: "box"}
	f := begin(t, locks, m, time.Minute, proctree.ModeNever)
	bridgePID := f.bridgePID(t)
	signal(t, f.keeper.Process.Pid, syscall.SIGKILL)
	<-f.Done()
	f.await(t, "the bridge has ended", func() bool { return !isRunning(bridgePID) })
	next := begin(t, locks, m, time.Minute, proctree.ModeNever)
	next.await(t, "only the next bridge's agent runs", func() bool { return len(next.agents()) == 2 })
}

// TestFence: a bridge ends an earlier one of the same run and name, even one that is stopped with all its
// processes, and leaves bridges with other names alone.
func TestFence(t *testing.T) {
	for how, mode := range modes {
		t.Run(how, func(t *testing.T) {
			locks, m := t.TempDir(), proctree.Mark{Run: testkit.Run(t), Bridge: "box"}
			other := begin(t, locks, proctree.Mark{Run: testkit.Run(t), Bridge: "box-2"}, time.Minute, mode)
			first := begin(t, locks, m, time.Minute, mode)
			old := []int{first.keeper.Process.Pid, first.bridgePID(t)}
			for _, p := range first.agents() {
				old = append(old, p.PID)
			}
			for _, pid := range old {
				signal(t, pid, syscall.SIGSTOP)
			}
			second := begin(t, locks, m, time.Minute, mode)
			for _, pid := range old {
				testkit.Check(t, !isRunning(pid), "process %d of the first bridge lives", pid)
			}
			<-first.Done()
			testkit.Same(t, "processes of the second bridge", 2, len(second.agents()))
			testkit.Same(t, "processes of the other bridge", 2, len(other.agents()))
		})
	}
}

// TestContactHolds over two leases, and after an answered shutdown the end is certain. Nothing is left of the lock.
func TestContactHolds(t *testing.T) {
	t.Parallel()
	const lease = 4 * time.Second // a busy machine may keep a process waiting for a second
	locks := t.TempDir()
	f := begin(t, locks, proctree.Mark{Run: testkit.Run(t), Bridge: "box"}, lease, proctree.ModeNever)
	for began := bridge.BootTime(); ; {
		paused, over := pause(f.Done(), began+2*lease+time.Second)
		if over {
			break
		}
		testkit.Need(t, paused >= lease/4, "it ended: %v", f.Err())
		t.Logf("the machine paused for %v, so that the lease ended: %v", paused, f.Err())
		f = begin(t, locks, proctree.Mark{Run: testkit.Run(t), Bridge: "box"}, lease, proctree.ModeNever)
		began = bridge.BootTime()
	}
	testkit.Same(t, "processes after two leases", 2, len(f.agents()))
	testkit.Works(t, "Shutdown", testkit.Err(f.Shutdown(t.Context(), bridge.ShutdownParams{})))
	_, certain := f.Stopped()
	testkit.Check(t, certain && len(f.agents()) == 0, "certain: %v, and there are %v", certain, f.agents())
	f.Close()
	f.await(t, "the lock's file is gone", func() bool {
		left, err := os.ReadDir(locks)
		return err == nil && len(left) == 0
	})
}

// pause waits until a time, or until done is closed. It returns the longest time in which this process did not run:
// a virtual machine may be suspended, and a lease includes that time.
func pause(done <-chan struct{}, until time.Duration) (longest time.Duration, over bool) {
	const interval = 50 * time.Millisecond
	look := time.NewTicker(interval)
	defer look.Stop()
	last := bridge.BootTime()
	for last < until {
		ended := false
		select {
		case <-done:
			ended = true
		case <-look.C:
		}
		now := bridge.BootTime()
		longest = max(longest, now-last-interval)
		last = now
		if ended {
			return longest, false
		}
	}
	return longest, true
}

func signal(t *testing.T, pid int, sig syscall.Signal) {
	t.Helper()
	err := syscall.Kill(pid, sig)
	testkit.Need(t, err == nil || errors.Is(err, syscall.ESRCH), "%v", err)
}

// isRunning reports whether a process runs; a zombie does not.
func isRunning(pid int) bool {
	line, err := proctree.Lineage(pid)
	return err == nil && len(line) > 0 && !zombie(pid)
}
