package verdict

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestMarkdown(t *testing.T) {
	d := Document{
		Accomplished:  []string{"parser", " ", "tests\nall green"},
		KeyContext:    "the lexer is shared",
		Decisions:     []Decision{{"table", "switch", "speed"}, {"", "goto", ""}},
		Constraints:   []string{"under 20 ms"},
		Files:         []string{"a.go"},
		Checks:        []Check{{"go test ./...", "ok"}, {"", ""}},
		OpenQuestions: []string{"who deploys?"},
		Claims:        []Claim{{Claim: "it is fast", Verified: true}, {Claim: "it is right"}, {Verified: true}},
	}
	want := `## Accomplished
- parser
- tests
  all green

## Key context
the lexer is shared

## Decisions
- table — rejected: switch — why: speed
- rejected: goto

## Constraints
- under 20 ms

## Files
- a.go

## Checks
- go test ./... — expect: ok

## Open questions
- who deploys?

## Claims (the author's word)
- it is fast (said to be verified)
- it is right (not verified)
`
	testkit.Same(t, "markdown", want, d.Markdown())
}

func TestEmpty(t *testing.T) {
	blank := &Document{Accomplished: []string{" "}, Decisions: []Decision{{}}, Checks: []Check{{"", " "}},
		Claims: []Claim{{Claim: "\n", Verified: true}}}
	for name, d := range map[string]*Document{"nil": nil, "zero": {}, "blank": blank} {
		if !d.Empty() {
			t.Errorf("%s: not empty", name)
		}
	}
	for name, d := range map[string]*Document{
		"context": {KeyContext: "x"}, "file": {Files: []string{"f"}}, "claim": {Claims: []Claim{{Claim: "c"}}},
		"question": {OpenQuestions: []string{"q"}}, "check": {Checks: []Check{{"", "exit 0"}}},
	} {
		if d.Empty() {
			t.Errorf("%s: empty", name)
		}
	}
}

func TestNormalizeLeavesNoNull(t *testing.T) {
	d := &Document{}
	d.Normalize()
	raw := testkit.Must(json.Marshal(d))(t)
	if strings.Contains(string(raw), "null") {
		t.Errorf("null in %s", raw)
	}
	var none *Document
	none.Normalize() // must not panic
}
