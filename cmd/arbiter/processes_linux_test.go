package main

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// awaitGone waits until no process of the run is alive. It waits on the processes themselves.
func awaitGone(t *testing.T, run string) {
	t.Helper()
	deadline := time.Now().Add(waitTimeout)
	for {
		left := survivors(run)
		if len(left) == 0 {
			return
		}
		for pid := range left {
			fd, err := unix.PidfdOpen(pid, 0)
			if err != nil {
				continue // it has ended meanwhile
			}
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}},
				int(time.Until(deadline).Milliseconds()))
			_ = unix.Close(fd)
			testkit.Need(t, err == unix.EINTR || n != 0, "still alive: %v", left)
		}
	}
}

// awaitSurvivors waits until that many processes of the run are left.
func awaitSurvivors(t *testing.T, run string, want int) {
	t.Helper()
	testkit.Await(t, fmt.Sprintf("%d processes that are left", want), func() bool { return len(survivors(run)) == want })
}

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
	testkit.Need(t, len(pids) >= 3, "only processes %v", pids)
	for _, pid := range pids {
		raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		for _, entry := range append([]string{"=sk-ant-rehearsal"}, secretsSeeded...) {
			_, value, _ := strings.Cut(entry, "=")
			testkit.Check(t, !strings.Contains(string(raw), value), "process %d has a secret in its arguments: %s", pid, entry)
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
			loopback := strings.HasPrefix(at, "0100007F:")
			testkit.Check(t, loopback && pid == s.cmd.Process.Pid, "process %d listens on %s", pid, at)
		}
	}
}

// TestRunWithUnreadableLockIsLive: arbiter treats a run with an unreadable lock as live, and leaves its
// processes alone.
func TestRunWithUnreadableLockIsLive(t *testing.T) {
	dir := t.TempDir()
	store := testkit.Must(journal.OpenStore(dir))(t)
	defer store.Close()
	run := testkit.Must(store.Create(journal.Meta{Run: rand.Text(), CWD: dir, Began: time.Now()}, journal.Options{}))(t)
	id := run.ID()
	testkit.OK(t, run.Close())
	agent := exec.Command("/bin/sleep", "1000")
	agent.Env = proctree.Mark{Run: id, Agent: "orch-1.1"}.Env()
	testkit.OK(t, agent.Start())
	gone := make(chan error, 1)
	go func() { gone <- agent.Wait() }()
	defer func() { _ = agent.Process.Kill() }()

	lock, kept := filepath.Join(dir, "runs", id, "lock"), filepath.Join(dir, "kept")
	testkit.OK(t, errors.Join(os.Rename(lock, kept), os.Mkdir(lock, 0o700)))
	spared := func(what string) {
		t.Helper()
		testkit.Same(t, what, "", runstore.EndStrays(store))
		err := agent.Process.Signal(syscall.Signal(0))
		testkit.Need(t, err == nil, "%s: its process was ended: %v", what, err)
	}
	spared("a lock that cannot be read")
	testkit.OK(t, os.Remove(lock))
	spared("a lock that is missing")
	testkit.OK(t, os.Rename(kept, lock))
	testkit.Same(t, "with its lock again", "ended processes that 1 earlier run had left behind: 1 process",
		runstore.EndStrays(store))
	select {
	case <-gone:
	case <-time.After(waitTimeout):
		t.Error("its process lives")
	}
}
