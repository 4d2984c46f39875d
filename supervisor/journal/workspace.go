package journal

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNoDirLock says that a file system cannot lock directories.
var ErrNoDirLock = errors.New("this file system does not lock directories")

// WorkspaceLock is a lock on a directory itself. It leaves no trace in the directory and excludes every process
// of this machine, whatever state directory and user it has.
type WorkspaceLock struct{ dir *os.File }

// LockWorkspace locks a directory. *HeldError says that another process has locked it, and which one, if the
// system knows; ErrNoDirLock that it cannot be locked.
func LockWorkspace(path string) (*WorkspaceLock, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("lock workspace: %w", errors.Join(ErrNoDirLock, err))
	}
	for deadline := time.Now().Add(lockGrace); ; time.Sleep(lockPoll) {
		err = retry(func() error { return unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB) })
		switch {
		case err == nil:
			return &WorkspaceLock{dir}, nil
		case errors.Is(err, unix.EWOULDBLOCK) && time.Now().Before(deadline):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			err = &HeldError{Path: path, PID: locker(dir)}
		default:
			err = errors.Join(ErrNoDirLock, err)
		}
		dir.Close()
		return nil, fmt.Errorf("lock workspace %s: %w", path, err)
	}
}

// WorkspaceHeld reports whether some process has locked a directory.
func WorkspaceHeld(path string) bool {
	l, err := LockWorkspace(path)
	if err == nil {
		l.Close()
	}
	var held *HeldError
	return errors.As(err, &held)
}

// Close releases the lock.
func (l *WorkspaceLock) Close() error { return l.dir.Close() }

// locker returns the process that holds a file's lock, according to Linux's list of locks; 0: not known.
func locker(f *os.File) int {
	var st unix.Stat_t
	list, err := os.ReadFile("/proc/locks")
	if err != nil || unix.Fstat(int(f.Fd()), &st) != nil {
		return 0
	}
	dev := uint64(st.Dev) // of another type on macOS
	file := fmt.Sprintf("%02x:%02x:%d", unix.Major(dev), unix.Minor(dev), st.Ino)
	for line := range strings.Lines(string(list)) {
		// 1: FLOCK  ADVISORY  WRITE 28196 fe:00:5310797 0 EOF
		if w := strings.Fields(line); len(w) > 5 && w[1] == "FLOCK" && w[5] == file {
			pid, _ := strconv.Atoi(w[4])
			return max(pid, 0)
		}
	}
	return 0
}
