package trust

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/statedir"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/google/go-cmp/cmp"
)

func TestStore(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	w := rich(t)
	state := t.TempDir()
	s := testkit.Must(Open(state))(t)
	if _, ok, err := s.Trusted(w.dir); ok || err != nil {
		t.Fatalf("trusted before anything was: %v, %v", ok, err)
	}
	l := w.look("")
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	testkit.OK(t, s.Trust(w.dir, l, "a test", at))
	w.link(w.dir, "../alias") // under another name it is the same workspace
	got, ok, err := s.Trusted(filepath.Join(filepath.Dir(w.dir), "alias"))
	if err != nil || !ok || !cmp.Equal(got, l) {
		t.Errorf("trusted: %v, %v\n%s", ok, err, cmp.Diff(l, got))
	}
	if r, _, _ := s.Record(w.dir); r.By != "a test" || !r.At.Equal(at) {
		t.Errorf("record: %q, %v", r.By, r.At)
	}
	path, _, err := s.path(w.dir)
	testkit.OK(t, err)
	for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): os.ModeDir | 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
	w.write("scripts/guard.py", "other\n")
	now := w.look("")
	if err := s.Trust(w.dir, Listing{CWD: l.CWD, Root: l.Root, Items: now.Items, Hash: l.Hash}, "", at); err == nil {
		t.Error("a listing under another's hash was recorded")
	}
	if err := s.Trust(filepath.Join(w.dir, "src"), l, "", at); err == nil {
		t.Error("a listing of another workspace was recorded")
	}
	testkit.OK(t, s.Trust(w.dir, now, "again", at))
	if got, ok, err := s.Trusted(w.dir); !ok || err != nil || got.Hash != now.Hash {
		t.Errorf("trusted anew: %v, %v", ok, err)
	}
	for _, want := range []bool{true, false} {
		if was, err := s.Revoke(w.dir); was != want || err != nil {
			t.Errorf("revoke: %v, %v", was, err)
		}
	}
	if _, ok, err := s.Trusted(w.dir); ok || err != nil {
		t.Errorf("after that: %v, %v", ok, err)
	}
}

// TestLinkedStoreIsNotChanged: nothing is revoked through a link that took the place of the store.
func TestLinkedStoreIsNotChanged(t *testing.T) {
	w := rich(t)
	state := t.TempDir()
	s := testkit.Must(Open(state))(t)
	testkit.OK(t, s.Trust(w.dir, w.look(""), "a test", time.Now()))
	moved := filepath.Join(t.TempDir(), "moved")
	testkit.OK(t, errors.Join(os.Rename(s.dir, moved), os.Symlink(moved, s.dir)))
	if was, err := s.Revoke(w.dir); was || !errors.As(err, new(*statedir.UnsafeError)) {
		t.Errorf("revoke: %v, %v", was, err)
	}
	if entries, err := os.ReadDir(moved); len(entries) != 1 {
		t.Errorf("behind the link: %v, %v", entries, err)
	}
}

// TestOnAHost: what is trusted on a host counts only there, for the workspace that its agents work for, and is
// revoked with the trust in that workspace.
func TestOnAHost(t *testing.T) {
	w, other := rich(t), rich(t)
	s := testkit.Must(Open(t.TempDir()))(t)
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	near := w.look("")
	there := Listed("/far/run/orch-1", "/far/run/orch-1",
		[]Item{{Kind: KindSettings, File: ".claude/settings.json", SHA256: "aa"}})
	for _, err := range []error{s.Trust(w.dir, near, "", at), s.On("box").Trust(w.dir, there, "", at),
		s.On("box").Trust(other.dir, there, "", at)} {
		testkit.OK(t, err)
	}
	if err := s.Trust(w.dir, there, "", at); err == nil {
		t.Error("what is on a host was recorded as trusted here")
	}
	for host, want := range map[string]string{"": near.Hash, "box": there.Hash, "gpu": ""} {
		if got, ok, err := s.On(host).Trusted(w.dir); err != nil || ok != (want != "") || got.Hash != want {
			t.Errorf("on %q: %q, %v, %v", host, got.Hash, ok, err)
		}
	}
	forged, _, _ := s.On("gpu").path(w.dir) // the record of one host in the place of another's
	path, _, _ := s.On("box").path(w.dir)
	if raw, err := os.ReadFile(path); err != nil || os.WriteFile(forged, raw, 0o600) != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.On("gpu").Trusted(w.dir); ok || err == nil {
		t.Errorf("the record of another host: %v, %v", ok, err)
	}
	if was, err := s.Revoke(w.dir); !was || err != nil {
		t.Errorf("revoke: %v, %v", was, err)
	}
	if _, ok, err := s.On("box").Trusted(w.dir); ok || err != nil {
		t.Errorf("on the host after that: %v, %v", ok, err)
	}
	if _, ok, err := s.On("box").Trusted(other.dir); !ok || err != nil {
		t.Errorf("of another workspace: %v, %v", ok, err)
	}
}

// TestForgedRecords: a record that is not the user's own, or not complete, gives no trust.
func TestForgedRecords(t *testing.T) {
	w := rich(t)
	for _, c := range []struct {
		name  string
		forge func(path string) error
		want  string
	}{
		{"another hash", replace(`"hash": "`, `"hash": "0`), "changed by hand"},
		{"another item", replace(`"file": "scripts/guard.py"`, `"file": "scripts/other.py"`), "changed by hand"},
		{"another workspace", replace(`"cwd": "`, `"cwd": "/x`), "another workspace's"},
		{"a later version", replace(`"version": 1`, `"version": 2`), "version 2"},
		{"half of it", func(p string) error { return os.Truncate(p, 100) }, "unexpected end"},
		{"a link", func(p string) error { return firstError(os.Rename(p, p+".x"), os.Symlink(p+".x", p)) },
			"symbolic links"},
		{"a pipe", func(p string) error { return firstError(os.Remove(p), syscall.Mkfifo(p, 0o600)) },
			"not a regular file"},
		{"others write", func(p string) error { return os.Chmod(p, 0o666) }, "others may write it"},
		{"another's", func(p string) error { return os.Chown(p, 65534, 65534) }, "belongs to another user"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "another's" && os.Geteuid() != 0 {
				t.Skip("only root gives files away")
			}
			s := testkit.Must(Open(t.TempDir()))(t)
			testkit.OK(t, s.Trust(w.dir, w.look(""), "", time.Now()))
			path, _, _ := s.path(w.dir)
			testkit.OK(t, c.forge(path))
			if l, ok, err := s.Trusted(w.dir); ok || err == nil || !strings.Contains(err.Error(), c.want) ||
				l.Hash != "" {
				t.Errorf("trusted %v, %v; want %q", ok, err, c.want)
			}
			if was, err := s.Revoke(w.dir); !was || err != nil {
				t.Errorf("revoke: %v, %v", was, err)
			}
		})
	}
	state := t.TempDir()
	testkit.OK(t, os.Symlink(t.TempDir(), filepath.Join(state, "trust")))
	if _, err := Open(state); err == nil {
		t.Error("a link was taken for the directory")
	}
}

func replace(from, to string) func(string) error {
	return func(path string) error {
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, []byte(strings.Replace(string(raw), from, to, 1)), 0o600)
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
