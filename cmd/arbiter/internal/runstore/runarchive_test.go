package runstore

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/statedir"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

const (
	run     = "0b8f3c1e-5d0a-4c55-9c11-6d2f0b8a7e21"
	session = "7c2a9d10-1111-4c55-9c11-6d2f0b8a7e21"
	script  = "projects/-home-me-work/" + session
)

// content returns the files of a small archive.
func content() [][2]string {
	return [][2]string{
		{"run/events.ndjson", "{}\n"}, {"run/journal-000001", strings.Repeat("input ", 1000)}, {"run/meta.json", "{}"},
		{script + ".jsonl", "line\n"}, {script + "/subagents/agent-1.jsonl", "line\n"},
		{script + "/tool-results/toolu_1.txt", ""},
	}
}

func text(path, s string) ArchiveSource {
	return ArchiveSource{path, func() (io.ReadCloser, int64, error) {
		return io.NopCloser(strings.NewReader(s)), int64(len(s)), nil
	}}
}

func small(t *testing.T) []byte {
	t.Helper()
	var files []ArchiveSource
	for _, f := range content() {
		files = append(files, text(f[0], f[1]))
	}
	var b bytes.Buffer
	testkit.OK(t, WriteArchive(t.Context(), &b, ArchiveManifest{Run: run, Arbiter: "1.2.3", State: 6,
		Workspace: "/home/me/work"}, files))
	return b.Bytes()
}

// readAll reads an archive to its end.
func readAll(in io.Reader) (m ArchiveManifest, got [][2]string, err error) {
	r, err := NewReader(in)
	if err != nil {
		return m, nil, err
	}
	err = r.Each(func(f ArchiveFile, content io.Reader) error {
		b, err := io.ReadAll(content)
		got = append(got, [2]string{f.Path, string(b)})
		return err
	})
	return r.Manifest, got, err
}

func TestArchive(t *testing.T) {
	b := small(t)
	m, got, err := readAll(bytes.NewReader(b))
	if diff := cmp.Diff(content(), got); err != nil || diff != "" || m.Run != run || m.State != 6 || len(m.Files) != 6 {
		t.Errorf("%v, %+v (-written +read):\n%s", err, m, diff)
	}
	for n := range len(b) {
		_, _, err := readAll(bytes.NewReader(b[:n]))
		wrong := (&ArchiveError{})
		testkit.Need(t, errors.As(err, &wrong), "cut off after %d of %d bytes: %v", n, len(b), err)
	}
	for n := 10; n < len(b); n++ { // after the gzip header, which is not part of the content
		damaged := bytes.Clone(b)
		damaged[n] ^= 0x20
		// Repetitions can be encoded in several ways, so some changes have no effect.
		_, got, err := readAll(bytes.NewReader(damaged))
		testkit.Check(t, err != nil || cmp.Equal(content(), got), "byte %d was changed, and nobody noticed", n)
	}
}

func TestFilesThatChangeAreNotWritten(t *testing.T) {
	opened := 0
	changes := ArchiveSource{"run/meta.json", func() (io.ReadCloser, int64, error) {
		opened++
		return io.NopCloser(strings.NewReader(strings.Repeat("x", opened))), 1, nil
	}}
	err := WriteArchive(t.Context(), io.Discard, ArchiveManifest{Run: run},
		[]ArchiveSource{text("run/events.ndjson", ""), changes})
	if err != nil { // the second read is limited to the length of the first
		t.Error(err)
	}
	opened = 0
	changes.Open = func() (io.ReadCloser, int64, error) {
		opened++
		return io.NopCloser(strings.NewReader(string(rune('a' + opened)))), 1, nil
	}
	if WriteArchive(t.Context(),
		io.Discard,
		ArchiveManifest{Run: run},
		[]ArchiveSource{text("run/events.ndjson", ""), changes},
	) == nil {
		t.Error("a file that changed was written")
	}
}

// made returns an archive with any manifest and entries.
func made(t *testing.T, manifest any, entries []tar.Header, contents ...string) []byte {
	t.Helper()
	head := testkit.Must(json.Marshal(manifest))(t)
	entries = append([]tar.Header{{Name: manifestName, Typeflag: tar.TypeReg}}, entries...)
	contents = append([]string{string(head)}, contents...)
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	out := tar.NewWriter(zip)
	for i, h := range entries {
		h.Mode = 0o600
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(contents[i]))
		}
		testkit.OK(t, out.WriteHeader(&h))
		if h.Typeflag == tar.TypeReg {
			testkit.Must(out.Write([]byte(contents[i])))(t)
		}
	}
	testkit.OK(t, errors.Join(out.Close(), zip.Close()))
	return b.Bytes()
}

