package proctree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	roles["attacked"] = func([]string) { verdict(attacked()) }
	roles["reuse"] = func([]string) { verdict(reuse()) }
	roles["above"] = func([]string) { verdict(above()) }
}

// attacked is a subreaper whose agent tries to kill it.
func attacked() error {
	if _, err := EnterNamespace(); err != nil {
		return err
	}
	release, err := BecomeSubreaper()
	if err != nil {
		return err
	}
	defer release()
	sh := exec.Command("/bin/sh", "-c", "kill -9 $PPID; kill -9 1; kill -STOP 1; kill -9 -1")
	sh.Env = []string{}
	c, err := Start(sh, Mark{})
	if err != nil {
		return err
	}
	_ = c.Wait()
	return nil
}

// TestAgentCannotKillItsSubreaper: processes inside a namespace can neither kill nor stop its first
// process.
func TestAgentCannotKillItsSubreaper(t *testing.T) {
	judged(t, isolated(t, again(os.Args[0], "attacked")))
}

// reuse makes the kernel reuse a pid, for a child and not for a thread of this process, which would keep
// it.
func reuse() error {
	if _, err := EnterNamespace(); err != nil {
		return err
	}
	release, err := BecomeSubreaper()
	if err != nil {
		return err
	}
	defer release()
	for {
		if err := reuseOne(); !errors.Is(err, errOurThread) {
			return err
		}
	}
}

var errOurThread = errors.New("a thread has the number")

func reuseOne() error {
	old, err := startQuietly("sleeper")
	if err != nil {
		return err
	}
	was, err := procAt(old.PID())
	if err != nil {
		return err
	}
	old.Remember()
	if err := unix.Kill(old.PID(), unix.SIGKILL); err != nil {
		return err
	}
	_ = old.Wait()
	young, err := sameNumber(was)
	if err != nil {
		return err
	}
	if err := was.signal(unix.SIGKILL); !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signal by pid and start: %v", err)
	}
	if err := old.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	if n, err := old.Kill(context.Background()); n != 0 || err != nil {
		return fmt.Errorf("killing one that has ended: %d others, %w", n, err)
	}
	if young.State() != nil || !alive(young.PID()) {
		return errors.New("who got the number later was killed")
	}
	_, err = young.Kill(context.Background())
	return err
}

// sameNumber starts children until one has the pid of was with another start time.
func sameNumber(was proc) (*Child, error) {
	var young *Child
	var failed error
	err := until("the number is used again", func() bool {
		failed = os.WriteFile("/proc/sys/kernel/ns_last_pid", fmt.Append(nil, was.pid-1), 0)
		if failed != nil {
			return true
		}
		cmd := again(os.Args[0], "sleeper")
		if young, failed = Start(cmd, Mark{Run: "later", Agent: "a.1"}); failed != nil {
			return true
		}
		if is, err := procAt(young.PID()); err == nil && is.pid == was.pid && is.start != was.start {
			return true
		}
		if _, failed = young.Kill(context.Background()); failed != nil {
			return true
		}
		if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", was.pid)); err == nil {
			failed = errOurThread
		}
		return failed != nil
	})
	return young, errors.Join(err, failed)
}

func TestPidReuse(t *testing.T) {
	judged(t, isolated(t, again(os.Args[0], "reuse")))
}

// above starts a subreaper as arbiter does without namespaces, and kills it.
func above() error {
	if err := AdoptOrphans(); err != nil {
		return err
	}
	cmd := again(os.Args[0], "holder")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if _, err := out.Read(make([]byte, 100)); err != nil {
		return err
	}
	if n := ours(); n != held+1 {
		return fmt.Errorf("%d stand, want %d", n, held+1)
	}
	if err := cmd.Process.Kill(); err != nil {
		return err
	}
	if err := cmd.Wait(); cmd.ProcessState == nil {
		return fmt.Errorf("the subreaper's exit status was taken: %w", err)
	}
	if n := Sweep(heldBy(cmd.Process.Pid), ""); n != held {
		return fmt.Errorf("%d swept, want %d", n, held)
	}
	if n := ours(); n != 0 {
		return fmt.Errorf("%d are left", n)
	}
	return nil
}

// ours counts the descendants of this process.
func ours() int {
	s := scan()
	me := s.byPID[os.Getpid()]
	return len(s.descendants(map[procKey]bool{me.key(): true}))
}

// TestKilledSubreaperIsSweptFromAbove: without a namespace, a process without a mark is found because it
// was adopted.
func TestKilledSubreaperIsSweptFromAbove(t *testing.T) {
	judged(t, again(os.Args[0], "above"))
}
