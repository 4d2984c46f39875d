package decider

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func openDir(t *testing.T, dir string, n int) *DirStore {
	t.Helper()
	s := testkit.Must(OpenDirStore(dir, n, func(err error) { t.Error(err) }))(t)
	t.Cleanup(func() { s.Close() })
	return s
}

func keyNumber(i int) string { return Cached{}.key(SelectAgentInput{Task: fmt.Sprint(i)}) }

func TestDirStoreOutlivesItsProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "decisions")
	want := Decision{Decision: SelectMode, Mode: tester, Reason: "Täst <it>.", Message: "Run them all.",
		Source: ByModel}
	first := openDir(t, dir, 0)
	first.Put(keyNumber(1), Decision{Reason: "before"})
	first.Put(keyNumber(1), want)
	testkit.OK(t, first.Close())
	got, ok := openDir(t, dir, 0).Get(keyNumber(1))
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Errorf("found %v (-want +got):\n%s", ok, diff)
	}
	if _, ok := openDir(t, dir, 0).Get(keyNumber(2)); ok {
		t.Error("found an entry that was never stored")
	}
	if _, ok := first.Get(keyNumber(1)); ok {
		t.Error("a closed store still answers")
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("%d files, %v; want one", len(files), err)
	}
	for path, mode := range map[string]os.FileMode{dir: 0o700 | os.ModeDir,
		filepath.Join(dir, files[0].Name()): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != mode {
			t.Errorf("%s has mode %v, %v; want %v", path, info.Mode(), err, mode)
		}
	}
}

func TestDirStoreIgnoresDamage(t *testing.T) {
	dir := t.TempDir()
	s := openDir(t, dir, 0)
	file := filepath.Join(dir, keyNumber(1)+entrySuffix)
	s.Put(keyNumber(1), Decision{Decision: Retry, Reason: "The thread is cut."})
	whole := testkit.Must(os.ReadFile(file))(t)
	for name, text := range map[string][]byte{
		"empty":          {},
		"cut short":      whole[:len(whole)/2],
		"another word":   bytes.Replace(whole, []byte("cut"), []byte("cat"), 1),
		"another's":      bytes.Replace(whole, []byte(keyNumber(1)), []byte(keyNumber(2)), 1),
		"not JSON":       []byte("thread"),
		"no decision":    []byte(`{"key":"` + keyNumber(1) + `","sha256":"` + sum([]byte("7")) + `","decision":7}`),
		"beyond bounds":  append(bytes.Clone(whole), bytes.Repeat([]byte(" "), maxEntry)...),
		"from elsewhere": []byte(`{"decision":"RETRY","reason":"x"}`),
	} {
		testkit.OK(t, os.WriteFile(file, text, 0o600))
		if d, ok := s.Get(keyNumber(1)); ok {
			t.Errorf("%s: found %+v", name, d)
		}
	}
	s.Put(keyNumber(1), Decision{Decision: Retry, Reason: "Whole again."})
	if d, ok := s.Get(keyNumber(1)); !ok || d.Reason != "Whole again." {
		t.Errorf("found %+v, %v after it was put anew", d, ok)
	}
}

func TestDirStoreStaysInItsDirectory(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	dir := t.TempDir()
	first := openDir(t, dir, 0)
	first.Put(keyNumber(1), Decision{Decision: Retry, Reason: "x"})
	testkit.OK(t, os.Rename(filepath.Join(dir, keyNumber(1)+entrySuffix), outside))
	testkit.OK(t, os.Symlink(outside, filepath.Join(dir, keyNumber(1)+entrySuffix)))
	if d, ok := first.Get(keyNumber(1)); ok {
		t.Errorf("a link was followed to %+v", d)
	}
	within := filepath.Join(dir, "within")
	testkit.OK(t, os.Rename(outside, within))
	testkit.OK(t, os.Remove(filepath.Join(dir, keyNumber(1)+entrySuffix)))
	testkit.OK(t, os.Symlink("within", filepath.Join(dir, keyNumber(1)+entrySuffix)))
	if d, ok := first.Get(keyNumber(1)); ok {
		t.Errorf("a link within was followed to %+v", d)
	}
	var warned []string
	s := testkit.Must(OpenDirStore(dir, 0, func(err error) { warned = append(warned, err.Error()) }))(t)
	defer s.Close()
	for _, key := range []string{"", "../outside", strings.ToUpper(keyNumber(1)), strings.Repeat("/", 64)} {
		s.Put(key, Decision{Decision: Retry, Reason: "x"})
		if _, ok := s.Get(key); ok {
			t.Errorf("%q is a key", key)
		}
	}
	if len(warned) != 4 {
		t.Errorf("warned %q, want 4 times", warned)
	}
}

func TestDirStoreIsBounded(t *testing.T) {
	dir := t.TempDir()
	s := openDir(t, dir, 10)
	old := time.Now().Add(-time.Hour)
	for i := range 10 {
		s.Put(keyNumber(i), Decision{Decision: Retry, Reason: "x"})
		used := old.Add(time.Duration(i) * time.Second)
		testkit.OK(t, os.Chtimes(filepath.Join(dir, keyNumber(i)+entrySuffix), used, used))
	}
	s.Get(keyNumber(0)) // used last: it stays
	s.Put(keyNumber(10), Decision{Decision: Retry, Reason: "x"})
	var kept []int
	for i := range 11 {
		if _, ok := s.Get(keyNumber(i)); ok {
			kept = append(kept, i)
		}
	}
	testkit.Same(t, "kept", []int{0, 3, 4, 5, 6, 7, 8, 9, 10}, kept)
	for i := range 10 * 3 {
		s.Put(keyNumber(i), Decision{Decision: Retry, Reason: "x"})
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 10 {
		t.Errorf("%d files, %v; at most 10", len(files), err)
	}
}

func TestDirStoreCleansUpWhenOpened(t *testing.T) {
	dir := t.TempDir()
	stale, fresh, foreign := keyNumber(1)+".json.X.tmp", keyNumber(2)+".json.X.tmp", "README"
	for _, name := range []string{stale, fresh, foreign} {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	old := time.Now().Add(-2 * staleTemp)
	for _, name := range []string{stale, foreign} {
		testkit.OK(t, os.Chtimes(filepath.Join(dir, name), old, old))
	}
	openDir(t, dir, 0)
	files := testkit.Must(os.ReadDir(dir))(t)
	var left []string
	for _, f := range files {
		left = append(left, f.Name())
	}
	want := []string{fresh, foreign}
	slices.Sort(want)
	testkit.Same(t, "left", want, left)
}

func TestDirStoreReportsErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	testkit.OK(t, os.WriteFile(file, nil, 0o600))
	if _, err := OpenDirStore(file, 0, nil); err == nil {
		t.Error("a file was opened as a directory")
	}
	dir := t.TempDir()
	var warned []error
	s := testkit.Must(OpenDirStore(dir, 0, func(err error) { warned = append(warned, err) }))(t)
	s.Put(keyNumber(1), Decision{Decision: Retry, Reason: strings.Repeat("x", maxEntry)})
	s.Close()
	s.Put(keyNumber(1), Decision{Decision: Retry, Reason: "x"})
	if len(warned) != 2 {
		t.Errorf("warned of %v, want two failures", warned)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("%d files, %v; want none", len(files), err)
	}
}
