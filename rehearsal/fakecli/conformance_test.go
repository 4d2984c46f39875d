package fakecli

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
)

func TestStandIn(t *testing.T) {
	p := corpus.WireProgram{Path: os.Args[0], Env: []string{asStandIn + "=1"}}
	runCases(t, p, corpus.LoadAll(t, filepath.Join("testdata", "*.txtar")))
}

// The stand-in's cases also run with the CLI, so that the stand-in cannot drift from it. Cases for the CLI
// alone test internals of the CLI on which arbiter relies; such a case with the name of a common case tests
// more of the CLI, and replaces it.
func TestClaude(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the real CLI some fifty times")
	}
	cases := map[string]*corpus.WireCase{}
	every := testkit.AtNight()
	for _, glob := range []string{"*.txtar", filepath.Join("claude", "*.txtar")} {
		for _, c := range corpus.LoadAll(t, filepath.Join("testdata", glob)) {
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
	"^(api|compaction|interrupt|mcp|resume|tasks|steer|subagent|blocking|verdict)($|-)|^(permission|tool-turn|usage" +
		"|local-commands|permission-modes|command-line|tool-sets|hooks-inside|hooks-eof|tool-errors|merge|limits|" +
		"eof-pending)$")

func runCases(t *testing.T, p corpus.WireProgram, cases []*corpus.WireCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			corpus.RunCase(t, c, p)
		})
	}
}
