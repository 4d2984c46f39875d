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

// heard is a test that keeps what is reported to it.
type heard struct {
	testing.TB
	text string
}

func (h *heard) Helper()                        {}
func (h *heard) Errorf(format string, a ...any) { h.text += fmt.Sprintf(format, a...) }

// TestChecks: what is as it has to be is not reported, and all else is.
func TestChecks(t *testing.T) {
	type pair struct{ A, B int }
	refused := fmt.Errorf("refused: %w", io.EOF)
	for want, check := range map[string]func(t testing.TB){
		"":                          func(t testing.TB) { Check(t, true, "wrong") },
		"wrong 3":                   func(t testing.TB) { Check(t, false, "wrong %d", 3) },
		"pair: A is 1, want 2":      func(t testing.TB) { Like(t, "pair", pair{A: 2}, pair{A: 1, B: 7}) },
		"left: there are 2: [a b]":  func(t testing.TB) { Empty(t, "left", []string{"a", "b"}) },
		"it: refused: EOF":          func(t testing.TB) { Works(t, "it", refused) },
		"it: no error":              func(t testing.TB) { Fails(t, "it", nil, io.EOF) },
		"it: refused: EOF; want ac": func(t testing.TB) { Fails(t, "it", refused, "refused", "accepted") },
		"want file already exists":  func(t testing.TB) { Fails(t, "it", refused, io.EOF, os.ErrExist) },
		"text: no \"c\" in":         func(t testing.TB) { Includes(t, "text", "ab", "a", "c") },
		"text: \"b\" is in":         func(t testing.TB) { Excludes(t, "text", "ab", "c", "b") },
	} {
		h := &heard{TB: t}
		check(h)
		Check(t, strings.Contains(h.text, want) && (want == "") == (h.text == ""), "%q was reported, want %q", h.text, want)
	}
	h := &heard{TB: t}
	Like(h, "pair", pair{A: 1}, pair{A: 1, B: 7})
	Empty(h, "list", []int{})
	Works(h, "it", nil)
	Fails(h, "it", refused, "refused", io.EOF)
	Includes(h, "text", "ab", "a", "b")
	Excludes(h, "text", "ab", "c")
	Check(t, h.text == "", "reported: %q", h.text)
}

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
