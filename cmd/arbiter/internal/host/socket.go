package host

// This file listens on the Unix sockets of a run, each at a path that only the user can access. A listener
// has one owner; Close removes the socket. The package has no goroutines.

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
)

// maxPath is the maximum length of a Unix socket's path: 107 bytes on Linux, 103 on macOS.
const maxPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// Listener listens on a socket of a run: in the run's directory or, if that has too long a path or is accessible to
// others, in a directory of its own, with a link in the run's directory.
type Listener struct {
	*net.UnixListener
	Path string // of the socket
	link string // link to the socket; "" if there is none
	own  string // directory made for the socket; "" if there is none
}

// Listen listens in a run's directory. No other process may use the directory at the same time, so an existing
// socket belongs to a dead arbiter.
func Listen(dir, name string) (*Listener, error) {
	l, err := find(dir, name)
	if err != nil {
		return nil, err
	}
	if l.UnixListener, err = net.ListenUnix("unix", &net.UnixAddr{Name: l.Path, Net: "unix"}); err == nil {
		err = os.Chmod(l.Path, 0o600)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Close closes the listener, if it is open, and removes what was created for it.
func (l *Listener) Close() error {
	var errs []error
	if l.UnixListener != nil {
		if err := l.UnixListener.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	paths := []string{l.Path, l.link}
	if l.own != "" {
		paths = append(paths, filepath.Join(l.own, command.ScratchMark), l.own)
	}
	for _, path := range paths {
		if err := os.Remove(path); path != "" && err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// find removes an old socket from the run's directory, and chooses another directory if needed.
func find(dir, name string) (*Listener, error) {
	path := filepath.Join(dir, name)
	if err := makeWay(path); err != nil {
		return nil, err
	}
	if len(path) <= maxPath && private(dir) {
		return &Listener{Path: path}, nil
	}
	var errs []error
	for _, base := range []string{os.Getenv("XDG_RUNTIME_DIR"), os.TempDir(), "/tmp"} {
		if !filepath.IsAbs(base) {
			continue
		}
		own, err := command.MakeScratch(base, command.ScratchSockets, dir)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		l := &Listener{Path: filepath.Join(own, name), own: own}
		if len(l.Path) > maxPath {
			errs = append(errs, fmt.Errorf("%s is too long a name for a socket", l.Path), l.Close())
			continue
		}
		if err := os.Symlink(l.Path, path); err != nil {
			return nil, errors.Join(err, l.Close())
		}
		l.link = path
		return l, nil
	}
	return nil, errors.Join(errs...)
}

// makeWay removes what a killed arbiter has left: its socket, or the link with the directory that it points to. It
// removes nothing else.
func makeWay(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() == fs.ModeSymlink:
		if target, err := os.Readlink(path); err == nil &&
			strings.HasPrefix(filepath.Base(filepath.Dir(target)), command.ScratchSockets) {
			own := filepath.Dir(target)
			for _, path := range []string{target, filepath.Join(own, command.ScratchMark), own} {
				_ = os.Remove(path) // they may have been removed at a reboot
			}
		}
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s exists and is not a socket", path)
	}
	return os.Remove(path)
}

// private reports whether only the user can access a directory.
func private(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir() && info.Mode().Perm()&0o077 == 0
}
