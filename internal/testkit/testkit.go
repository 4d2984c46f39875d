// Package testkit is for tests: it ends one whose ground cannot be laid, and says how much a test does. A change is
// tested in minutes; what shows the same thing again, with more cases, with the real CLI or under the race detector,
// runs at night, when ARBITER_LONG is set.
package testkit

import (
	"os"
	"testing"
)

// AtNight reports whether tests run in full length, as scripts/nightly runs them.
func AtNight() bool { return os.Getenv("ARBITER_LONG") != "" }

// Long skips a test or a case that needs long, and that others resemble.
func Long(t testing.TB) {
	t.Helper()
	if !AtNight() {
		t.Skip("long: ARBITER_LONG=1 runs it")
	}
}

// WithoutRace skips a test in builds with the race detector, which makes it much slower and has nothing to find: the
// test has one goroutine, or others show the detector what runs in it.
func WithoutRace(t testing.TB) {
	t.Helper()
	if Race && !AtNight() {
		t.Skip("long with the race detector: ARBITER_LONG=1 runs it")
	}
}

// OK ends a test at an error.
func OK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Must returns the result of a call, or ends the test at its error: testkit.Must(os.ReadFile(name))(t).
func Must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		OK(t, err)
		return v
	}
}
