package decider

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// documented are the rows of TEMPLATES.md, by the types that they describe.
var documented = map[string]string{
	"decider.selectData": "`select.md`", "decider.evaluateData": "`evaluate.md`", "decider.briefData": "`brief.md`",
	"decider.stateData": "`state.md`", "decider.DecisionPlan": "a plan", "decider.DecisionStep": "a step",
	"decider.ExecutionSummary": "an execution", "decider.DecisionOutput": "its output",
	"decider.ErrorSummary": "its error", "decider.Tokens": "its tokens", "decider.ErrorContext": "the last error",
	"decider.ErrorSurround": "its context", "decider.RecoveryOption": "a recovery option",
	"decider.AgentDescription": "an agent", "decider.ToolLists": "its tools",
	"decider.DecisionPerformance": "its performance", "decider.DecisionDocument": "its document",
	"decider.DecisionClaim": "a claim",
	"decider.DecisionCheck": "a check", "decider.OpenPoint": "an open point",
	"decider.DecisionConstraints": "the constraints",
}

func manual(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("TEMPLATES.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestTheManualNamesEveryMember: the manual lists every member that a template can use.
func TestTheManualNamesEveryMember(t *testing.T) {
	text := manual(t)
	row := func(head string) string {
		_, after, ok := strings.Cut(text, "\n| in | members |\n")
		if !ok {
			t.Fatal("the table is gone")
		}
		_, after, ok = strings.Cut(after, "\n| "+head+" | ")
		if !ok {
			t.Fatalf("no row %q", head)
		}
		line, _, _ := strings.Cut(after, "\n")
		if strings.HasPrefix(line, "those of `select.md`") {
			line += members()["decider.selectData"]
			line = strings.ReplaceAll(line, ", ", "`, `")
		}
		return line
	}
	for of, names := range members() {
		head, ok := documented[of]
		if !ok {
			t.Errorf("%s is not documented: %s", of, names)
			continue
		}
		line := row(head)
		for name := range strings.SplitSeq(names, ", ") {
			if !regexp.MustCompile(`\b` + name + `\b`).MatchString(line) {
				t.Errorf("the row of %s lacks %s: %s", head, name, line)
			}
		}
	}
}

// TestTheExampleOfTheManual: the example works unchanged.
func TestTheExampleOfTheManual(t *testing.T) {
	_, after, _ := strings.Cut(manual(t), "```\n{{define")
	example, _, ok := strings.Cut(after, "\n```\n")
	if !ok {
		t.Fatal("there is no example")
	}
	s, err := NewSet(map[string]string{"select.md": "{{define" + example})
	if err != nil {
		t.Fatal(err)
	}
	texts := rendered(t, s, sampleInput())
	for _, want := range []string{"1. complete: One.", "The last error, of developer (tool_failure):\n| exit status 1",
		"Agents: developer"} {
		if !strings.Contains(texts["select.md"], want) {
			t.Errorf("lacks %q:\n%s", want, texts["select.md"])
		}
	}
	steps, err := NewSet(map[string]string{
		"state.md": "{{with .Plan}}{{range .Near 12}}{{.Index}}{{end}}{{with .Current}} at {{.Index}}{{end}}{{end}} " +
			"{{.Task}}"})
	if err != nil {
		t.Fatal(err)
	}
	if got := rendered(t, steps, sampleInput())["state.md"]; got != "12 at 2 A task.\n" {
		t.Errorf("%q", got)
	}
}
