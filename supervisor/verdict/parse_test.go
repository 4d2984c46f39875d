package verdict

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

const doc = `{"accomplished":["a"],"remaining":[],"key_context":"k"}`

func TestParseArbiter(t *testing.T) {
	full := &Document{Accomplished: []string{"a"}, KeyContext: "k"}
	full.Normalize()
	tests := []struct {
		name, raw string
		want      Arbiter
		field     string // of the problem; "-" for one about the whole
		text      string // part of the problem's text
	}{
		{name: "address human", raw: `{"decision":"ADDRESS_HUMAN","message":"m","reason":"r"}`,
			want: Arbiter{Decision: AddressHuman, Message: "m", Reason: "r"}},
		{name: "address orchestrator",
			raw:  `{"decision":"ADDRESS_ORCHESTRATOR","message":"m","reason":"r","to":" orch-1 "}`,
			want: Arbiter{Decision: AddressOrchestrator, Message: "m", Reason: "r", To: "orch-1"}},
		{name: "continue waits", raw: `{"decision":"CONTINUE","message":"m","reason":"r"}`,
			want: Arbiter{Decision: Continue, Message: "m", Reason: "r"}},
		{name: "complete takes the message for a summary",
			raw:  `{"decision":"COMPLETE","message":" m ","reason":"r","summary":" "}`,
			want: Arbiter{Decision: Complete, Message: " m ", Reason: "r", Summary: "m"}},
		{name: "handoff", raw: `{"decision":"HANDOFF","message":"m","reason":"r","handoff":` + doc + `}`,
			want: Arbiter{Decision: Handoff, Message: "m", Reason: "r", Handoff: full}},
		{name: "a document that was not asked for",
			raw:  `{"decision":"CONTINUE","message":"m","reason":"r","handoff":` + doc + `}`,
			want: Arbiter{Decision: Continue, Message: "m", Reason: "r", Handoff: full}},

		{name: "absent", raw: ``, field: "-", text: "no verdict"},
		{name: "null", raw: ` null `, field: "-", text: "no verdict"},
		{name: "text", raw: `"COMPLETE"`, field: "-", text: "one JSON object"},
		{name: "broken", raw: `{"decision":`, field: "-", text: "not valid JSON"},
		{name: "two", raw: `{"decision":"CONTINUE","message":"m","reason":"r"} {}`, field: "-", text: "nothing after"},
		{name: "garbage behind", raw: `{"decision":"CONTINUE","message":"m","reason":"r"}x`, field: "-",
			text: "nothing after"},
		{name: "no decision", raw: `{"message":"m","reason":"r"}`, field: "decision", text: "`decision` is missing"},
		{name: "unknown decision", raw: `{"decision":"SHRUG","message":"m","reason":"r"}`, field: "decision",
			text: `"SHRUG": give one of ADDRESS_HUMAN`},
		{name: "lower case decision", raw: `{"decision":" address human","message":"m"}`,
			want: Arbiter{Decision: AddressHuman, Message: "m"}},
		{name: "no reason", raw: `{"decision":"CONTINUE","message":"m","reason":""}`,
			want: Arbiter{Decision: Continue, Message: "m"}},
		{name: "unknown field", raw: `{"decision":"CONTINUE","message":"m","reason":"r","confidence":1}`,
			want: Arbiter{Decision: Continue, Message: "m", Reason: "r"}},
		{name: "a folded field decides nothing",
			raw:  `{"decision":"CONTINUE","message":"m","reason":"r","Decision":"COMPLETE","\u017fummary":"x"}`,
			want: Arbiter{Decision: Continue, Message: "m", Reason: "r"}},
		{name: "in one string", raw: `{"verdict":"{\"decision\":\"CONTINUE\",\"message\":\"m\"}"}`,
			want: Arbiter{Decision: Continue, Message: "m"}},
		{name: "no message", raw: `{"decision":"CONTINUE","reason":"r"}`, field: "message", text: "missing or empty"},
		{name: "blank message", raw: `{"decision":"CONTINUE","message":" \n\t","reason":"r"}`, field: "message",
			text: "missing or empty"},
		{name: "address nobody", raw: `{"decision":"ADDRESS_ORCHESTRATOR","message":"m","reason":"r"}`, field: "to",
			text: "`to` is missing"},
		{name: "retry nobody", raw: `{"decision":"RETRY","message":"m","reason":"r","to":" "}`, field: "to",
			text: "RETRY"},
		{name: "no mode", raw: `{"decision":"SELECT_MODE","message":"m","reason":"r"}`, field: "mode",
			text: "`mode` is missing"},
		{name: "no document", raw: `{"decision":"HANDOFF","message":"m","reason":"r","handoff":null}`, field: "handoff",
			text: "`handoff` is missing"},
		{name: "empty document",
			raw: `{"decision":"HANDOFF","message":"m","reason":"r","handoff":{"accomplished":[" "]}}`, field: "handoff",
			text: "`handoff` is empty"},
		{name: "all at once", raw: `{"decision":"SELECT_MODE"}`, field: "message", text: "`mode` is missing"},
		{name: "wrong type", raw: `{"decision":"CONTINUE","message":["m"],"reason":"r"}`, field: "message",
			text: "`message` is a JSON array: give a string"},
		{name: "wrong type inside", raw: `{"decision":"HANDOFF","message":"m","reason":"r","handoff":{"files":"x"}}`,
			field: "handoff.files", text: "give an array"},
		{name: "field given twice", raw: `{"decision":"CONTINUE","decision":"COMPLETE","message":"m","reason":"r"}`,
			field: "decision", text: "given twice"},
		{name: "field given twice inside",
			raw:   `{"decision":"HANDOFF","message":"m","reason":"r","handoff":{"files":[],"files":["x"]}}`,
			field: "files", text: "given twice"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseArbiter(json.RawMessage(tt.raw))
			testkit.Same(t, "verdict", tt.want, got)
			checkProblem(t, err, tt.field, tt.text)
		})
	}
}

