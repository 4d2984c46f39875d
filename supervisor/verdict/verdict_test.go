package verdict

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

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
		testkit.Check(t, d.Empty(), "%s: not empty", name)
	}
	for name, d := range map[string]*Document{
		"context": {KeyContext: "x"}, "file": {Files: []string{"f"}}, "claim": {Claims: []Claim{{Claim: "c"}}},
		"question": {OpenQuestions: []string{"q"}}, "check": {Checks: []Check{{"", "exit 0"}}},
	} {
		testkit.Check(t, !d.Empty(), "%s: empty", name)
	}
}

func TestNormalizeLeavesNoNull(t *testing.T) {
	d := &Document{}
	d.Normalize()
	raw := testkit.Must(json.Marshal(d))(t)
	testkit.Excludes(t, fmt.Sprintf("null in %s", raw), string(raw), "null")
	var none *Document
	none.Normalize() // must not panic
}

func TestMeets(t *testing.T) {
	for _, c := range []struct {
		expect string
		o      Outcome
		want   string
	}{
		{"all tests pass", Outcome{}, CheckPassed},
		{"all tests pass", Outcome{Exit: 1}, CheckFailed},
		{"", Outcome{}, CheckPassed},
		{"exit 1", Outcome{Exit: 1}, CheckPassed},
		{"exits with code 2", Outcome{Exit: 2}, CheckPassed},
		{"exit code: 0 and `ok`", Outcome{Output: "all ok\n", Bytes: 7}, CheckPassed},
		{"exit status 3", Outcome{}, CheckFailed},
		{"`exit 1`", Outcome{Exit: 1}, CheckPassed},
		{"prints `42`", Outcome{Output: "41\n", Bytes: 3}, CheckFailed},
		{`prints "4 passed" and "0 failed"`, Outcome{Output: "4 passed, 1 failed", Bytes: 18}, CheckFailed},
		{"prints `42`", Outcome{Output: "tail", Bytes: 1 << 20}, CheckUnclear},
		{"no output", Outcome{}, CheckPassed},
		{"No output at all", Outcome{Output: "x", Bytes: 1}, CheckFailed},
		{"it ends by a signal", Outcome{Exit: -1}, CheckFailed},
	} {
		got, why := c.o.Meets(c.expect)
		testkit.Check(t, got == c.want && (got == CheckPassed) == (why == ""), "%q of %+v: %s (%s), want %s", c.expect,
			c.o, got, why, c.want)
	}
}

func TestProofs(t *testing.T) {
	d := &Document{
		Checks: []Check{{"go test ./...", "ok"}, {"make lint", ""}, {"curl localhost", ""}},
		Claims: []Claim{
			{Claim: "tests pass", Verified: true, Check: 1}, {Claim: "make lint is clean", Verified: true},
			{Claim: "it serves", Check: 3}, {Claim: "it is fast", Verified: true}, {Claim: "odd", Check: 9},
			{Claim: "odd", Check: -1},
		},
	}
	receipts := []Receipt{{Result: CheckPassed, SHA256: strings.Repeat("ab", 32), Bytes: 12},
		{Result: CheckFailed, Why: "exit code 2, expected 0", Exit: 2, SHA256: strings.Repeat("cd", 32)},
		{Result: CheckUnrun, Exit: -1, Why: "denied"}}
	want := []string{Verified, Refuted, Unverified, Unverified, Unverified, Unverified}
	testkit.Same(t, "proofs", want, d.Proofs(receipts))
	if diff := cmp.Diff([]string{Unverified, Unverified, Unverified, Unverified, Unverified, Unverified},
		d.Proofs(nil)); diff != "" {
		t.Error("without receipts the author's word verifies nothing:", diff)
	}
	text := d.Proven(receipts)
	for _, part := range []string{
		"go test ./... — expect: ok — PASSED: exit code 0, 12 bytes, sha256 abababababab",
		"make lint — FAILED: exit code 2, 0 bytes, sha256 cdcdcdcdcdcd; exit code 2, expected 0",
		"curl localhost — UNRUN; denied",
		"tests pass — VERIFIED (said to be verified)", "make lint is clean — REFUTED (said to be verified)",
		"it serves — UNVERIFIED (not verified)",
	} {
		testkit.Includes(t, "lacks", text, part)
	}
	p, f, o := d.Tally(receipts)
	testkit.Check(t, p == 1 && f == 1 && o == 1, "tally %d %d %d", p, f, o)
	p, f, o = d.Tally(receipts[:1])
	testkit.Check(t, p == 1 && f == 0 && o == 2, "with two that were not run: tally %d %d %d", p, f, o)
	var none *Document
	testkit.Check(t, none.Proofs(receipts) == nil && none.Proven(receipts) == "", "no document, no proofs")
}

// allowedKeywords is all that a schema for a model may use: the Messages API refuses combinators at the top
// level, and nested schemas follow the same rule here.
var allowedKeywords = []string{"type", "description", "properties", "required", "enum", "items", "additionalProperties"}

func TestSchemasAreFlat(t *testing.T) {
	for name, raw := range map[string]json.RawMessage{"arbiter": ArbiterSchema(),
		"orchestrator": OrchestratorSchema()} {
		var schema map[string]any
		err := json.Unmarshal(raw, &schema)
		testkit.Need(t, err == nil, "%s: %v", name, err)
		checkFlat(t, name, schema)
	}
}

