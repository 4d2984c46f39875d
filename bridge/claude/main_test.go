package claude

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"go.uber.org/goleak"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
	"github.com/arbiter-cli/arbiter/rehearsal/fakecli"
)

// The CLI of the live tests, "" if there is none: the machine's, or a stand-in named by ARBITER_CLAUDE and
// ARBITER_CLAUDE_ARGS. It is found before the environment is cleared.
var (
	realCLI  = corpus.FindCLI(filepath.Join("..", ".."))
	realArgs = strings.Fields(os.Getenv("ARBITER_CLAUDE_ARGS"))
)

// captures is the directory of the recordings of the wire: the committed ones, or another CLI's.
var captures = cmp.Or(os.Getenv("ARBITER_CAPTURES"), filepath.Join("..", "..", "testdata", "wire"))

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == sandbox.EntryCommand {
		fmt.Fprintln(os.Stderr, sandbox.Enter(os.Args[2:]))
		os.Exit(126)
	}
	if len(os.Args) > 2 && os.Args[1] == fakeArg {
		os.Exit(fakeCLI(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == standInArg {
		os.Exit(fakecli.Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(run(m))
}

// run clears the environment first: children must find neither credentials nor
// a configuration of this machine.
func run(m *testing.M) int {
	home, err := os.MkdirTemp("", "claude-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	defer os.RemoveAll(home)
	path := os.Getenv("PATH")
	require, long := os.Getenv("ARBITER_REQUIRE_CLAUDE"), os.Getenv("ARBITER_LONG")
	os.Clearenv()
	for name, value := range map[string]string{"PATH": path, "HOME": home, "ARBITER_REQUIRE_CLAUDE": require,
		"ARBITER_LONG": long} {
		os.Setenv(name, value)
	}
	corpus.HeedSignals()
	release, err := proctree.BecomeSubreaper()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	code := m.Run()
	release()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// cacheOf is a launcher's cache directory. All tests with the real CLI share one, because hashing its
// hundreds of megabytes takes as long as starting it. Tests with another program have their own.
func cacheOf(spec bridge.ClaudeSpec, home string) string {
	if spec.Path == realCLI {
		return filepath.Join(os.Getenv("HOME"), "cache")
	}
	return filepath.Join(home, "cache")
}

// standInArg makes the test binary the stand-in.
const standInArg = "stand-in"

func standInSpec(t *testing.T) bridge.ClaudeSpec {
	t.Helper()
	self := testkit.Must(os.Executable())(t)
	return bridge.ClaudeSpec{Path: self, Args: []string{standInArg}}
}

// players runs a test with the real CLI and with the stand-in, which must not differ in what the test
// checks.
func players(t *testing.T, test func(t *testing.T, spec bridge.ClaudeSpec)) {
	t.Parallel()
	if !standInByDay(t) {
		t.Run("claude", func(t *testing.T) { t.Parallel(); test(t, realSpec(t)) })
	}
	if len(realArgs) == 0 { // else it was the stand-in
		t.Run("stand-in", func(t *testing.T) { t.Parallel(); test(t, standInSpec(t)) })
	}
}

// inside runs a test with the real CLI alone: it tests the CLI's internals, which the stand-in does not
// imitate.
func inside(t *testing.T, test func(t *testing.T, spec bridge.ClaudeSpec)) {
	t.Parallel()
	t.Run("claude", func(t *testing.T) {
		onlyTheCLI(t, "does not imitate this")
		t.Parallel()
		test(t, realSpec(t))
	})
}

// byDay are the tests and cases that the stand-in alone plays by day: others with the real CLI resemble them, and the
// night plays them with both.
var byDay sync.Map

// realAtNight leaves the real CLI in this test to the night: for each change the stand-in takes its place.
func realAtNight(t *testing.T) { byDay.Store(t.Name(), true) }

// standInByDay reports whether the stand-in takes the real CLI's place in this test.
func standInByDay(t *testing.T) bool {
	if len(realArgs) > 0 || testkit.AtNight() {
		return false
	}
	for name, found := t.Name(), true; found; {
		if _, ok := byDay.Load(name); ok {
			return true
		}
		end := max(strings.LastIndex(name, "/"), 0)
		name, found = name[:end], end > 0
	}
	return false
}

// realSpec returns the CLI that the live tests run.
func realSpec(t *testing.T) bridge.ClaudeSpec {
	t.Helper()
	if standInByDay(t) {
		return standInSpec(t)
	}
	return bridge.ClaudeSpec{Path: corpus.Required(t, realCLI), Args: realArgs}
}