func TestParseOrchestrator(t *testing.T) {
	full := &Document{Accomplished: []string{"a"}, KeyContext: "k"}
	full.Normalize()
	proved := &Document{KeyContext: "k", Checks: []Check{{"make", "ok"}},
		Claims: []Claim{{Claim: "it is nice"}, {Claim: "it runs", Verified: true, Check: 1}}}
	proved.Normalize()
	tests := []struct {
		name, raw   string
		want        Orchestrator
		field, text string
	}{
		{name: "introduction", raw: `{"expects_response":false,"message":"m","kind":"introduction"}`,
			want: Orchestrator{Message: "m", Kind: KindIntroduction}},
		{name: "introduction that waits", raw: `{"expects_response":true,"message":"m","kind":"introduction"}`,
			want: Orchestrator{ExpectsResponse: true, Message: "m", Kind: KindIntroduction}},
		{name: "progress that waits", raw: `{"expects_response":true,"message":"m","kind":"progress"}`,
			want: Orchestrator{ExpectsResponse: true, Message: "m", Kind: KindProgress}},
		{name: "done", raw: `{"expects_response":true,"message":"m","kind":"done","handoff":` + doc + `}`,
			want: Orchestrator{ExpectsResponse: true, Message: "m", Kind: KindDone, Handoff: full}},

		{name: "expects_response follows from the kind", raw: `{"message":"m","kind":" Question "}`,
			want: Orchestrator{ExpectsResponse: true, Message: "m", Kind: KindQuestion}},
		{name: "progress does not wait", raw: `{"message":"m","kind":"progress"}`,
			want: Orchestrator{Message: "m", Kind: KindProgress}},
		{name: "a contradiction loses no document", raw: `{"expects_response":false,"message":"m","kind":"done","handoff":` +
			doc + `}`, want: Orchestrator{ExpectsResponse: true, Message: "m", Kind: KindDone, Handoff: full}},
		{name: "proofs", raw: `{"message":"m","kind":"done","handoff":{"key_context":"k","proofs":[
			{"claim":"it is nice"},{"claim":"it runs","command":"make","expect":"ok"}]}}`,
			want: Orchestrator{ExpectsResponse: true, Message: "m", Kind: KindDone, Handoff: proved}},
		{name: "expects_response as text", raw: `{"expects_response":"true","message":"m","kind":"progress"}`,
			field: "expects_response", text: "give true or false"},
		{name: "handoff without document", raw: `{"expects_response":true,"message":"m","kind":"handoff"}`,
			field: "handoff", text: "kind handoff needs"},
		{name: "done without document", raw: `{"expects_response":true,"message":"m","kind":"done"}`, field: "handoff",
			text: "kind done needs"},
		{name: "no kind", raw: `{"expects_response":true,"message":"m"}`, field: "kind",
			text: "introduction, question"},
		{name: "no message", raw: `{"expects_response":true,"kind":"question","message":""}`, field: "message",
			text: "missing or empty"},
		{name: "a reply of the Arbiter", raw: `{"decision":"CONTINUE","message":"m","reason":"r"}`, field: "kind",
			text: "`kind` is missing"},
		{name: "absent", raw: ``, field: "-", text: "no verdict"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseOrchestrator(json.RawMessage(tt.raw))
			testkit.Same(t, "verdict", tt.want, got)
			checkProblem(t, err, tt.field, tt.text)
		})
	}
}

// checkProblem expects no error for field "", otherwise a *Problem about the field.
func checkProblem(t *testing.T, err error, field, text string) {
	t.Helper()
	if field == "" {
		if err != nil {
			t.Errorf("error %v, want none", err)
		}
		return
	}
	var p *Problem
	if !errors.As(err, &p) {
		t.Fatalf("error %v, want a *Problem", err)
	}
	if field == "-" {
		field = ""
	}
	if p.Field != field || !strings.Contains(p.Text, text) {
		t.Errorf("problem %q %q, want field %q and a text with %q", p.Field, p.Text, field, text)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"decision":"COMPLETE","message":"m","reason":"r","summary":"s"}`))
	f.Add([]byte(`{"expects_response":true,"message":"m","kind":"done","handoff":` + doc + `}`))
	f.Add([]byte(`{"decision":[{"a":[]},{}],"a":{"b":[1,2,{"c":null}]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, err := ParseArbiter(raw)
		roundTrip(t, a, err, ParseArbiter)
		o, err := ParseOrchestrator(raw)
		roundTrip(t, o, err, ParseOrchestrator)
	})
}

func roundTrip[T any](t *testing.T, v T, err error, parse func(json.RawMessage) (T, error)) {
	t.Helper()
	if err != nil {
		var p *Problem
		if !errors.As(err, &p) || p.Text == "" {
			t.Fatalf("error %#v, want a *Problem with a text", err)
		}
		return
	}
	raw := testkit.Must(json.Marshal(v))(t)
	again, err := parse(raw)
	if err != nil {
		t.Fatalf("%s was accepted and is refused now: %v", raw, err)
	}
	if diff := cmp.Diff(v, again); diff != "" {
		t.Fatalf("round trip (-want +got):\n%s", diff)
	}
}
