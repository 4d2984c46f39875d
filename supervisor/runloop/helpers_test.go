package runloop

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

const testRun = "6f1c2a52-7a51-4b6e-9d0b-0f5f6a2b9c11"

// ruling is a verdict of the Arbiter.
func ruling(decision, message string, more ...string) map[string]any {
	v := map[string]any{"decision": decision, "message": message, "reason": "because"}
	for i := 0; i+1 < len(more); i += 2 {
		v[more[i]] = more[i+1]
	}
	return v
}

// report is a verdict of an Orchestrator.
func report(kind, message string, expects bool) map[string]any {
	v := map[string]any{"kind": kind, "message": message, "expects_response": expects}
	if kind == verdict.KindDone || kind == verdict.KindHandoff {
		v["handoff"] = verdict.Document{
			Accomplished: []string{"the first half"}, Remaining: []string{"the second half"}, KeyContext: "port 8080",
			Decisions: []verdict.Decision{}, Constraints: []string{}, Files: []string{"a.go"},
			Checks: []verdict.Check{}, OpenQuestions: []string{}, Claims: []verdict.Claim{},
		}
	}
	return v
}

func proven(kind string, checks ...string) map[string]any {
	v := report(kind, "see the document", true)
	d := v["handoff"].(verdict.Document)
	for _, c := range checks {
		d.Checks = append(d.Checks, verdict.Check{Command: c, Expect: "`ok`"})
		d.Claims = append(d.Claims, verdict.Claim{Claim: "proved by " + c, Verified: true, Check: len(d.Checks)})
	}
	d.Claims = append(d.Claims, verdict.Claim{Claim: "it is beautiful", Verified: true})
	v["handoff"] = d
	return v
}

func keyOf(p bridge.PermissionParams) string { return input.PermissionKey(p.Tool, p.Input) }

// happenings are all events that an agent can cause, each with a text wherever possible.
func happenings(text string) []input.Body {
	var list []input.Body
	for _, b := range bridge.EventBodies() {
		body := corpus.Filled(reflect.TypeOf(b), text).Interface().(bridge.EventBody)
		list = append(list,
			input.AgentEvent{Event: bridge.Event{AgentRef: bridge.AgentRef{ID: text, Generation: 1}, Body: body}})
	}
	return list
}

func fingerprint(t *testing.T, s *supervisor.State) string {
	t.Helper()
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