func checkFlat(t *testing.T, path string, schema map[string]any) {
	t.Helper()
	for keyword := range schema {
		testkit.Check(t, slices.Contains(allowedKeywords, keyword), "%s: keyword %q", path, keyword)
	}
	kind, ok := schema["type"].(string)
	testkit.Check(t, ok, "%s: type is %v, want one name", path, schema["type"])
	if kind != "object" {
		if items, ok := schema["items"].(map[string]any); ok {
			checkFlat(t, path+"[]", items)
		} else if kind == "array" {
			t.Errorf("%s: an array without items", path)
		}
		return
	}
	if schema["additionalProperties"] != nil { // the CLI would refuse a verdict that the parser takes
		t.Errorf("%s: additionalProperties is %v, want none", path, schema["additionalProperties"])
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, p := range properties {
		sub := p.(map[string]any)
		testkit.Check(t, sub["description"] != nil, "%s.%s has no description", path, name)
		checkFlat(t, path+"."+name, sub)
	}
	for _, r := range schema["required"].([]any) {
		testkit.Check(t, properties[r.(string)] != nil, "%s: required %v is not a property", path, r)
	}
}

// TestSchemasMatchTypes compares the texts with the structs: same names, same shapes.
func TestSchemasMatchTypes(t *testing.T) {
	checkStruct(t, "arbiter", reflect.TypeFor[Arbiter](), resolve(t, ArbiterSchema()).Schema())
	checkStruct(t, "orchestrator", reflect.TypeFor[Orchestrator](), resolve(t, OrchestratorSchema()).Schema())
}

func checkStruct(t *testing.T, path string, typ reflect.Type, schema *jsonschema.Schema) {
	t.Helper()
	var fields []string
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case typ == reflect.TypeFor[Document]() && name == "checks":
			continue // the model gives both as proofs
		case typ == reflect.TypeFor[Document]() && name == "claims":
			fields = append(fields, "proofs")
			continue
		}
		fields = append(fields, name)
		sub := schema.Properties[name]
		if sub == nil {
			continue // reported below
		}
		kind := f.Type
		if kind.Kind() == reflect.Slice {
			if sub.Type != "array" {
				t.Errorf("%s.%s is %q, want array", path, name, sub.Type)
				continue
			}
			kind, sub = kind.Elem(), sub.Items
		}
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		want := map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "boolean", reflect.Struct: "object",
			reflect.Int: "integer"}[kind.Kind()]
		testkit.Same(t, fmt.Sprintf("%s.%s is", path, name), want, sub.Type)
		if kind.Kind() == reflect.Struct {
			checkStruct(t, path+"."+name, kind, sub)
		}
	}
	var properties []string
	for name := range schema.Properties {
		properties = append(properties, name)
	}
	slices.Sort(fields)
	slices.Sort(properties)
	testkit.Same(t, fmt.Sprintf("%s: properties (-struct +schema)", path), fields, properties)
}

func TestEnumsMatchConstants(t *testing.T) {
	for _, tt := range []struct {
		schema json.RawMessage
		field  string
		want   []string
	}{
		{ArbiterSchema(), "decision", decisions},
		{OrchestratorSchema(), "kind", kinds},
	} {
		field := resolve(t, tt.schema).Schema().Properties[tt.field]
		if field.Enum != nil { // the CLI would refuse other spellings, which the parser reads
			t.Errorf("%s: enum %v", tt.field, field.Enum)
		}
		for _, name := range tt.want {
			testkit.Includes(t, fmt.Sprintf("%s: its description does not say what %s", tt.field, name),
				field.Description, name+":")
		}
	}
}

// TestSchemaAcceptsWhatParseAccepts: the CLI validates against the schema first, so a schema stricter than the
// parser would refuse good verdicts.
func TestSchemaAcceptsWhatParseAccepts(t *testing.T) {
	d := &Document{
		Decisions: []Decision{{"c", "r", "w"}}, Checks: []Check{{"go test", "ok"}},
		Claims: []Claim{{Claim: "it works", Verified: true, Check: 1}}, KeyContext: "k",
	}
	d.Normalize()
	for schema, values := range map[*jsonschema.Resolved][]any{
		resolve(t, ArbiterSchema()): {
			Arbiter{Decision: Complete, Message: "m", Reason: "r", Summary: "s"},
			Arbiter{Decision: Handoff, Message: "m", Reason: "r", Handoff: d},
		},
		resolve(t, OrchestratorSchema()): {
			Orchestrator{ExpectsResponse: true, Message: "m", Kind: KindDone, Handoff: d},
			Orchestrator{Message: "m", Kind: KindProgress},
		},
	} {
		for _, v := range values {
			raw := testkit.Must(json.Marshal(v))(t)
			var instance any
			testkit.OK(t, json.Unmarshal(raw, &instance))
			testkit.Works(t, raw, schema.Validate(instance))
		}
	}
}

func resolve(t *testing.T, raw json.RawMessage) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	testkit.OK(t, json.Unmarshal(raw, &s))
	return testkit.Must(s.Resolve(nil))(t)
}

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
		{name: "field given twice in a string",
			raw:   `{"verdict":"{\"decision\":\"CONTINUE\",\"decision\":\"COMPLETE\",\"message\":\"m\"}"}`,
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
		testkit.Check(t, err == nil, "error %v, want none", err)
		return
	}
	var p *Problem
	testkit.Need(t, errors.As(err, &p), "error %v, want a *Problem", err)
	if field == "-" {
		field = ""
	}
	testkit.Check(t, p.Field == field && strings.Contains(p.Text, text),
		"problem %q %q, want field %q and a text with %q", p.Field, p.Text, field, text)
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
		p, ok := errors.AsType[*Problem](err)
		testkit.Need(t, ok && p.Text != "", "error %#v, want a *Problem with a text", err)
		return
	}
	raw := testkit.Must(json.Marshal(v))(t)
	again, err := parse(raw)
	testkit.Need(t, err == nil, "%s was accepted and is refused now: %v", raw, err)
	diff := cmp.Diff(v, again)
	testkit.Need(t, diff == "", "round trip (-want +got):\n%s", diff)
}
