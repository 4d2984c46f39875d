package proctree

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func init() {
	roles["locked"] = func([]string) { // holds the file that it inherited, and starts one more process
		if err := HoldInheritedLock(); err != nil {
			fmt.Println("failed", err)
			return
		}
		if value, there := os.LookupEnv(EnvLock); there {
			fmt.Println("failed", EnvLock, value)
			return
		}
		cmd := exec.Command("/bin/sleep", "1000")
		if err := cmd.Start(); err != nil {
			fmt.Println("failed", err)
			return
		}
		fmt.Println("up", cmd.Process.Pid)
		_, _ = os.Stdin.Read(make([]byte, 1))
	}
}

// take opens file and locks it; if another process holds the lock, the error is unix.EWOULDBLOCK.
func take(file string) (*os.File, error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// TestLockIsHeldByBoth: the lock stays held after its owner has released it, until the process that
// inherited it ends; a child of that process does not prolong it.
func TestLockIsHeldByBoth(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	lock := testkit.Must(take(file))(t)
	defer lock.Close()
	other, err := os.Open(os.DevNull) // the descriptor's number is also right if others precede it
	testkit.OK(t, err)
	defer other.Close()
	cmd := again(os.Args[0], "locked")
	cmd.ExtraFiles = []*os.File{other}
	InheritLock(cmd, lock)
	stdin := testkit.Must(cmd.StdinPipe())(t)
	out, w, err := os.Pipe()
	testkit.OK(t, err)
	defer out.Close()
	cmd.Stdout = w
	c, err := Start(cmd, Mark{Run: testkit.Run(t)})
	w.Close()
	testkit.OK(t, err)
	t.Cleanup(func() { kill(t, c) })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "up") {
		t.Fatalf("it said %q, %v", line, err)
	}
	lock.Close()
	if _, err := take(file); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("the lock can be taken while the other lives: %v", err)
	}
	stdin.Close()
	<-c.Done()
	if len(Survivors(testkit.Run(t))) == 0 {
		t.Error("no process outlived it: the test could not fail")
	}
	again, err := take(file)
	if err != nil {
		t.Fatalf("take it when the other has ended: %v", err)
	}
	again.Close()
}

func TestHoldInheritedRefuses(t *testing.T) {
	r, w, err := os.Pipe()
	testkit.OK(t, err)
	defer r.Close()
	defer w.Close()
	for _, value := range []string{"", "x", "1", "-3", "99999", fmt.Sprint(r.Fd())} {
		t.Setenv(EnvLock, value)
		if err := HoldInheritedLock(); err == nil {
			t.Errorf("%q was held", value)
		}
		if err := HoldInheritedLock(); err != nil {
			t.Errorf("without the variable: %v", err)
		}
	}
}
