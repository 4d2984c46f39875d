package hosttest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// servesEnv makes TestKilledTestLeavesNoServer start a server and wait.
const servesEnv = "HOSTTEST_SERVES"

// TestKilledTestLeavesNoServer: a killed test binary runs no cleanup, but its sshd still ends.
func TestKilledTestLeavesNoServer(t *testing.T) {
	if os.Getenv(servesEnv) != "" {
		fmt.Println("serves", NewSSH(t).Config)
		_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
		return
	}
	need(t, "/usr/sbin/sshd")
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends a child with its parent")
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), servesEnv+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	config, ok := strings.CutPrefix(strings.TrimSpace(line), "serves ")
	if killed := cmd.Process.Kill(); err != nil || !ok || killed != nil {
		t.Fatalf("%q, %v, %v", line, err, killed)
	}
	_ = cmd.Wait() // it was killed
	dir := filepath.Dir(config)
	defer os.RemoveAll(dir)
	Await(t, "the end of sshd", func() bool {
		commands, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, c := range commands {
			if raw, _ := os.ReadFile(c); strings.Contains(string(raw), dir) {
				return false
			}
		}
		return true
	})
}

func TestSSH(t *testing.T) {
	s := NewSSH(t, "OF_THE_TEST=yes")
	if got := s.Run("id -un; echo $HOME $OF_THE_TEST; command -v sh"); got != Account+"\n"+s.Home+" yes\n/usr/bin/sh" {
		t.Errorf("%q", got)
	}
	if s.Relay.Passed() == 0 {
		t.Error("the client did not go through the relay")
	}
	s.Configure("Port 1")
	if out, err := exec.Command(s.Command[0], append(s.Command[1:], "true")...).CombinedOutput(); err == nil {
		t.Errorf("the first line of the configuration does not count: %s", out)
	}
}

func TestSlurm(t *testing.T) {
	s := NewSlurm(t)
	for _, node := range []string{"n1", "n2"} {
		argv := append(s.Command(node), "printenv", "SLURMD_NODENAME")
		if got := must(t, argv[0], argv[1:]...); got != node {
			t.Errorf("%s: %q", node, got)
		}
	}
	Await(t, "no jobs", func() bool { return len(s.Jobs(t)) == 0 })
}

func TestRelay(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() { // ends with the listener
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	r := NewRelay(t, l.Addr().String())
	dial := func() net.Conn {
		c, err := net.Dial("tcp", r.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	echoed := func(c net.Conn) {
		t.Helper()
		buf := make([]byte, 5)
		if _, err := io.ReadFull(c, buf); err != nil || string(buf) != "hello" {
			t.Errorf("%q, %v", buf, err)
		}
	}
	send := func(c net.Conn) {
		t.Helper()
		if _, err := io.WriteString(c, "hello"); err != nil {
			t.Error(err)
		}
	}
	c := dial()
	send(c)
	echoed(c)

	r.Hole()
	before := r.Passed()
	send(c)
	late := dial()
	send(late)
	if got := r.Passed(); got != before {
		t.Errorf("%d bytes went through a hole", got-before)
	}
	r.Restore()
	echoed(c)
	echoed(late)

	r.Cut()
	if _, err := io.ReadAll(c); err == nil || !strings.Contains(err.Error(), "reset") {
		t.Errorf("after a cut: %v", err)
	}
	if fresh, err := net.Dial("tcp", r.Addr()); err == nil {
		if _, err := io.ReadAll(fresh); err == nil {
			t.Error("a new connection goes through a cut")
		}
		_ = fresh.Close()
	}
	r.Restore()
	c = dial()
	send(c)
	echoed(c)
	r.Reset()
	if _, err := io.ReadAll(c); err == nil {
		t.Error("a reset did nothing")
	}
	c = dial()
	send(c)
	echoed(c)
}
