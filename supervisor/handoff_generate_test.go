package supervisor

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// TestGenerateLeavesTheDocumentAlone: an author's own earlier document goes into the record, and is not
// changed.
func TestGenerateLeavesTheDocumentAlone(t *testing.T) {
	own := &verdict.Document{Accomplished: append(make([]string, 0, 8), "one"),
		Files: append(make([]string, 0, 8), "a.go")}
	plan := []contract.Step{{Text: "two", Status: contract.StepDone, Agent: "orch-1"}}
	a := Agent{AgentIdentity: AgentIdentity{AgentRef: bridge.AgentRef{ID: "orch-1", Generation: 1}},
		AgentHandoff: AgentHandoff{Document: own}}
	d := GenerateHandoff(HandoffSource{Agent: a, Why: "it was killed", Seen: bridge.InspectResult{Files: []string{"b.go"}},
		Plan: plan, Name: strings.ToUpper})
	if len(d.Accomplished) != 2 || len(d.Files) != 2 {
		t.Fatalf("record %+v", d)
	}
	if got := own.Accomplished[:2][1] + own.Files[:2][1]; got != "" {
		t.Errorf("%q was written behind the author's lists", got)
	}
}
