package standin

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/arbiter-cli/arbiter/rehearsal/standin/wirecase"
)

// TestStandIn and TestClaude run the same cases, so that the stand-in cannot drift
// from what it stands in for.
func TestStandIn(t *testing.T) {
	p := wirecase.Program{Path: os.Args[0], Env: []string{asStandIn + "=1"}}
	for _, c := range wirecase.LoadAll(t, filepath.Join("testdata", "*.txtar")) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			wirecase.Run(t, c, p)
		})
	}
}

func TestClaude(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the real CLI some fifty times")
	}
	p := wirecase.Claude(t, filepath.Join("..", ".."))
	for _, c := range wirecase.LoadAll(t, filepath.Join("testdata", "*.txtar")) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			wirecase.Run(t, c, p)
		})
	}
}
