package fakecli

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
)

// standIn is the test binary as the stand-in.
func standIn(env ...string) corpus.WireProgram {
	return corpus.WireProgram{Path: os.Args[0], Env: append(env, asStandIn+"=1")}
}

func TestStandIn(t *testing.T) {
	runCases(t, standIn(), loadAll(t, filepath.Join("testdata", "*.txtar")))
}

// The stand-in's cases also run with the CLI, so that the stand-in cannot drift from it. Cases for the CLI
// alone test internals of the CLI on which arbiter relies; such a case with the name of a common case tests
// more of the CLI, and replaces it.
func TestClaude(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the real CLI some fifty times")
	}
	cases := map[string]*wireCase{}
	every := testkit.AtNight()
	for _, glob := range []string{"*.txtar", filepath.Join("claude", "*.txtar")} {
		for _, c := range loadAll(t, filepath.Join("testdata", glob)) {
			if every || !shownByTheDriver.MatchString(c.Name) {
				cases[c.Name] = c
			}
		}
	}
	runCases(t, corpus.Claude(t, filepath.Join("..", "..")), slices.Collect(maps.Values(cases)))
}

// shownByTheDriver are cases that run with the real CLI only if ARBITER_LONG=1, as in scripts/nightly and
// before a new version is supported: the driver's tests, which run with both, cover the same.
var shownByTheDriver = regexp.MustCompile(
	"^(api|compaction|interrupt|mcp|permission|resume|tasks|steer|subagent|blocking|verdict)($|-)|^(tool-turn|usage|" +
		"local-commands|command-line|tool-sets|hooks-inside|hooks-eof|hooks-judge|tool-errors|merge|limits|eof-pending)$")

func runCases(t *testing.T, p corpus.WireProgram, cases []*wireCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			runCase(t, c, p)
		})
	}
}

func TestFaults(t *testing.T) {
	runCases(t, standIn(), loadAll(t, filepath.Join("testdata", "faults", "*.txtar")))
}

func TestParseFaults(t *testing.T) {
	f := testkit.Must(parseFaults("bloat:64M@3, ignore-term,fill:7", ""))(t)
	f.turn.Store(3)
	x, ok := f.on("bloat")
	testkit.Check(t, ok && x.number(0) == 64<<20, "bloat in turn 3: %+v, %v", x, ok)
	if _, ok := f.on("fill"); ok {
		t.Error("fill strikes in turn 3, not only in turn 1")
	}
	testkit.Check(t, f.is("ignore-term"), "ignore-term has ended by turn 3")
	for _, bad := range []string{"no-such-fault", "bloat@0", "bloat@x"} {
		_, err := parseFaults(bad, "")
		testkit.Check(t, err != nil, "parseFaults(%q) accepts it", bad)
	}
}

// A message that arrives after the turn began, with no line of the host before it, is not read to its end:
// otherwise its sender would assume that it was read.
func TestReadingStopsInMidLine(t *testing.T) {
	f := testkit.Must(parseFaults("hang", ""))(t)
	long := strings.Repeat("x", 1<<20)
	r := bufio.NewReader(stoppableReader{strings.NewReader("line\n" + long + "\n"), f})
	line, err := r.ReadString('\n')
	testkit.Need(t, err == nil && line == "line\n", "before: %q, %v", line, err)
	f.readingStopped.Store(true)
	if line, err := r.ReadString('\n'); !errors.Is(err, errNotReading) || len(line) > r.Size() {
		t.Errorf("%d bytes were read of a line of %d, and then %v", len(line), len(long)+1, err)
	}
}

// TestVersion: the stand-in reports the version of the CLI that all tests use, which is pinned.
func TestVersion(t *testing.T) {
	pinned := testkit.Must(os.ReadFile(filepath.Join("..", "..", "scripts", "claude.version")))(t)
	want := strings.TrimSpace(string(pinned))
	testkit.Check(t, version == want, "it says %s, pinned is %s", version, want)
}

func TestLineWriterNeverBlocksItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		l := newLineWriter(w)
		for range 1000 {
			l.write([]byte("line"))
		}
		begun := time.Now()
		l.close(5 * time.Second)
		testkit.Same(t, "close waited", 5*time.Second, time.Since(begun))
		if got, err := io.ReadAll(io.LimitReader(r, 5000)); err != nil || strings.Count(string(got), "line\n") != 1000 {
			t.Errorf("read %d bytes, %v; nothing may be lost", len(got), err)
		}
	})
}

func TestLineWriterWritesInOrder(t *testing.T) {
	var out bytes.Buffer
	l := newLineWriter(&out)
	l.write([]byte("a"))
	l.write([]byte("b"))
	<-l.written()
	testkit.Same(t, "written", "a\nb\n", out.String())
	l.close(time.Minute)
	l.write([]byte("late"))
	testkit.Same(t, "after close", "a\nb\n", out.String())
}

// asStandIn makes the test binary behave as the stand-in.
const asStandIn = "ARBITER_TEST_STANDIN"

func TestMain(m *testing.M) {
	if os.Getenv(asStandIn) != "" {
		os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}
