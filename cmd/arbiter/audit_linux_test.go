package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// processesOf returns the processes of a run, its arbiter first.
func processesOf(s *script) []int {
	list := []int{s.cmd.Process.Pid}
	for pid := range survivors(s.run()) {
		list = append(list, pid)
	}
	return list
}

// noSecretArguments checks that no process of a run has a secret among its arguments.
func noSecretArguments(t *testing.T, s *script) {
	t.Helper()
	pids := processesOf(s)
	if len(pids) < 3 {
		t.Fatalf("only processes %v", pids)
	}
	for _, pid := range pids {
		raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		for _, entry := range append([]string{"=sk-ant-rehearsal"}, secretsSeeded...) {
			if _, value, _ := strings.Cut(entry, "="); strings.Contains(string(raw), value) {
				t.Errorf("process %d has a secret in its arguments: %s", pid, entry)
			}
		}
	}
}

// noListeners checks that no process of a run listens on TCP, except the rehearsal's model on loopback.
func noListeners(t *testing.T, s *script) {
	t.Helper()
	listening := map[string]string{} // address by inode
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		for in := bufio.NewScanner(f); in.Scan(); {
			if words := strings.Fields(in.Text()); len(words) > 9 && words[3] == "0A" {
				listening["socket:["+words[9]+"]"] = words[1]
			}
		}
		f.Close()
	}
	for _, pid := range processesOf(s) {
		links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, link := range links {
			target, _ := os.Readlink(link)
			at, ok := listening[target]
			if !ok {
				continue
			}
			if loopback := strings.HasPrefix(at, "0100007F:"); !loopback || pid != s.cmd.Process.Pid {
				t.Errorf("process %d listens on %s", pid, at)
			}
		}
	}
}
