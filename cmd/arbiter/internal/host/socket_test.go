package host

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestPlaces(t *testing.T) {
	long := filepath.Join(shortDir(t), strings.Repeat("x", maxPath))
	open := shortDir(t)
	for dir, mode := range map[string]os.FileMode{long: 0o700, open: 0o755} {
		testkit.OK(t, errors.Join(os.MkdirAll(dir, 0o700), os.Chmod(dir, mode)))
	}
	runtimeDir := shortDir(t)
	t.Setenv("XDG_RUNTIME_DIR", runtimeDir)
	for name, c := range map[string]struct {
		dir  string
		away bool
	}{
		"private": {shortDir(t), false},
		"long":    {long, true},
		"open":    {open, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(c.dir, "s")
			for range 2 { // the second one finds what a killed one left
				l := testkit.Must(Listen(c.dir, "s"))(t)
				away := strings.HasPrefix(l.Path, runtimeDir+"/"+command.ScratchSockets)
				testkit.Check(t, away == c.away && away == (l.link == path), "place %+v", l)
				for file, want := range map[string]os.FileMode{l.Path: 0o600, filepath.Dir(l.Path): 0o700} {
					info, err := os.Stat(file)
					testkit.Check(t, err == nil && info.Mode().Perm() == want, "%s: %v, %v", file, info.Mode(), err)
				}
				l.SetUnlinkOnClose(false) // as if killed
				l.UnixListener.Close()
			}
			l := testkit.Must(Listen(c.dir, "s"))(t)
			left, _ := os.ReadDir(runtimeDir)
			testkit.Check(t, !c.away || len(left) == 1, "left in the runtime directory: %v", left)
			if conn, err := net.Dial("unix", path); err != nil && len(path) <= maxPath {
				t.Error(err) // through the link, too
			} else if err == nil {
				conn.Close()
			}
			testkit.Works(t, "Close", l.Close())
			testkit.Works(t, "closed again", l.Close())
		})
	}
	left, _ := os.ReadDir(runtimeDir)
	testkit.Check(t, len(left) == 0, "left behind: %v", left)
}

// TestOthersAreNotCleared: only sockets of arbiter are removed.
func TestOthersAreNotCleared(t *testing.T) {
	dir := shortDir(t)
	path := filepath.Join(dir, "s")
	testkit.OK(t, os.WriteFile(path, []byte("precious"), 0o600))
	if l, err := Listen(dir, "s"); err == nil {
		l.Close()
		t.Error("a file was taken for a socket")
	}
	got, err := os.ReadFile(path)
	testkit.Check(t, err == nil && string(got) == "precious", "%q, %v", got, err)
	elsewhere := filepath.Join(shortDir(t), "precious")
	testkit.OK(t, errors.Join(os.Remove(path), os.WriteFile(elsewhere, nil, 0o600),
		os.Symlink(elsewhere, path)))
	l := testkit.Must(Listen(dir, "s"))(t)
	t.Cleanup(func() { l.Close() })
	testkit.Works(t, "what a link of somebody else's led to", testkit.Err(os.Stat(elsewhere)))
}
