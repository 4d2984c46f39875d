package rehearsal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/rehearsal"
)

// example is the scenario that SCENARIOS.md shows.
func example(t *testing.T) *rehearsal.Scenario {
	t.Helper()
	page := testkit.Must(os.ReadFile("SCENARIOS.md"))(t)
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	src, _, ok := strings.Cut(rest, "```\n")
	if !ok {
		t.Fatal("SCENARIOS.md has no example")
	}
	sc := testkit.Must(rehearsal.Parse("SCENARIOS.md", []byte(src)))(t)
	return sc
}

func TestExample(t *testing.T) {
	if sc := example(t); sc.Name != "greeting" || len(sc.Allow) != 2 || sc.Vars["greeting"] != "Hail" {
		t.Errorf("scenario %+v", sc)
	}
}

// The page's example plays as the page says.
func TestLiveExample(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	sc := example(t)
	srv := serve(t, sc, rehearsal.Options{})
	c := startClaude(t, srv,
		claudeOptions{schema: verdictSchema, args: append([]string{"--allowedTools"}, sc.Allow...)})
	got := c.sendAndWait("My name is Atropos.").sub("structured_output").str("message")
	testkit.Same(t, "verdict", "Hail was said to Atropos.", got)
	if got, err := os.ReadFile(filepath.Join(c.cwd, "greeting.txt")); string(got) != "Hail, Atropos.\n" {
		t.Errorf("greeting.txt: %q, %v", got, err)
	}
	noProblems(t, srv)
}
