package fakecli

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
)

// The orphan fault leaves a process behind that can be recognized only by its environment.
func TestOrphanOutlivesTheStandIn(t *testing.T) {
	marker := "ARBITER_TEST_ORPHAN=" + newUUID()
	c := &corpus.WireCase{
		Name:    "orphan",
		Replies: []corpus.WireReply{{Blocks: []corpus.WireBlock{{Text: "ok"}}}},
		Runs: []corpus.WireProcess{{Steps: []corpus.WireStep{
			{Op: ">", Arg: `{"type":"user","message":{"role":"user","content":"go"}}`},
			{Op: "<", Arg: `{"type":"result","result":"ok"}`},
			{Op: "eof"},
			{Op: "exit", Arg: "0"},
		}}},
	}
	t.Cleanup(func() {
		for _, pid := range processesWith(t, marker) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	corpus.RunCase(t, c, corpus.WireProgram{Path: os.Args[0],
		Env: []string{asStandIn + "=1", FaultVariable + "=orphan", marker}})
	orphan := awaitProcess(t, marker)
	if sid, err := getsid(orphan); err != nil || sid == ourSession(t) {
		t.Errorf("the orphan is in session %d (%v), like the test itself", sid, err)
	}
}

// awaitProcess waits until there is such a process: its environment cannot be read between fork and exec.
func awaitProcess(t *testing.T, marker string) int {
	t.Helper()
	deadline := time.NewTimer(2 * time.Minute)
	defer deadline.Stop()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		if pids := processesWith(t, marker); len(pids) == 1 {
			return pids[0]
		}
		select {
		case <-look.C:
		case <-deadline.C:
			t.Fatalf("processes left: %v, want the orphan alone", processesWith(t, marker))
		}
	}
}

func processesWith(t *testing.T, marker string) (pids []int) {
	t.Helper()
	paths := testkit.Must(filepath.Glob("/proc/[0-9]*/environ"))(t)
	for _, p := range paths {
		raw, err := os.ReadFile(p)
		if err != nil || !bytes.Contains(raw, []byte(marker)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(p))); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

func getsid(pid int) (int, error) {
	sid, _, errno := syscall.Syscall(syscall.SYS_GETSID, uintptr(pid), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(sid), nil
}

func ourSession(t *testing.T) int {
	t.Helper()
	sid := testkit.Must(getsid(os.Getpid()))(t)
	return sid
}