// TestArchiveIsCalledOff: an archive is called off in the middle of a file, too, and nothing is left of its secrets.
func TestArchiveIsCalledOff(t *testing.T) {
	for stage, at := range map[string]int{"while the files are hashed": 1, "while they are written": 4} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var opened int
		var files []ArchiveSource
		for _, f := range content()[:3] {
			source := text(f[0], f[1])
			files = append(files, ArchiveSource{f[0], func() (io.ReadCloser, int64, error) {
				if opened++; opened == at {
					cancel()
				}
				return source.Open()
			}})
		}
		dir := t.TempDir()
		err := statedir.WriteWhole(filepath.Join(dir, "a"), 0o600, func(f *os.File) error {
			return WriteArchive(ctx, f, ArchiveManifest{Run: run}, files)
		})
		testkit.Check(t, errors.Is(err, context.Canceled) && opened == at, "%s: %v, %d files were opened", stage, err, opened)
		testkit.Empty(t, "left", testkit.Must(os.ReadDir(dir))(t))
	}
}

func TestHostileArchives(t *testing.T) {
	file := func(path, s string) ArchiveFile {
		sum := sha256.Sum256([]byte(s))
		return ArchiveFile{path, int64(len(s)), hex.EncodeToString(sum[:])}
	}
	base := []ArchiveFile{file("run/events.ndjson", "e"), file("run/meta.json", "m")}
	entries := []tar.Header{
		{Name: "run/events.ndjson", Typeflag: tar.TypeReg}, {Name: "run/meta.json", Typeflag: tar.TypeReg},
	}
	with := func(more ...ArchiveFile) ArchiveManifest {
		return ArchiveManifest{V: ArchiveVersion, Run: run, Files: append(base[:2:2], more...)}
	}
	plain := func(manifest any) []byte { return made(t, manifest, entries, "e", "m") }
	_, _, err := readAll(bytes.NewReader(plain(with())))
	testkit.Need(t, err == nil, "a good one is refused: %v", err)
	refused := func(name string, archive []byte, why string) {
		t.Helper()
		_, _, err := readAll(bytes.NewReader(archive))
		if wrong := (&ArchiveError{}); !errors.As(err, &wrong) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", name, err, why)
		}
	}
	for _, path := range []string{"../x", "/etc/passwd", "run/../x", "run/lock", "run/home/x", "projects/../x.jsonl",
		"projects/p/../" + session + ".jsonl", "projects/.p/" + session + ".jsonl", script + "/other/x",
		script + "/subagents/../x", script + "/subagents/.x", script + "/subagents/a/b", "projects/p/x.jsonl",
		"run/journal-1",
		"run/images/x", "run/images/" + strings.Repeat("a", 64) + ".tmp", "run/meta.json\n",
		"RUN/meta.json", "projects/p\\q/" + session + ".jsonl", ""} {
		refused(path, plain(with(file(path, "x"))), "unknown file")
	}
	refused("twice", plain(with(file("run/meta.json", "m"))), "twice")
	refused("twice but for case",
		plain(with(file(script+"/subagents/a", ""), file(script+"/subagents/A", ""))), "twice")
	large := ArchiveFile{"run/journal-000001", maxFile + 1, base[0].SHA256}
	refused("too large", plain(with(large)), "at most")
	refused("a negative size", plain(with(ArchiveFile{"run/journal-000001", -1, base[0].SHA256})), "at most")
	refused("no hash", plain(with(ArchiveFile{"run/journal-000001", 1, "x"})), "no SHA-256")
	refused("an id that is none", plain(ArchiveManifest{V: ArchiveVersion, Run: "../x", Files: base}), "names no run")
	refused("another version", plain(ArchiveManifest{V: 2, Run: run, Files: base}), "format 2")
	refused("an unknown member", plain(map[string]any{"v": 1, "run": run, "new": 1}), "cannot be read")
	refused(
		"no events",
		made(t, ArchiveManifest{V: 1, Run: run, Files: base[1:]}, entries[1:], "m"),
		"has no events.ndjson",
	)
	refused("another content", made(t, with(), entries, "e", "M"), "SHA-256 differs")
	refused("a longer one", made(t, with(), entries, "e", "mm"), "where its manifest has")
	refused("less than the manifest", made(t, with(), entries[:1], "e"), "cut off")
	refused("more than the manifest",
		made(t, with(), append(entries[:2:2], tar.Header{Name: "run/x", Typeflag: tar.TypeReg}), "e", "m", "x"),
		"more files")
	refused("another order", made(t, with(), []tar.Header{entries[1], entries[0]}, "m", "e"), "where its manifest has")
	for _, kind := range []byte{tar.TypeSymlink, tar.TypeLink, tar.TypeDir, tar.TypeFifo, tar.TypeChar} {
		link := tar.Header{Name: "run/meta.json", Linkname: "/etc/passwd", Typeflag: kind}
		refused(string(kind), made(t, with(), []tar.Header{entries[0], link}, "e", ""), "where its manifest has")
	}
	good := plain(with())
	refused("something behind it", append(bytes.Clone(good), "more"...), "")
	refused("a second archive behind it", append(bytes.Clone(good), good...), "more data after its end")
	refused("no archive", []byte("hello, this is not an archive at all"), "not an archive")
	refused("nothing", nil, "cut off")
}

