package main

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHookPlaces(t *testing.T) {
	long := filepath.Join(shortDir(t), strings.Repeat("x", maxSocketPath))
	open := shortDir(t)
	for dir, mode := range map[string]os.FileMode{long: 0o700, open: 0o755} {
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.Chmod(dir, mode)); err != nil {
			t.Fatal(err)
		}
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
			path := filepath.Join(c.dir, hookSocketName)
			for range 2 { // the second finds what a killed one left
				place, err := findHookPlace(c.dir)
				if err != nil {
					t.Fatal(err)
				}
				l, err := place.listen()
				if err != nil {
					t.Fatal(err)
				}
				if away := strings.HasPrefix(place.socket, runtimeDir+"/"+hookDirPrefix); away != c.away || away != (place.link == path) {
					t.Errorf("place %+v", place)
				}
				for file, want := range map[string]os.FileMode{place.socket: 0o600, filepath.Dir(place.socket): 0o700} {
					if info, err := os.Stat(file); err != nil || info.Mode().Perm() != want {
						t.Errorf("%s: %v, %v", file, info.Mode(), err)
					}
				}
				l.SetUnlinkOnClose(false) // as if killed
				l.Close()
			}
			s := newHouse().serve(t, c.dir)
			if left, _ := os.ReadDir(runtimeDir); c.away && len(left) != 1 {
				t.Errorf("left in the runtime directory: %v", left)
			}
			if got := askServer(t, s, bashOf("x")); got != "{}" {
				t.Errorf("answer %s", got)
			}
		})
	}
	if left, _ := os.ReadDir(runtimeDir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestHookPlaceIsNotCleared: only sockets of ours make way.
func TestHookPlaceIsNotCleared(t *testing.T) {
	dir := shortDir(t)
	path := filepath.Join(dir, hookSocketName)
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := serveHooks(dir, newHouse().speak(), slog.New(slog.DiscardHandler)); err == nil {
		s.Close()
		t.Error("a file was taken for a socket")
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "precious" {
		t.Errorf("%q, %v", got, err)
	}
	elsewhere := filepath.Join(shortDir(t), "precious")
	if err := errors.Join(os.Remove(path), os.WriteFile(elsewhere, nil, 0o600), os.Symlink(elsewhere, path)); err != nil {
		t.Fatal(err)
	}
	newHouse().serve(t, dir)
	if _, err := os.Stat(elsewhere); err != nil {
		t.Errorf("what a link of somebody else's led to: %v", err)
	}
}

func TestHookWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	if !hookWritten(path, "toolu_1") {
		t.Error("a transcript that is not there is waited for")
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("{}\n")
	if hookWritten(path, "toolu_1") {
		t.Error("found what is not there")
	}
	write(strings.Repeat("x", 2*hookTail) + `{"id":"toolu_1"}` + strings.Repeat("y", hookTail/2))
	if !hookWritten(path, "toolu_1") {
		t.Error("not found near the end")
	}
}
