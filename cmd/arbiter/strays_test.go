//go:build linux

package main

import (
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

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