func TestPlace(t *testing.T) {
	from, config := filepath.Join(t.TempDir(), "projects"), t.TempDir()
	put := func(path, s string) {
		t.Helper()
		testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(s), 0o600))
	}
	holds := func(name, want string) {
		t.Helper()
		got, err := os.ReadFile(filepath.Join(config, "projects", name))
		testkit.Check(t, err == nil && string(got) == want, "%s: %q, %v; want %q", name, got, err, want)
	}
	name := filepath.Join("-w", session+".jsonl")
	put(filepath.Join(from, name), "one\ntwo\n")
	put(filepath.Join(from, "-w", session, "subagents", "agent-1.jsonl"), "sub\n")
	testkit.OK(t, ArchivePlace(from, config))
	holds(name, "one\ntwo\n")
	holds(filepath.Join("-w", session, "subagents", "agent-1.jsonl"), "sub\n")
	err := ArchivePlace(from, config)
	testkit.Check(t, err == nil, "a second time: %v", err)
	// An existing transcript of another project, with the beginning of the exported one, is continued.
	at := filepath.Join(config, "projects", "-other", session+".jsonl")
	testkit.OK(t, os.RemoveAll(filepath.Join(config, "projects", "-w")))
	put(at, "one\n")
	testkit.OK(t, ArchivePlace(from, config))
	holds(filepath.Join("-other", session+".jsonl"), "one\ntwo\n")
	for _, other := range []string{"one\ntwo\nthree\n", "one\nTWO\n", "x"} {
		put(at, other)
		err := ArchivePlace(from, config)
		testkit.Fails(t, "to replace "+other, err, "session "+session+" is in")
		holds(filepath.Join("-other", session+".jsonl"), other)
	}
	testkit.OK(t, os.Remove(at), os.Symlink(filepath.Join(from, name), at))
	testkit.Check(t, ArchivePlace(from, config) != nil, "a link was taken for a transcript")
}

// TestTranscripts: the files found for a session are exactly those that an import accepts.
func TestTranscripts(t *testing.T) {
	config := t.TempDir()
	at := filepath.Join(config, "projects", "-w", session)
	for _, dir := range []string{"subagents", "tool-results", "elsewhere"} {
		testkit.OK(t, os.MkdirAll(filepath.Join(at, dir), 0o700))
		for _, name := range []string{"agent-1.jsonl", ".hidden", "with space"} {
			testkit.OK(t, os.WriteFile(filepath.Join(at, dir, name), nil, 0o600))
		}
		testkit.OK(t, os.Symlink("/etc/passwd", filepath.Join(at, dir, "link")))
	}
	testkit.OK(t, os.WriteFile(at+".jsonl", []byte("x"), 0o600))
	files, err := Transcripts(config, session)
	var got []string
	for _, f := range files {
		got = append(got, f.Path)
	}
	base := "projects/-w/" + session
	want := []string{base + ".jsonl", base + "/subagents/agent-1.jsonl", base + "/tool-results/agent-1.jsonl"}
	diff := cmp.Diff(want, got)
	testkit.Check(t, err == nil && diff == "", "%v (-want +got):\n%s", err, diff)
	files, err = Transcripts(config, run)
	testkit.Check(t, err == nil && files == nil, "of a session without a transcript: %v, %v", files, err)
}

// TestMovePaths: a directory is replaced where it is named, and not where it is a part of another name.
func TestMovePaths(t *testing.T) {
	for text, want := range map[string]string{
		`{"cwd":"/src/a"}`:                       `{"cwd":"/own/orch-1"}`,
		`{"file_path":"/src/a/b.go"}`:            `{"file_path":"/own/orch-1/b.go"}`,
		`cd /src/a && ls /src/a/; \"/src/a\"`:    `cd /own/orch-1 && ls /own/orch-1/; \"/own/orch-1\"`,
		`/src/ab /src/a-b /src/a.git /src/aé`:    `/src/ab /src/a-b /src/a.git /src/aé`,
		`/home/src/a /mnt//src/a x/src/a ../src`: `/home/src/a /mnt//src/a x/src/a ../src`,
		`/src/a`:                                 `/own/orch-1`,
		`list:\n/src/a/x\n\t/src/a/y`:            `list:\n/own/orch-1/x\n\t/own/orch-1/y`,
	} {
		testkit.Same(t, fmt.Sprintf("%s became", text), want, movePaths(text, "/src/a", "/own/orch-1"))
	}
}
