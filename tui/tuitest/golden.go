// Package tuitest has what the tests of screens share: the events of keys, golden files, and texts by which an
// author may try to write outside of the place for them.
package tuitest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

var update = flag.Bool("update", false, "write golden files instead of comparing them")

// File compares a text with testdata/NAME.golden, or writes it, and reports whether they are equal.
func File(t testing.TB, name, got string) bool {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(got), 0o644))
		return true
	}
	want, err := os.ReadFile(path)
	testkit.Need(t, err == nil, "%v (go test -update writes it)\n%s", err, got)
	diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n"))
	testkit.Check(t, diff == "", "%s (-want +got):\n%s", path, diff)
	return diff == ""
}
