package journal

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestLockWorkspace: a directory has one lock, by every path to it, and the lock leaves no file in it. The lock
// is released when its owner ends.
func TestLockWorkspace(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	testkit.OK(t, os.Symlink(dir, link))
	first, err := LockWorkspace(dir)
	if errors.Is(err, ErrNoDirLock) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = LockWorkspace(link)
	var held *HeldError
	if !errors.As(err, &held) || runtime.GOOS == "linux" && held.PID != os.Getpid() && held.PID != 0 {
		t.Errorf("a second lock: %v, by process %d", err, held.PID)
	}
	testkit.OK(t, first.Close())
	again := testkit.Must(LockWorkspace(link))(t)
	again.Close()
	if list, err := os.ReadDir(dir); err != nil || len(list) != 0 {
		t.Errorf("left in the workspace: %v, %v", list, err)
	}
	if _, err := LockWorkspace(filepath.Join(dir, "none")); !errors.Is(err, ErrNoDirLock) {
		t.Errorf("of a directory that is not there: %v", err)
	}
}
