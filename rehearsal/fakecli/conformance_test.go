package fakecli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/arbiter-cli/arbiter/rehearsal/wirecase"
)

// Cases that both programs are held to, so that the stand-in cannot drift from the CLI where
// it imitates it, and cases of the CLI alone: how it works inside, which the stand-in does not
// imitate, but arbiter relies on.
var (
	ofBoth   = filepath.Join("testdata", "*.txtar")
	ofClaude = filepath.Join("testdata", "claude", "*.txtar")
)

func runCases(t *testing.T, p wirecase.Program, glob string) {
	t.Helper()
	for _, c := range wirecase.LoadAll(t, glob) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			wirecase.Run(t, c, p)
		})
	}
}

func TestStandIn(t *testing.T) {
	runCases(t, wirecase.Program{Path: os.Args[0], Env: []string{asStandIn + "=1"}}, ofBoth)
}

func TestClaude(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the real CLI some fifty times")
	}
	p := wirecase.Claude(t, filepath.Join("..", ".."))
	runCases(t, p, ofBoth)
	runCases(t, p, ofClaude)
}
