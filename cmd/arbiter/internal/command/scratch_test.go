package command

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

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
	if diff := cmp.Diff(want, removed); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	left := slices.DeleteFunc(before, func(name string) bool {
		return slices.Contains(want, filepath.Join(place, name))
	})
	testkit.Same(t, "left", left, namesScratch(t, place))
	if ownerOf(kept) != "" || ownerOf(human) != "" {
		t.Errorf("owners: %q, %q", ownerOf(kept), ownerOf(human))
	}
	if _, err := os.Stat(of("live")); err != nil {
		t.Error(err)
	}
}

func namesScratch(t *testing.T, dir string) []string {
	t.Helper()
	entries := testkit.Must(os.ReadDir(dir))(t)
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}
