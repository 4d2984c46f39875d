package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSecondOwnerIsRefused(t *testing.T) {
	s := newTestStore(t)
	r := createRun(t, s, testRun, Options{})
	_, _, err := s.Open(testRun, 0, Options{}, resumeTest)
	var held *HeldError
	if !errors.As(err, &held) || held.PID != os.Getpid() || held.Run != testRun || held.Gone ||
		held.CWD != r.Meta().CWD {
		t.Errorf("%v, %+v", err, held)
	}
	if err := s.Remove(testRun); !isHeld(err) {
		t.Errorf("remove: %v", err)
	}
	info, err := s.Find(testRun)
	if err != nil || !info.Live || info.PID != os.Getpid() {
		t.Errorf("%+v, %v", info, err)
	}
	closeRun(t, r)
	if info, err := s.Find(testRun); err != nil || info.Live {
		t.Errorf("after close: %+v, %v", info, err)
	}
}

// TestLockOfAnotherProcess: while the other process is running, the lock is refused with its name; when it was
// killed, the lock can be taken at once.
func TestLockOfAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	s := openTestStore(t, dir)
	c := startChild(t, "hold", dir, "")
	c.until("holding")
	_, _, err := s.Open(testRun, 0, Options{}, resumeTest)
	var held *HeldError
	if !errors.As(err, &held) || held.PID != c.cmd.Process.Pid ||
		!strings.Contains(err.Error(), fmt.Sprint("process ", held.PID)) {
		t.Fatalf("%v", err)
	}
	c.kill()
	r, rec := openRun(t, s, testRun, Options{}) // at once: a held lock would be an error
	if rec.Harmed() || rec.MetaLost != "" {
		t.Errorf("%+v", rec)
	}
	// And the other way round: the child is refused.
	if line := startChild(t, "open", dir, "").next(); line != fmt.Sprintf("held %d %s false", os.Getpid(), testRun) {
		t.Errorf("the other process: %s", line)
	}
	closeRun(t, r)
	if line := startChild(t, "open", dir, "").next(); line != "opened 0" {
		t.Errorf("the other process, after close: %s", line)
	}
}

// TestOpenWaits: Open waits for an ending owner.
func TestOpenWaits(t *testing.T) {
	dir := t.TempDir()
	s := openTestStore(t, dir)
	c := startChild(t, "hold", dir, "")
	c.until("holding")
	result := make(chan error, 1)
	go func() {
		r, _, err := s.Open(testRun, failAfter, Options{}, resumeTest)
		if err == nil {
			err = r.Close()
		}
		result <- err
	}()
	c.kill()
	if err := <-result; err != nil {
		t.Error(err)
	}
}

// TestInheritedLock: a child that inherited the lock keeps it when its parent is killed.
func TestInheritedLock(t *testing.T) {
	dir := t.TempDir()
	s := openTestStore(t, dir)
	c := startChild(t, "parent", dir, "")
	c.until("holding") // says the grandchild, on the same stdout
	c.cmd.Process.Kill()
	c.cmd.Process.Wait()
	_, _, err := s.Open(testRun, 200*time.Millisecond, Options{}, resumeTest)
	var held *HeldError
	if !errors.As(err, &held) || held.PID != c.cmd.Process.Pid || !held.Gone {
		t.Errorf("%v, %+v", err, held)
	}
	fmt.Fprintln(c.in) // the grandchild ends
	r, _, err := s.Open(testRun, failAfter, Options{}, resumeTest)
	if err != nil {
		t.Fatal(err)
	}
	closeRun(t, r)
}

func TestLockDir(t *testing.T) {
	s := newTestStore(t)
	cwd := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(cwd, link); err != nil {
		t.Fatal(err)
	}
	l, err := s.LockDir(cwd, testRun)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.LockDir(link, "second")
	var held *HeldError
	if !errors.As(err, &held) || held.PID != os.Getpid() || held.Run != testRun || held.CWD != cwd {
		t.Errorf("by another name: %v", err)
	}
	other, err := s.LockDir(t.TempDir(), "second")
	if err != nil {
		t.Errorf("another directory: %v", err)
	} else {
		other.Close()
	}
	if l.File() == nil {
		t.Error("the lock has no file")
	}
	l.Close()

	dir := s.root.Path()
	c := startChild(t, "lockdir", dir, cwd)
	c.until("holding")
	if _, err := s.LockDir(cwd, testRun); !errors.As(err, &held) || held.PID != c.cmd.Process.Pid ||
		held.Run != "other" {
		t.Errorf("held by another process: %v", err)
	}
	c.kill()
	if l, err = s.LockDir(cwd, testRun); err != nil {
		t.Errorf("a stale lock: %v", err)
	} else {
		l.Close()
	}
}

func TestOver(t *testing.T) {
	s := newTestStore(t)
	r := createRun(t, s, testRun, Options{})
	for _, run := range []string{testRun, "another", "../runs/" + testRun, ""} {
		if s.Over(run) {
			t.Errorf("%q is over", run)
		}
	}
	closeRun(t, r)
	if !s.Over(testRun) {
		t.Error("a run without a lock holder is not over")
	}
}
