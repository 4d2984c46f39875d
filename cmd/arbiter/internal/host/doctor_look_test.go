package host

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
)

// TestLooksAtADirectory: the directory is reported correctly, and the check leaves nothing behind.
func TestLooksAtADirectory(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "state")
	if p := Prove(filepath.Join(at, "below")); p.Exists || p.Problem != "" || p.Written != "" {
		t.Errorf("missing: %+v", p)
	}
	if err := os.Mkdir(at, 0o750); err != nil {
		t.Fatal(err)
	}
	if p := Prove(at); !p.Exists || p.Mode != 0o750 || p.Owner != os.Geteuid() || p.Written != "" || p.Synced <= 0 ||
		p.Free == 0 {
		t.Errorf("there: %+v", p)
	}
	if left, _ := os.ReadDir(at); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	link, file := filepath.Join(dir, "link"), filepath.Join(dir, "file")
	if err := os.Symlink(at, link); err != nil {
		t.Fatal(err)
	}
	if p := LookAt(link); !p.Link || !p.Exists {
		t.Errorf("link: %+v", p)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if p := LookAt(file); !strings.Contains(p.Problem, "not a directory") {
		t.Errorf("file: %+v", p)
	}
	if p := LookAt(filepath.Join(file, "below")); p.Problem == "" {
		t.Errorf("below a file: %+v", p)
	}
	if p := Prove("/proc/arbiter"); !strings.Contains(p.Written, "/proc/arbiter cannot be created") {
		t.Errorf("on a file system that takes nothing: %+v", p)
	}
}

// TestLooksForScratch: abandoned directories are found. Directories that are new, in use, have a socket with a
// listener, or have another name are not.
func TestLooksForScratch(t *testing.T) {
	place, err := os.MkdirTemp("", "d") // t.TempDir is too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(place)
	before := time.Now().Add(-time.Hour)
	for _, name := range []string{"arbiter-rehearsal-1", "arbiter-rehearsal-2", "arbiter-hook-1", "arbiter-hook-2",
		"arbiter-home-young", "arbiter-rehearsal-notes", "else"} {
		if err := os.MkdirAll(filepath.Join(place, name, "workspace"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"arbiter-hook-1", "arbiter-hook-2"} {
		l, err := net.Listen("unix", filepath.Join(place, dir, "s"))
		if err != nil {
			t.Fatal(err)
		}
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		if dir == "arbiter-hook-2" {
			defer l.Close()
		} else if err := l.Close(); err != nil { // as if its process had been killed
			t.Fatal(err)
		}
	}
	for _, name := range []string{"arbiter-rehearsal-1", "arbiter-rehearsal-2", "arbiter-hook-1", "arbiter-hook-2",
		"arbiter-rehearsal-notes", "else"} {
		if err := os.Chtimes(filepath.Join(place, name), before, before); err != nil {
			t.Fatal(err)
		}
	}
	var found []string
	for _, s := range LookForScratch([]string{place, place},
		[]string{filepath.Join(place, "arbiter-rehearsal-2", "workspace", "deep")}, os.Geteuid()) {
		found = append(found, filepath.Base(s.Path))
	}
	if got := strings.Join(found, " "); got != "arbiter-hook-1 arbiter-rehearsal-1" {
		t.Errorf("found %q", got)
	}
	if all := LookForScratch([]string{place}, nil, os.Geteuid()+1); len(all) > 0 {
		t.Errorf("another user's: %v", all)
	}
}

// TestScratchOfRunsIsLeftAlone: a directory with the mark of an existing run is not found, wherever the run is kept
// and however it ended. A directory of a removed run is found.
func TestScratchOfRunsIsLeftAlone(t *testing.T) {
	place, runs := t.TempDir(), t.TempDir()
	there, gone := filepath.Join(runs, "there"), filepath.Join(runs, "gone")
	if err := os.Mkdir(there, 0o700); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, prefix := range []string{command.ScratchRehearsal, command.ScratchSockets} {
		for _, owner := range []string{there, gone, filepath.Join(there, strings.Repeat("x", 300)),
			filepath.Join(runs, "none", "gone")} {
			dir, err := command.MakeScratch(place, prefix, owner)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Base(owner) == "gone" {
				want = append(want, dir)
			}
			before := time.Now().Add(-time.Hour)
			if err := os.Chtimes(dir, before, before); err != nil {
				t.Fatal(err)
			}
		}
	}
	var found []string
	for _, s := range LookForScratch([]string{place}, nil, os.Geteuid()) {
		found = append(found, s.Path)
	}
	slices.Sort(want)
	if !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
}

func TestScriptIsSound(t *testing.T) {
	if _, err := TrialScript(); err != nil {
		t.Error(err)
	}
}
