package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxSocketPath is how long the name of a unix socket may be: 107 bytes on Linux,
// 103 on macOS.
const maxSocketPath = len(syscall.RawSockaddrUnix{}.Path) - 1

const hookDirPrefix = "arbiter-hook-"

// hookPlace is where a socket of a run's lies, for hooks or for control: in the run's directory or, where
// that has too long a name or is open to others, in one of its own, with a link in
// the run's.
type hookPlace struct {
	socket string
	link   string // to the socket; "" where there is none
	own    string // directory made for it; "" where there is none
}

// findHookPlace is the place of the socket for hooks.
func findHookPlace(dir string) (*hookPlace, error) { return findSocketPlace(dir, hookSocketName) }

// findSocketPlace makes room in the run's directory, and finds another if need be.
func findSocketPlace(dir, name string) (*hookPlace, error) {
	path := filepath.Join(dir, name)
	if err := clearHookPlace(path); err != nil {
		return nil, err
	}
	if len(path) <= maxSocketPath && private(dir) {
		return &hookPlace{socket: path}, nil
	}
	var errs []error
	for _, base := range []string{os.Getenv("XDG_RUNTIME_DIR"), os.TempDir(), "/tmp"} {
		if !filepath.IsAbs(base) {
			continue
		}
		own, err := os.MkdirTemp(base, hookDirPrefix) // 0700
		if err != nil {
			errs = append(errs, err)
			continue
		}
		p := &hookPlace{socket: filepath.Join(own, name), own: own}
		if len(p.socket) > maxSocketPath {
			errs = append(errs, fmt.Errorf("%s is too long a name for a socket", p.socket), p.remove())
			continue
		}
		if err := os.Symlink(p.socket, path); err != nil {
			return nil, errors.Join(err, p.remove())
		}
		p.link = path
		return p, nil
	}
	return nil, errors.Join(errs...)
}

// clearHookPlace removes what a killed arbiter has left: its socket, or the link to
// it with the directory it leads to. Anything else is none of ours.
func clearHookPlace(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() == fs.ModeSymlink:
		if target, err := os.Readlink(path); err == nil && strings.HasPrefix(filepath.Base(filepath.Dir(target)), hookDirPrefix) {
			_ = os.Remove(target) // they may be gone with the last boot
			_ = os.Remove(filepath.Dir(target))
		}
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is in the way, and is no socket", path)
	}
	return os.Remove(path)
}

// private says whether a directory is closed to everybody else.
func private(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir() && info.Mode().Perm()&0o077 == 0
}

func (p *hookPlace) listen() (*net.UnixListener, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: p.socket, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(p.socket, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// remove takes away what is left once the listener has closed, which unlinks the
// socket.
func (p *hookPlace) remove() error {
	var errs []error
	for _, path := range []string{p.socket, p.link, p.own} {
		if path == "" {
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
