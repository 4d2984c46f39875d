package testkit

import (
	"bufio"
	"fmt"
	"io"
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
	needHosts(t, "/usr/sbin/sshd")
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends a child with its parent")
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), servesEnv+"=1")
	out := Must(cmd.StdoutPipe())(t)
	in := Must(cmd.StdinPipe())(t)
	defer in.Close()
	OK(t, cmd.Start())
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
