package proctree

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// EnvLock names the descriptor of an inherited lock file.
const EnvLock = "ARBITER_LOCK_FD"

// InheritLock makes the process that cmd will start hold f open too. f is locked with flock, and such a
// lock lasts until the last copy of its descriptor is closed, so the lock is held as long as either process
// runs. The parent must release it by closing f, never by unlocking, which would release it for both. The
// caller keeps ownership of f.
func InheritLock(cmd *exec.Cmd, f *os.File) {
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d", EnvLock, 2+len(cmd.ExtraFiles)))
}

// HoldInheritedLock keeps the lock file that [InheritLock] passed to this process open until it ends, and
// does not let children inherit it: they would hold the lock as long as any of them runs. Call it before
// any child is started and after [EnterNamespace]. Without a lock it does nothing.
func HoldInheritedLock() error {
	value, given := os.LookupEnv(EnvLock)
	if !given {
		return nil
	}
	_ = os.Unsetenv(EnvLock) // the name is well-formed
	fd, err := strconv.Atoi(value)
	if err == nil && fd < 3 {
		err = errors.New("it is a standard stream")
	}
	var info unix.Stat_t
	if err == nil {
		err = unix.Fstat(fd, &info)
	}
	if err == nil && info.Mode&unix.S_IFMT != unix.S_IFREG {
		err = errors.New("it is not a regular file") // so it is not a lock of arbiter
	}
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC)
	}
	if err != nil {
		return fmt.Errorf("hold the inherited lock, descriptor %q: %w", value, err)
	}
	// No os.File is made from the descriptor: the garbage collector would close it.
	return nil
}

// SocketPair returns two connected sockets that no child inherits by chance.
func SocketPair() ([2]int, error) {
	syscall.ForkLock.RLock() // the library has no flag for this that macOS supports
	defer syscall.ForkLock.RUnlock()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(pair[0])
		unix.CloseOnExec(pair[1])
	}
	return pair, err
}

// KeepFiles prevents children from inheriting any file that this process has open, except the standard
// streams. Its own files are inherited only by [InheritLock], but its parent may have left it a file, a
// socket or another program's lock.
func KeepFiles() error {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return fmt.Errorf("find the open files: %w", err)
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd) // the directory's own is closed again
		}
	}
	return nil
}
