package journal

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// exported returns the files of a run with so many records, as Keep returns them.
func exported(t *testing.T, records uint64) map[string][]byte {
	t.Helper()
	s := newTestStore(t)
	r := createRun(t, s, testRun, Options{})
	add(t, r, 1, records)
	syncRun(t, r)
	var held *HeldError
	if _, err := s.Keep(testRun); !errors.As(err, &held) {
		t.Errorf("keep a live run: %v", err)
	}
	closeRun(t, r)
	k := testkit.Must(s.Keep(testRun))(t)
	defer k.Close()
	if err := s.Remove(testRun); !errors.As(err, &held) {
		t.Errorf("remove a run that is kept: %v", err)
	}
	names := testkit.Must(k.Files())(t)
	files := map[string][]byte{}
	for _, name := range names {
		content, size, err := k.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(content)
		if err != nil || int64(len(b)) != size {
			t.Errorf("%s: %d of %d bytes, %v", name, len(b), size, err)
		}
		content.Close()
		files[name] = b
	}
	if len(files) < 3 || files[lockName] != nil {
		t.Fatalf("files: %v", names)
	}
	return files
}

func stageAll(t *testing.T, s *Store, files map[string][]byte) *Staged {
	t.Helper()
	g := testkit.Must(s.Stage(testRun))(t)
	t.Cleanup(func() { g.Close() })
	for name, b := range files {
		testkit.OK(t, g.Add(name, bytes.NewReader(b)))
	}
	return g
}

// hidden fails if a run is visible.
func hidden(t *testing.T, s *Store) {
	t.Helper()
	if list, err := s.List(); err != nil || len(list) > 0 {
		t.Errorf("runs: %v, %v", list, err)
	}
}

func TestImport(t *testing.T) {
	files := exported(t, 7)
	s := newTestStore(t)
	g := stageAll(t, s, files)
	if err := g.Add("beside/-some-project/x.jsonl", strings.NewReader("x")); err != nil {
		t.Error(err)
	}
	hidden(t, s)
	here := t.TempDir()
	failed := errors.New("not yet")
	if err := g.Commit(func(*Meta) {}, func() error { return failed }); !errors.Is(err, failed) {
		t.Errorf("committed: %v", err)
	}
	hidden(t, s)
	testkit.OK(t, g.Commit(func(m *Meta) { m.CWD = here }, func() error { return nil }))
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	info, err := s.Latest(here, nil)
	if err != nil || info.Run != testRun || !info.Imported || info.Damaged || info.Live {
		t.Errorf("%+v, %v", info, err)
	}
	if b, err := os.ReadFile(filepath.Join(s.runs.Path(), testRun, "beside", "-some-project", "x.jsonl")); err != nil ||
		string(b) != "x" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := s.Stage(testRun); !errors.Is(err, ErrExists) {
		t.Errorf("imported twice: %v", err)
	}
	r, rec := openRun(t, s, testRun, Options{})
	if rec.Harmed() || rec.Records != 7 || !r.Meta().Imported {
		t.Errorf("%+v, %+v", rec, r.Meta())
	}
}

// A killed import is invisible, and removed by the next one or when runs are pruned.
func TestImportCutShort(t *testing.T) {
	files := exported(t, 3)
	s := newTestStore(t)
	left := func() (names []string) {
		all := testkit.Must(s.runs.Names())(t)
		return all
	}
	killed := func() {
		g := stageAll(t, s, files)
		if _, err := s.Prune(Retention{}); err != nil || len(left()) != 1 {
			t.Errorf("pruned while it was under way: %v, %v", left(), err)
		}
		g.lock.Close() // as the kernel does
		hidden(t, s)
	}
	killed()
	if _, err := s.Prune(Retention{}); err != nil || len(left()) > 0 {
		t.Errorf("left: %v, %v", left(), err)
	}
	killed()
	g := stageAll(t, s, files)
	if got := left(); len(got) != 1 {
		t.Errorf("left: %v", got)
	}
	if err := g.Close(); err != nil || len(left()) > 0 {
		t.Errorf("left: %v, %v", left(), err)
	}
}

func TestImportIsRefused(t *testing.T) {
	for name, spoil := range map[string]func(files map[string][]byte){
		"no records":     func(files map[string][]byte) { delete(files, segmentName(1)) },
		"no events":      func(files map[string][]byte) { delete(files, "events.ndjson") },
		"no description": func(files map[string][]byte) { delete(files, metaName) },
		"damaged records": func(files map[string][]byte) {
			files[segmentName(1)][headerSize+150] ^= 1
		},
		"a description of another run": func(files map[string][]byte) {
			files[metaName], _ = encodeSmall(metaVersion, Meta{Run: "another"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := exported(t, 7)
			spoil(files)
			s := newTestStore(t)
			g := stageAll(t, s, files)
			last := func() error { t.Error("it was believed"); return nil }
			if err := g.Commit(func(*Meta) {}, last); err == nil {
				t.Error("it was taken")
			}
			hidden(t, s)
		})
	}
	s := newTestStore(t)
	g := stageAll(t, s, nil)
	for _, name := range []string{"", "..", "../x", "a/../../x", "/x", "a//b", ".hidden", "a/.b", "a\x00", "ä",
		strings.Repeat("x", 256)} {
		if err := g.Add(name, strings.NewReader("x")); err == nil {
			t.Errorf("%q was written", name)
		}
	}
	if err := g.Add("x", strings.NewReader("1")); err != nil {
		t.Error(err)
	}
	if err := g.Add("x", strings.NewReader("2")); err == nil {
		t.Error("a file was replaced")
	}
}
