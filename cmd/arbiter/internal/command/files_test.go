package command

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "task.md")
	testkit.OK(t, os.WriteFile(path, bytes.Repeat([]byte("A"), 3000), 0o600))
	raw, err := ReadFile(path, 3000)
	testkit.Check(t, err == nil && len(raw) == 3000, "%d bytes, %v", len(raw), err)
	if _, err := ReadFile(path, 2999); err == nil ||
		!strings.Contains(err.Error(), "task.md has 3,000 bytes, at most 2,999 are read") {
		t.Error(err)
	}
	_, err = ReadFile(path+"x", 1)
	testkit.Check(t, os.IsNotExist(err), "%v", err)
}

// TestConfigDir: a relative path in the environment is ignored, as for the state directory.
func TestConfigDir(t *testing.T) {
	t.Setenv("HOME", "/home/me")
	t.Setenv("XDG_CONFIG_HOME", "")
	usual := ConfigDir()
	t.Setenv("XDG_CONFIG_HOME", "relative")
	testkit.Same(t, "the directory", usual, ConfigDir())
}

// TestCheckDir: a workspace must be a readable directory; the error does not repeat its path.
func TestCheckDir(t *testing.T) {
	dir := t.TempDir()
	file, locked := filepath.Join(dir, "file"), filepath.Join(dir, "locked")
	testkit.OK(t, os.WriteFile(file, nil, 0o600))
	testkit.OK(t, os.Mkdir(locked, 0o000))
	foreign, link := filepath.Join(dir, "caf\xe9"), filepath.Join(dir, "link")
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Skip(err) // the file system refuses such names
	}
	testkit.OK(t, os.Symlink(foreign, link))
	const notUTF8 = "its path is not UTF-8, in which a run is recorded: rename the directory"
	want := map[string]string{dir: "", file: "not a directory", dir + "/nowhere": "no such file or directory",
		foreign: notUTF8, link: notUTF8}
	if os.Geteuid() != 0 { // root reads every directory
		want[locked] = "permission denied"
	}
	for path, reason := range want {
		said := ""
		if _, err := CheckDir(path); err != nil {
			said = err.Error()
		}
		testkit.Same(t, fmt.Sprintf("%s: got", path), reason, said)
	}
}

func make1(t *testing.T, base, prefix, owner string) string {
	t.Helper()
	dir := testkit.Must(MakeScratch(base, prefix, owner))(t)
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "work"), []byte("x"), 0o600))
	return dir
}

// TestSweep: directories of removed runs are removed, and the socket directories of finished runs. Directories that
// a run still needs stay, and so do directories without a mark or with the mark of another state directory.
func TestSweep(t *testing.T) {
	state, place := t.TempDir(), t.TempDir()
	runs := filepath.Join(state, "runs")
	for _, run := range []string{"live", "over"} {
		testkit.OK(t, os.MkdirAll(filepath.Join(runs, run), 0o700))
	}
	of := func(run string) string { return filepath.Join(runs, run) }
	want := []string{
		make1(t, place, ScratchSockets, of("over")), make1(t, place, ScratchSockets, of("gone")),
		make1(t, place, ScratchRehearsal, of("gone")),
	}
	make1(t, place, ScratchSockets, of("live"))
	make1(t, place, ScratchRehearsal, of("live"))
	make1(t, place, ScratchRehearsal, of("over"))
	make1(t, place, ScratchRehearsal, filepath.Join(t.TempDir(), "runs", "gone")) // of another state directory
	make1(t, place, "arbiter-notes-", of("gone"))
	kept := make1(t, place, ScratchRehearsal, "")
	human := filepath.Join(place, ScratchRehearsal+"of-mine")
	for _, dir := range []string{human, filepath.Join(place, "linked")} {
		testkit.OK(t, os.Mkdir(dir, 0o700))
	}
	testkit.OK(t, os.Symlink(of("live"), filepath.Join(want[2], "link"))) // must not be followed
	testkit.OK(t, os.Symlink(want[2], filepath.Join(place, ScratchRehearsal+"link")))
	testkit.OK(t, os.Symlink(filepath.Join(want[0], ScratchMark), filepath.Join(human, ScratchMark)))
	before := namesScratch(t, place)
	if removed, err := SweepScratch([]string{place}, filepath.Join(state, "other"), nil); err == nil || removed != nil {
		t.Errorf("of runs that cannot be seen: %v, %v", removed, err)
	}
	removed, err := SweepScratch([]string{place, filepath.Join(place, "no place")}, runs, func(run string) bool {
		return run == "over"
	})
	slices.Sort(removed)
	slices.Sort(want)
	diff := cmp.Diff(want, removed)
	testkit.Check(t, diff == "" && err == nil, "%v\n%s", err, diff)
	left := slices.DeleteFunc(before, func(name string) bool {
		return slices.Contains(want, filepath.Join(place, name))
	})
	testkit.Same(t, "left", left, namesScratch(t, place))
	testkit.Check(t, ownerOf(kept) == "" && ownerOf(human) == "", "owners: %q, %q", ownerOf(kept), ownerOf(human))
	_, err = os.Stat(of("live"))
	testkit.Check(t, err == nil, "%v", err)
}

func namesScratch(t *testing.T, dir string) []string {
	t.Helper()
	entries := testkit.Must(os.ReadDir(dir))(t)
	return testkit.Each(entries, func(e os.DirEntry) string { return e.Name() })
}
