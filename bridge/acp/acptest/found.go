package acptest

import (
	_ "embed"
	"encoding/json"
)

// Makes are those that tests play with: the fake one, and the real ones.
var Makes = []string{"fake", "opencode", "claude-acp", "codex", "gemini", "copilot"}

// The rows of the table in docs/makes.md: what a test of the driver tries with each make.
const (
	Version  = "tried with"
	Rules    = "deny rules about commands and edits"
	Reading  = "deny rules about reading"
	Reason   = "the model reads why it was denied"
	Context  = "context"
	Cost     = "cost"
	Failures = "a model that fails"
	Resume   = "resume"
)

// Rows are all of them, in order.
var Rows = []string{Version, Rules, Reading, Reason, Context, Cost, Failures, Resume}

// Findings that other tests go by.
const (
	Hold     = "hold"
	Pass     = "some calls pass"
	EndsTurn = "a denial ends the turn"
	Yes      = "yes"
	Known    = "known"
	Unknown  = "unknown"
)

//go:embed found.json
var found []byte

// Found is what the test has found, by make and row, when it was recorded.
func Found() map[string]map[string]string {
	all := map[string]map[string]string{}
	if err := json.Unmarshal(found, &all); err != nil {
		panic(err)
	}
	return all
}

// With are the makes about which this was found.
func With(row, finding string) (makes []string) {
	all := Found()
	for _, name := range Makes {
		if all[name][row] == finding {
			makes = append(makes, name)
		}
	}
	return makes
}
