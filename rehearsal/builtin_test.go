package rehearsal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
)

func TestBuiltin(t *testing.T) {
	diff := cmp.Diff([]string{"demo", "dialogue", "generations", "parallel", "small-job", "workflow"},
		rehearsal.BuiltinNames())
	testkit.Check(t, diff == "", "names (-want +got):\n%s", diff)
	for _, name := range append(rehearsal.BuiltinNames(), "") {
		sc, err := rehearsal.Builtin(name)
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if name == "" {
			name = "small-job"
		}
		testkit.Check(t, sc.Name == name && sc.Title != "" && sc.Description != "",
			"%q: name %q, title %q, description %q", name, sc.Name, sc.Title, sc.Description)
		if name != "demo" && !slices.Contains(sc.Allow, "Bash(*)") { // which shows a permission request
			t.Errorf("%q: allow %v", name, sc.Allow)
		}
	}
	testkit.Fails(t, "an unknown name was accepted", testkit.Err(rehearsal.Builtin("no-such")))
}

// TestBuiltinAssignsActorsByBrief: the first message of a new session contains its brief with the plan, and the
// brief selects its part.
func TestBuiltinAssignsActorsByBrief(t *testing.T) {
	srv := serve(t, testkit.Must(rehearsal.Builtin("parallel"))(t), rehearsal.Options{})
	c := converse(t, srv, "s", "Bash", "mcp__arbiter__report_progress", "StructuredOutput")
	c.ask("Your session's history is lost.\n\n## Your brief\n\nSpin the western thread: write west.txt.\n\n## The " +
		"plan\n\n1. [done] The eastern thread")
	testkit.Same(t, "played by", "west", srv.Requests()[0].Actor)
}

// An Orchestrator that was spawned twice, because a crash hid the first spawns, does no harm.
func TestBuiltinWithTwoTasks(t *testing.T) {
	verdict := func(a answer) (decision, to string) {
		for _, b := range a.Content {
			if b.str("name") == "StructuredOutput" {
				return b.sub("input").str("decision"), b.sub("input").str("to")
			}
		}
		return "", ""
	}
	const question = "⟦k7f2 | from: %s (Orchestrator) | kind: question | id: 1⟧\nIn which tongue?\n⟦k7f2 | end⟧"
	srv := serve(t, testkit.Must(rehearsal.Builtin("small-job"))(t), rehearsal.Options{})
	c := converse(t, srv, "s", "Read", "mcp__arbiter__spawn_orchestrator", "mcp__arbiter__release_orchestrator",
		"mcp__arbiter__set_plan", "StructuredOutput")
	c.ask("the task")
	c.ask("{\"id\":\"orch-2\"}")
	for _, asker := range []string{"orch-1", "orch-2"} {
		decision, to := verdict(c.ask(fmt.Sprintf(question, asker)))
		testkit.Check(t, decision == "ADDRESS_ORCHESTRATOR" && to == asker, "%s asked: %s to %q", asker, decision, to)
	}
	got := c.ask("COMPLETE while Orchestrators still work (orch-1 working).").Content[0].str("name")
	testkit.Check(t, got == "mcp__arbiter__release_orchestrator", "one still works: %q", got)
	decision, _ := verdict(c.ask("Released: orch-1."))
	testkit.Check(t, decision == "COMPLETE", "released: %s", decision)
	noProblems(t, srv)
}

// example is the scenario that SCENARIOS.md shows.
func example(t *testing.T) *rehearsal.Scenario {
	t.Helper()
	page := testkit.Must(os.ReadFile("SCENARIOS.md"))(t)
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	src, _, ok := strings.Cut(rest, "```\n")
	testkit.Need(t, ok, "SCENARIOS.md has no example")
	sc := testkit.Must(rehearsal.Parse("SCENARIOS.md", []byte(src)))(t)
	return sc
}

func TestExample(t *testing.T) {
	sc := example(t)
	testkit.Check(t, sc.Name == "greeting" && len(sc.Allow) == 2 && sc.Vars["greeting"] == "Hail", "scenario %+v", sc)
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
